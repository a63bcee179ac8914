"""The same axes in all panels of a section: a reader who changes the choice can compare the pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from tonnage.analysis.results import Point

_LEAST = 0.1
"""A panel that would fill less than this of a common axis keeps its own: nothing could be read off it."""
_WIDEST = 1.3
"""The interval of two repetitions can be many times as high as both: the axis ends this far above the fastest."""
OWN = "The throughput axis is this panel's own: on a common one some would be a line at the bottom."


@dataclass(frozen=True)
class Panels:
    """Curves that are drawn in one section, one at a time; each has a point."""

    curves: tuple[Sequence[Point], ...]

    @cached_property
    def _heights(self) -> list[float]:
        return [height(curve) for curve in self.curves]

    @property
    def is_shared(self) -> bool:
        """Whether one axis of throughput serves all."""
        return have_one_axis(self._heights)

    def beside(self, curve: Sequence[Point]) -> list[Point]:
        """Returns the points that share the axis of throughput with those of ``curve``, these among them."""
        return [point for one in self.curves for point in one] if self.is_shared else list(curve)

    def height(self, curve: Sequence[Point]) -> float:
        """What the axis of ``curve`` must reach, in the metric."""
        return max(self._heights) if self.is_shared else height(curve)

    @property
    def tasks(self) -> list[int]:
        """All that were tried."""
        return sorted({point.tasks for curve in self.curves for point in curve})

    @property
    def latencies_ns(self) -> list[int]:
        """Every p50 and p99, where they were recorded."""
        points = [point for curve in self.curves for point in curve]
        return [point.latency[key] for key in ("p50_ns", "p99_ns") for point in points if key in point.latency]


def height(curve: Sequence[Point]) -> float:
    """What the axis of a curve alone must reach: its intervals, but where they are far above every repetition."""
    return reached(max(point.high for point in curve), max(max(point.values) for point in curve))


def reached(high: float, fastest: float) -> float:
    """What an axis must reach: the highest interval, but where it is far above all that was measured."""
    return min(high, _WIDEST * fastest) or 1.0


def have_one_axis(heights: Sequence[float]) -> bool:
    """Whether one axis serves pictures that reach so high."""
    return min(heights, default=0.0) >= _LEAST * max(heights, default=0.0)
