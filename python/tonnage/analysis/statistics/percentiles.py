"""Percentiles of a point: each repetition has its own, and is one value however many operations it did.

Operations of one repetition share its moment, so they say little about the next repetition, and a fast one would count
more often than a slow one. So nothing is pooled: a point has the median of its repetitions' percentiles, with the same
interval as the median of its rates (:func:`~tonnage.analysis.statistics.intervals.median_interval`).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from tonnage.analysis.results import Bounds
from tonnage.analysis.statistics.intervals import Noise, median_interval, pooled_noise
from tonnage.records import Trials
from tonnage.records.latency import QUANTILES
from tonnage.records.line_types import TrialLine
from tonnage.records.phase_results import LatencySummary
from tonnage.records.trial_columns import exact_sum

if TYPE_CHECKING:
    from tonnage.records.trial_columns import Numbers

Columns = Mapping[str, "Numbers"]
"""Of each key of a latency summary the values of all repetitions. What one does not know is left out of all."""


def columns_of(latencies: Sequence[LatencySummary]) -> Columns:
    """Returns the columns of latency summaries that stand in no column of their own."""
    lines: list[TrialLine] = [{"latency": latency} for latency in latencies]
    return Trials.of(lines).integers("latency")


def medians(latencies: Columns) -> dict[str, int]:
    """One summary for all repetitions: counts added up, the least and the most, and of all else the median."""
    import numpy as np

    # numpy sorts many times as fast as the median does.
    ways: dict[str, Callable[[Numbers], float]] = {"count": exact_sum, "min_ns": np.min, "max_ns": np.max}
    return {key: int(ways.get(key, _median)(column)) for key, column in latencies.items()}


def intervals_of(latencies: Columns, noise: Mapping[str, Noise] | None = None) -> dict[str, Bounds | None]:
    """Of each percentile the interval of its median; None where there is one repetition.

    ``noise``: of each percentile what all points of the curve have in common, where one of them has few repetitions.
    """
    import numpy as np

    found: dict[str, Bounds | None] = {}
    for key in QUANTILES:
        if key in latencies and len(latencies[key]):
            values = np.sort(latencies[key]).tolist()
            _, low, high, confidence = median_interval(values, curve=(noise or {}).get(key))
            found[key] = Bounds(math.floor(low), math.ceil(high), confidence) if confidence else None
    return found


def noise_of(curve: Iterable[Columns]) -> dict[str, Noise]:
    """The noise of each percentile that the points of a curve have in common."""
    points = list(curve)
    return {key: pooled_noise([point[key].tolist() for point in points if key in point]) for key in QUANTILES}


def _median(column: Numbers) -> float:
    import numpy as np

    middle = np.sort(column)[(len(column) - 1) // 2 : len(column) // 2 + 1]
    return float(statistics.median(middle.tolist()))
