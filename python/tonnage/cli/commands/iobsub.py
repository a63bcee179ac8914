"""``tonnage iobsub``: iobsub's command lines."""

from __future__ import annotations

import sys
from argparse import Namespace


def run(arguments: Namespace) -> int:
    """Exit code."""
    from tonnage.compat.iobsub.front import run as run_iobsub
    from tonnage.compat.voice import Voice

    return run_iobsub(arguments.words, Voice(sys.stdout, sys.stderr))
