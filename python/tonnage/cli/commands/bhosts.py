"""``tonnage bhosts``: LSF's list of batch hosts."""

from __future__ import annotations

import sys
from argparse import Namespace


def run(arguments: Namespace) -> int:
    """Exit code."""
    from tonnage.compat.lsf.bhosts import run as run_bhosts
    from tonnage.compat.voice import Voice

    return run_bhosts(arguments.words, Voice(sys.stdout, sys.stderr))
