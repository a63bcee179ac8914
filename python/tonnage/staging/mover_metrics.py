"""A mover's figures for Prometheus, on the loopback interface."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tonnage.metrics_endpoint import Endpoint
from tonnage.staging.mover_status import Status

_STATES = ("queued", "copying", "done", "cleared", "failed", "gone", "skipped")
_GAUGES: tuple[tuple[str, str, str, float], ...] = (
    ("workers", "threads that copy", "workers", 1),
    ("rate_bytes_per_second", "bytes copied a second, now", "rate_bytes_per_s", 1),
    ("rate_files_per_second", "files made safe a second, now", "rate_files_per_s", 1),
    ("left_seconds", "time until the queue is empty at these rates", "left_ns", 1e-9),
    ("limit_bytes_per_second", "bound that was asked for", "limit_bytes_per_s", 1),
    ("limit_files_per_second", "bound that was asked for", "limit_files_per_s", 1),
    ("gentle_bytes_per_second", "bound that the controller keeps for the application's sake", "gentle_bytes_per_s", 1),
    ("source_used_ratio", "share of the source's file system in use", "source_used_permille", 1e-3),
    ("above_high_mark", "1 while that is above the high mark", "above_high_mark", 1),
)
"""(name after ``tonnage_stage_``, meaning, key of the status, factor); one that is not known has no sample."""


class Metrics(Endpoint):
    """An endpoint of one mover."""

    def serve(self, status: Callable[[], Status]) -> None:
        """Answers in a thread of its own; each scrape asks for the status."""
        self.serve_from(_Collector(status))


class _Collector:
    def __init__(self, status: Callable[[], Status]) -> None:
        self._status = status

    def collect(self) -> Iterator[Any]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        now: Mapping[str, Any] = self._status()
        mover = [now["name"]]
        files = GaugeMetricFamily("tonnage_stage_files", "entries by where they stand", labels=["mover", "state"])
        held = GaugeMetricFamily(
            "tonnage_stage_bytes", "bytes of entries by where they stand", labels=["mover", "state"]
        )
        for state in _STATES:
            files.add_metric([*mover, state], now[state]["files"])
            held.add_metric([*mover, state], now[state]["bytes"])
        yield from (files, held)
        for name, meaning, key, factor in _GAUGES:
            gauge = GaugeMetricFamily(f"tonnage_stage_{name}", meaning, labels=["mover"])
            if now[key] is not None:
                gauge.add_metric(mover, now[key] * factor)
            yield gauge
        for name, meaning, key in (
            ("copied_bytes", "bytes copied by this process", "copied_bytes"),
            ("scans", "scans completed", "scans"),
        ):
            counter = CounterMetricFamily(f"tonnage_stage_{name}", meaning, labels=["mover"])
            counter.add_metric(mover, now[key])
            yield counter


def names() -> list[str]:
    """Every name that a scrape may show; the page in docs has them all."""
    return [
        "tonnage_stage_files",
        "tonnage_stage_bytes",
        *(f"tonnage_stage_{name}" for name, *_ in _GAUGES),
        "tonnage_stage_copied_bytes_total",
        "tonnage_stage_scans_total",
    ]
