"""``tonnage ior``: IOR's command lines."""

from __future__ import annotations

import sys
from argparse import Namespace


def run(arguments: Namespace) -> int:
    """Exit code."""
    from tonnage.compat.ior.command import run as run_ior
    from tonnage.compat.voice import Voice

    return run_ior(arguments.words, Voice(sys.stdout, sys.stderr))
