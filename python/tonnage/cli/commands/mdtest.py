"""``tonnage mdtest``: mdtest's command lines."""

from __future__ import annotations

import sys
from argparse import Namespace


def run(arguments: Namespace) -> int:
    """Exit code."""
    from tonnage.cli.live import observer
    from tonnage.compat.mdtest.front import run as run_mdtest
    from tonnage.compat.voice import Voice

    return run_mdtest(arguments.words, observer(), Voice(sys.stdout, sys.stderr))
