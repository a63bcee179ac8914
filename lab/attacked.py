"""How much was tried by the tests that attack the mover, for the line that is printed when they have ended."""

from __future__ import annotations

import threading
from collections import Counter

_LOCK = threading.Lock()
_COUNTS: Counter[str] = Counter()
_ORDER = ("histories", "kills", "call sites", "call sites × faults", "crash points", "losses")


def count(what: str, number: int = 1) -> None:
    """Adds to one of the figures; of losses also 0, so that they are told."""
    with _LOCK:
        _COUNTS[what] += number


def table() -> str:
    """``histories 200, kills 310, …``; empty where nothing was counted."""
    known = [what for what in _ORDER if what in _COUNTS]
    return ", ".join(f"{what} {_COUNTS[what]:,}" for what in [*known, *sorted(_COUNTS.keys() - set(_ORDER))])
