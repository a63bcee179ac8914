"""Metrics of the file servers for Prometheus: the rows of ``tonnage load``, and the episodes of a watch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tonnage.placement.server_load import LoadRow, ServerLoad
from tonnage.placement.watch.watch import State

_FIGURES = 5
"""The first of them are the indices: a stale one has no sample, so that it is not taken for a current one."""
ABOVE, SECONDS, EPISODES = (
    "tonnage_server_above_line",
    "tonnage_server_above_line_seconds",
    "tonnage_server_episodes_total",
)


_GAUGES: tuple[tuple[str, str, Callable[[ServerLoad], float | None]], ...] = (
    ("cpu_ratio", "share of CPU time in use", lambda row: _thousandth(row.ut_permille)),
    ("operations_per_second", "block device operations", lambda row: row.bio_per_s),
    ("bytes_per_second", "bytes of them", lambda row: row.bio_bytes_per_s),
    ("nfs_calls_per_second", "NFS server calls", lambda row: row.rpc_per_s),
    (
        "io_pressure_ratio",
        "share of time in which some task waited for I/O",
        lambda row: _thousandth(row.pressure_permille),
    ),
    ("index_age_seconds", "age of these figures", lambda row: row.age_s),
    ("index_stale", "1 while they tell nothing of now", lambda row: float(row.stale)),
    ("running_tasks", "tasks that use it, by the scheduler's count", lambda row: row.running),
    ("waiting_tasks", "tasks that wait for it", lambda row: row.waiting),
    ("load_line_tasks", "its load line", lambda row: row.line),
    ("head_room_tasks", "the load line less the tasks that run", lambda row: row.head_room),
    ("promised_tasks", "tasks that the jobs sent to it may run at once, by their demand", lambda row: row.promised),
    ("other_tasks", "tasks that its indices show beyond those jobs", lambda row: row.others),
    ("left_tasks", "the load line less what is promised and what others use", lambda row: row.left),
)
"""(name after ``tonnage_server_``, meaning, value); what is not known has no sample."""


def load_metric_names() -> list[str]:
    """Every name that a scrape may show; the page in docs has them all."""
    return [f"tonnage_server_{name}" for name, *_ in _GAUGES]


class LoadCollector:
    """Gives each scrape the rows of that moment."""

    def __init__(self, rows: Callable[[], Sequence[LoadRow]]) -> None:
        self._rows = rows

    def collect(self) -> Iterator[Any]:
        """Yields the metric families, one a name."""
        from prometheus_client.core import GaugeMetricFamily

        found = [row.answer() for row in self._rows()]
        for number, (name, meaning, value) in enumerate(_GAUGES):
            gauge = GaugeMetricFamily(f"tonnage_server_{name}", meaning, labels=["server"])
            for row in found:
                told = value(row)
                if told is not None and not (row.stale and number < _FIGURES):
                    gauge.add_metric([row.server], told)
            yield gauge


def _thousandth(permille: int | None) -> float | None:
    return None if permille is None else permille / 1000


def watch_metric_names() -> list[str]:
    """Every name that a scrape may show; the page in docs has them all."""
    return [ABOVE, SECONDS, EPISODES]


class WatchCollector:
    """Gives each scrape the last observation; unknown values have no sample."""

    def __init__(self, states: Callable[[], Sequence[State]]) -> None:
        self._states = states

    def collect(self) -> Iterator[Any]:
        """Yields the metric families, one a name."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        known = [state for state in self._states() if state.known]
        above = GaugeMetricFamily(ABOVE, "1 while it is above its load line", labels=["server"])
        seconds = GaugeMetricFamily(SECONDS, "since when, 0 while it is not", labels=["server"])
        episodes = CounterMetricFamily(EPISODES, "times that it went above its line", labels=["server"])
        for state in known:
            labels = [state.seen.server]
            above.add_metric(labels, float(state.above))
            seconds.add_metric(labels, state.lasts_s or 0.0)
            episodes.add_metric(labels, float(state.episodes))
        yield from (above, seconds, episodes)
