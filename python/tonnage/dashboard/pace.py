"""How often something may be done so that a measurement on the same host does not feel it."""

from __future__ import annotations

import time

SHARE = 100
"""What took a second may be done again after so many."""


class Pace:
    """One kind of work."""

    def __init__(self, least_s: float) -> None:
        self._least_s = least_s
        self._due_s = 0.0
        self._began_s = 0.0

    def is_due(self) -> bool:
        """Whether it may be done now."""
        return time.monotonic() >= self._due_s

    def begin(self) -> None:
        """It is done now."""
        self._began_s = time.monotonic()

    def done(self) -> None:
        """It has ended: what it took says when it may begin again."""
        now_s = time.monotonic()
        self._due_s = max(self._began_s + self._least_s, now_s + (SHARE - 1) * (now_s - self._began_s))
