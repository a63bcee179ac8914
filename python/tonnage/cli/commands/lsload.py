"""``tonnage lsload``: LSF's load table, of file servers."""

from __future__ import annotations

import sys
from argparse import Namespace


def run(arguments: Namespace) -> int:
    """Exit code."""
    from tonnage.compat.lsload.front import run as run_lsload
    from tonnage.compat.voice import Voice

    return run_lsload(arguments.words, Voice(sys.stdout, sys.stderr))
