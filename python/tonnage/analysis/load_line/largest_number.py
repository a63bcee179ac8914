"""The largest number, of accelerators or of users, whose trials keep an objective: which to try next, and the answer.

What a trial tells is a value that does not fall where the number grows, so that the estimator is that of a latency
(``latency_line.crossing``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from tonnage.analysis.load_line.latency_line import crossing
from tonnage.analysis.load_line.search import LoadBisection

_AT_THE_OBJECTIVE = 3
"""Trials of the largest number after which a larger one is tried, where they do not show that it is too large."""
Values = Mapping[int, Sequence[float]]
"""Number → value of each of its trials."""


@dataclass(frozen=True, slots=True)
class LargestNumber:
    """The answer of a search."""

    number: int
    """The largest measured that is estimated to keep the objective, and whose median trial does; 0 where one does
    not."""
    low: int
    """The largest shown to keep it; 0 where none was."""
    high: int | None
    """No larger one keeps it; None where none was shown not to."""
    shown: bool
    """Both ends of the interval were shown."""
    trials: int
    exceeds: int | None
    """The smallest measured that is estimated not to keep it."""


class NumberSearch:
    """The decisions on a number. The same trials and seed give the same decisions."""

    def __init__(self, most: int, objective: float, seed: str, limit_trials: int = 0) -> None:
        """``limit_trials``: once the number is known, so many of a number that does not keep the objective, and of
        about twice as many, for what limits shows only in repeated trials."""
        self.most = most
        self._objective = objective
        self._limit_trials = limit_trials
        self._bisection = LoadBisection(most, seed)

    def next(self, measured: Values) -> int | None:
        """The number of the next trial; None where the answer is known."""
        if not measured:
            return 1
        found = crossing(measured, self._objective)
        largest = max(measured)
        is_open = found.exceeds is None or (
            # Trials of a number at the objective itself may never show that it does not keep it.
            found.exceeds == largest and found.shown_above is None and len(measured[largest]) >= _AT_THE_OBJECTIVE
        )
        if is_open and largest < self.most:
            return min(2 * largest, self.most)
        # Where one alone does not keep it, two of them tell what limits.
        if found.meets is None and largest < min(2, self.most):
            return 2
        further = self._bisection.next(measured, self._objective)
        return self._for_limit(measured, found.exceeds) if further is None else further

    def _for_limit(self, measured: Values, exceeds: int | None) -> int | None:
        if exceeds is None:
            return None
        larger = (number for number in measured if number > exceeds)
        beyond = min(larger, key=lambda number: (abs(number - 2 * exceeds), number), default=exceeds)
        wanted = [number for number in {exceeds, beyond} if len(measured[number]) < self._limit_trials]
        return min(wanted, key=lambda number: (len(measured[number]), number), default=None)


def largest_within(values: Values, objective: float, most: int) -> LargestNumber:
    """Returns the answer for an objective. ``values``: at least one number, each with at least one trial; ``most``: the
    largest that might be tried."""
    found = crossing(values, objective)
    first, last = min(values), max(values)
    least_above = None if found.shown_above is None else found.shown_above - 1
    none = found.shown_above == first == 1
    # The estimate is of all trials and their logarithms; what stands in the table is the median of a number's own.
    meets = [one for one in values if one <= (found.meets or 0) and median(values[one]) <= objective]
    low, high = found.shown_within or 0, 0 if none else least_above
    return LargestNumber(
        number=max(low, min(max(meets, default=0), last if high is None else high)),
        low=low,
        high=high,
        shown=none or bool(low and (high is not None or low == last == most)),
        trials=sum(map(len, values.values())),
        exceeds=found.exceeds,
    )
