"""What Prometheus reads of a watch, beside the gauges of ``tonnage load``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tonnage.placement.watch.watch import State

ABOVE, SECONDS, EPISODES = (
    "tonnage_server_above_line",
    "tonnage_server_above_line_seconds",
    "tonnage_server_episodes_total",
)


def names() -> list[str]:
    """Every name that a scrape may show; the page in docs has them all."""
    return [ABOVE, SECONDS, EPISODES]


class Collector:
    """Gives each scrape what the last look said; what it did not tell has no sample."""

    def __init__(self, states: Callable[[], Sequence[State]]) -> None:
        self._states = states

    def collect(self) -> Iterator[Any]:
        """The families, one a name."""
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
