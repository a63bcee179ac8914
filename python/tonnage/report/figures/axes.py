"""Axes with their units and ticks, and panels that share one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil, floor, log10

from tonnage import units
from tonnage.analysis.results import Point
from tonnage.report.figures.plotly import Axis
from tonnage.units import BANDWIDTH

_RATIOS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 1, 1.1, 1.25, 1.5, 2, 3, 5, 10, 20, 50, 100)
_RATIO_GAP = 0.08
"""Of the axis of ratios, between two that are named."""
_NODE_STEPS = ((1, 2, 5), (1, 3), (1,))
_MOST_NODES = 9
"""Ticks for which there is room on a small screen."""
_TICK_STEPS = ((1,), (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 6, 8))


def latency_axis(lowest_ns: float, highest_ns: float, title: str = "Latency") -> Axis:
    """Makes a logarithmic axis in nanoseconds whose ticks show ns, µs, ms or s."""
    low, high = log10(max(1.0, lowest_ns)), log10(max(2.0, highest_ns))
    pad = max(0.08, 0.06 * (high - low))
    return _log_axis(title, max(0.0, low - pad), high + pad, units.duration)


def rate_axis(lowest: float, highest: float, metric: str = BANDWIDTH) -> Axis:
    """Makes a logarithmic axis in the metric, between two positive rates, whose ticks show kB/s, MB/s or GB/s, or
    k/s."""
    title = "Throughput" if metric == BANDWIDTH else "Operations"
    return _log_axis(title, log10(lowest), log10(highest), lambda rate: units.speed(rate, metric))


def nodes_axis(most: float) -> Axis:
    """Number of nodes on a logarithmic axis, from one to ``most``: as many are named as there is room for."""
    high = log10(max(2.0, most))
    for steps in _NODE_STEPS:
        ticks = [step * 10.0**decade for decade in range(ceil(high) + 1) for step in steps]
        ticks = [tick for tick in ticks if log10(tick) <= high]
        if len(ticks) <= _MOST_NODES:
            break
    texts = [units.count(tick) for tick in ticks]
    return {"title": "Nodes", "type": "log", "range": [-0.02, high], "tickvals": ticks, "ticktext": texts}


def ratio_axis(title: str, lowest: float, highest: float) -> Axis:
    """A logarithmic axis of ratios that has 1 on it, and room at both ends; the kit's own digits where it is short."""
    low, high = log10(min(1.0, lowest)), log10(max(1.0, highest))
    pad = max(0.01, 0.05 * (high - low))
    ticks = [tick for tick in _RATIOS if low - pad <= log10(tick) <= high + pad]
    axis: Axis = {"title": title, "type": "log", "range": [low - pad, high + pad]}
    if len(ticks) > 2:
        axis |= {"tickvals": _spaced_ratios(ticks, _RATIO_GAP * (high - low)), "tickformat": ".3~g"}
    return axis


def _spaced_ratios(ticks: list[float], gap: float) -> list[float]:
    """Those that lie ``gap`` decades apart; 1 is kept before powers of ten, and these before others."""
    kept: list[float] = []
    for value in sorted(ticks, key=lambda ratio: (ratio != 1, not log10(ratio).is_integer(), ratio)):
        if all(abs(log10(value / other)) >= gap for other in kept):
            kept.append(value)
    return sorted(kept)


def _log_axis(title: str, low: float, high: float, text: Callable[[float], str]) -> Axis:
    """``low`` and ``high`` are powers of ten."""
    ticks = log_ticks(low, high)
    return {"title": title, "type": "log", "range": [low, high], "tickvals": ticks, "ticktext": tick_texts(ticks, text)}


def log_ticks(low: float, high: float) -> list[float]:
    """At most seven round values between two powers of ten; as few as still show the scale, the coarser steps first."""
    ticks: list[float] = []
    for steps in _TICK_STEPS:
        if len(ticks) < 3:
            powers = [10**decade for decade in range(floor(low), ceil(high) + 1)]
            ticks = [step * power for power in powers for step in steps if low <= log10(step * power) <= high]
    return ticks[::2] if len(ticks) > 7 else ticks


def tick_texts(ticks: Sequence[float], text: Callable[[float], str]) -> list[str]:
    """Formats round values without needless decimals: ``1 GB/s``."""
    return [text(tick).replace(".00", "").replace(".0", "") for tick in ticks]


def tasks_axis(tried: list[int]) -> Axis:
    """Number of tasks on a logarithmic axis that names what was tried, as far as the names fit."""
    unique = sorted(set(tried)) or [1]
    least, most = log10(unique[0]) - 0.09, log10(unique[-1]) + 0.09
    # Of the axis of a figure on a telephone a digit takes 2 %, and a gap between names 3.5 %.
    room = 0.035 + 0.02 * len(str(unique[-1]))
    return {
        "title": "Tasks",
        "type": "log",
        "range": [least, most],
        "tickvals": _spaced(unique, room * (most - least)),
        "tickformat": "d",
    }


def sizes_axis(tried: list[int]) -> Axis:
    """Transfer size on a logarithmic axis that names what was tried, as far as the names fit."""
    unique = sorted(set(tried))
    named = _spaced(unique, 0.055 * max(1.0, log10(unique[-1] / unique[0])))
    return {
        "title": "Transfer size",
        "type": "log",
        "range": [log10(unique[0]) - 0.15, log10(unique[-1]) + 0.15],
        "tickvals": named,
        "ticktext": [units.size(size) for size in named],
    }


def _spaced(ascending: list[int], gap: float) -> list[int]:
    """Those that lie ``gap`` decades apart; powers of two are kept before others, for they are what was doubled."""
    kept: list[int] = []
    for value in sorted(ascending, key=lambda tasks: (tasks & (tasks - 1) != 0, tasks)):
        if all(abs(log10(value / other)) >= gap for other in kept):
            kept.append(value)
    return sorted(kept)


def rate_scale_title(largest: float, what: str = "Throughput", unit: str = "B/s") -> tuple[float, str]:
    """Divisor for values up to ``largest``, and a title that spells it: ``Throughput (GB/s; 1 GB = 10⁹ bytes)``."""
    scale, unit = units.scale(largest, unit)
    power = {"k": "10³", "M": "10⁶", "G": "10⁹", "T": "10¹²", "P": "10¹⁵"}.get(unit[0])
    spelled = f"; 1 {unit.removesuffix('/s')} = {power} bytes" if power else ""
    return scale, f"{what} ({unit}{spelled})"


def speed_scale_title(largest: float, metric: str, what: str = "Operations") -> tuple[float, str]:
    """Returns the same for a rate in ``metric``: throughput, or the number of ``what`` in a second."""
    if metric == BANDWIDTH:
        return rate_scale_title(largest)
    scale, unit = units.scale(largest, "/s")
    many = {"k": "Thousand ", "M": "Million ", "G": "Billion "}.get(unit[0], "")
    return scale, f"{many}{what.lower() if many else what}/s"


def divided_scale_title(largest: float, metric: str, unit: str) -> tuple[float, str]:
    """The same for a rate that was divided: ``unit`` is ``B/s per disk`` or ``of the link``."""
    if unit.startswith("of "):
        return 0.01, f"Share {unit} (%)"
    scale, title = speed_scale_title(largest, metric)
    return scale, title + unit.removeprefix("B/s").removeprefix("1/s")


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
