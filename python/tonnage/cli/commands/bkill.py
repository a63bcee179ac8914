"""``tonnage bkill``: LSF's end of jobs."""

from __future__ import annotations

import sys
from argparse import Namespace


def run(arguments: Namespace) -> int:
    """Exit code."""
    from tonnage.compat.lsf.bkill import run as run_bkill
    from tonnage.compat.voice import Voice

    return run_bkill(arguments.words, Voice(sys.stdout, sys.stderr))
