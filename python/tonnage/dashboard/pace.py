"""How often something may be done so that a measurement on the same host does not feel it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

SHARE = 500
"""What took a second of a processor may be done again after so many."""


class Pace:
    """One kind of work."""

    def __init__(self, least_s: float) -> None:
        self._least_s = least_s
        self._due_s = 0.0

    def is_due(self) -> bool:
        """Whether it may be done now."""
        return time.monotonic() >= self._due_s

    def during(self, call: Callable[[], T]) -> T:
        """Does it, in this thread. The processor time that it took, not how long it waited for one, says when it is due
        again."""
        began_s, used_s = time.monotonic(), time.thread_time()
        try:
            return call()
        finally:
            cost_s = time.thread_time() - used_s
            self._due_s = max(began_s + self._least_s, time.monotonic() + (SHARE - 1) * cost_s)
