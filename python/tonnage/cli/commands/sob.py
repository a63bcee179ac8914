"""``tonnage sob``: sob's command lines."""

from __future__ import annotations

import sys
from argparse import Namespace


def run(arguments: Namespace) -> int:
    """Exit code."""
    from tonnage.cli.live import observer
    from tonnage.compat.sob.front import run as run_sob
    from tonnage.compat.voice import Voice

    return run_sob(arguments.words, observer(), Voice(sys.stdout, sys.stderr))
