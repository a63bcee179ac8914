"""Waits for a condition, as every test and laboratory does where nothing announces it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
LIMIT_S = 120.0


def wait_until(condition: Callable[[], T], what: str = "the condition", limit_s: float = LIMIT_S) -> T:
    """Polls ``condition`` until it returns something true, which is returned; fails with ``what`` after ``limit_s``."""
    end_s = time.monotonic() + limit_s
    while not (found := condition()):
        assert time.monotonic() < end_s, f"not within {limit_s:g} s: {what}"
        time.sleep(0.01)
    return found
