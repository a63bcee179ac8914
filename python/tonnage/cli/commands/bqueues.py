"""``tonnage bqueues``: LSF's list of queues."""

from __future__ import annotations

import sys
from argparse import Namespace


def run(arguments: Namespace) -> int:
    """Exit code."""
    from tonnage.compat.lsf.bqueues import run as run_bqueues
    from tonnage.compat.voice import Voice

    return run_bqueues(arguments.words, Voice(sys.stdout, sys.stderr))
