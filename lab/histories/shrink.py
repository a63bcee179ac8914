"""Makes a failing history short: steps are left out as long as it still fails in the same way."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import fields, replace

from histories.history_script import History, Policy, Step

Fails = Callable[[History], bool]


def shrink(history: History, fails: Fails, budget_s: float) -> History:
    """``fails`` may have to try more than once: much depends on the moment. Ends when the time is over."""
    until = time.monotonic() + budget_s

    def still(candidate: History) -> bool:
        return time.monotonic() < until and fails(candidate)

    pieces = 2
    while len(history.steps) > 1:
        steps = list(history.steps)
        size = max(1, len(steps) // pieces)
        shorter = _without_one(history, steps, size, still)
        if shorter:
            history, pieces = shorter, max(pieces - 1, 2)
        elif size == 1 or time.monotonic() > until:
            break
        else:
            pieces = min(pieces * 2, len(steps))
    return _plain(history, still)


def _without_one(history: History, steps: list[Step], size: int, still: Fails) -> History | None:
    # From the end: what comes last depends on more than is needed for it.
    for first in reversed(range(0, len(steps), size)):
        candidate = history.keep(steps[:first] + steps[first + size :])
        if still(candidate):
            return candidate
    return None


def _plain(history: History, still: Fails) -> History:
    """With as many defaults as possible."""
    for about in fields(Policy):
        candidate = replace(history, policy=replace(history.policy, **{about.name: about.default}))
        if candidate != history and still(candidate):
            history = candidate
    return history
