"""``tonnage spectral_wait``: the wait of Spectral's scripts."""

from __future__ import annotations

import sys
from argparse import Namespace


def run(arguments: Namespace) -> int:
    """Exit code."""
    from tonnage.compat.spectral_wait.front import run as wait
    from tonnage.compat.voice import Voice

    return wait(arguments.words, Voice(sys.stdout, sys.stderr))
