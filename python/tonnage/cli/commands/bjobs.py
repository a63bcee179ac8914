"""``tonnage bjobs``: LSF's list of jobs."""

from __future__ import annotations

import sys
from argparse import Namespace


def run(arguments: Namespace) -> int:
    """Exit code."""
    from tonnage.compat.lsf.bjobs import run as run_bjobs
    from tonnage.compat.voice import Voice

    return run_bjobs(arguments.words, Voice(sys.stdout, sys.stderr))
