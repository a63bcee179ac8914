"""``tonnage spectral_wait``: the wait of Spectral's scripts."""

from __future__ import annotations

import sys
from argparse import Namespace


def run(arguments: Namespace) -> int:
    """Exit code."""
    from tonnage.compat.shared import Voice
    from tonnage.compat.spectral_wait.front import run as wait

    return wait(arguments.words, Voice(sys.stdout, sys.stderr))
