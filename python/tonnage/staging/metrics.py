"""A mover's figures for Prometheus, on the loopback interface."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from tonnage.errors import RequestError

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


class Metrics:
    """An endpoint; bound when it is made, so that a port that is taken is refused before anything begins."""

    def __init__(self, port: int) -> None:
        """``port`` 0: any free one. RequestError where it is taken, or prometheus-client is not installed."""
        try:
            from prometheus_client.exposition import ThreadingWSGIServer, make_wsgi_app
            from prometheus_client.registry import CollectorRegistry
        except ImportError:
            raise RequestError(
                "--metrics needs the package prometheus-client; hint: install it, or tonnage with its extra `stage`"
            ) from None
        from wsgiref.simple_server import WSGIRequestHandler

        class Silent(WSGIRequestHandler):
            """Says nothing of each scrape."""

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._registry = CollectorRegistry()
        try:
            self._server = ThreadingWSGIServer(("127.0.0.1", port), Silent)
        except OSError as error:
            raise RequestError(
                f"cannot listen on 127.0.0.1:{port}: {error.strerror}; hint: give --metrics another port, 0 for any"
            ) from None
        self._server.set_app(make_wsgi_app(self._registry))
        self._serving = False

    @property
    def port(self) -> int:
        """Where it listens."""
        port: int = self._server.server_address[1]
        return port

    def serve(self, status: Callable[[], Mapping[str, Any]]) -> None:
        """Answers in a thread of its own; each scrape asks for the status."""
        self._registry.register(_Collector(status))
        self._serving = True
        # The interval is how long a close may take.
        serve = partial(self._server.serve_forever, poll_interval=0.1)
        threading.Thread(target=serve, name="stage-metrics", daemon=True).start()

    def close(self) -> None:
        """Frees the port."""
        if self._serving:
            self._server.shutdown()
        self._server.server_close()


class _Collector:
    def __init__(self, status: Callable[[], Mapping[str, Any]]) -> None:
        self._status = status

    def collect(self) -> Iterator[Any]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        now = self._status()
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
