"""Selects how much the tests that attack the mover try, and which part today, and counts what was tried for a line at
their end.

By default `make test` takes another share each day, so that in time all are tried.
"""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Mapping

_LOCK = threading.Lock()
_COUNTS: Counter[str] = Counter()
_ORDER = ("histories", "kills", "call sites", "call sites × faults", "crash points", "losses")
_DAY_S = 86_400

DAY = "TONNAGE_ATTACK_DAY"
"""The variable that repeats a day's share. Processes that this one starts take the same, also past midnight."""
os.environ.setdefault(DAY, str(int(time.time()) // _DAY_S))


def day() -> int:
    """The number of the day whose share is tried."""
    return int(os.environ[DAY])


def seeds(variable: str, usual: int, of: int) -> range:
    """The first so many where the variable says how many; else the ``usual`` number of the day's, below ``of``."""
    if asked := os.environ.get(variable):
        return range(int(asked))
    first = day() * usual % (of - of % usual)
    return range(first, first + usual)


def count(what: str, number: int = 1) -> None:
    """Adds to one of the figures; of losses also 0, so that they are told."""
    with _LOCK:
        _COUNTS[what] += number


def counts() -> dict[str, int]:
    """Returns all figures so far, for ``add`` in another process."""
    with _LOCK:
        return dict(_COUNTS)


def add(figures: Mapping[str, int]) -> None:
    """Adds those of another process."""
    with _LOCK:
        _COUNTS.update(figures)


def table() -> str:
    """``histories 200, kills 310, …``; empty where nothing was counted."""
    known = [what for what in _ORDER if what in _COUNTS]
    told = [f"{what} {_COUNTS[what]:,}" for what in [*known, *sorted(_COUNTS.keys() - set(_ORDER))]]
    return ", ".join(told) and f"{', '.join(told)} ({DAY}={day()} repeats the day's share)"
