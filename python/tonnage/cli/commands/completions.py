"""``tonnage completions``: a script for the user's shell."""

from __future__ import annotations

from argparse import Namespace

from tonnage.cli.completions import SHELLS


def run(arguments: Namespace) -> int:
    """Exit code."""
    print(SHELLS[arguments.shell](), end="")
    return 0
