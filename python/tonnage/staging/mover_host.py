"""One mover in this process: its checks, its control socket, its name on this host, its metrics."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

from tonnage import _native
from tonnage.errors import MeasurementError, RequestError
from tonnage.metrics_endpoint import Endpoint
from tonnage.staging.control_socket import Server
from tonnage.staging.mover_plan import StagePlan
from tonnage.staging.mover_status import Status
from tonnage.staging.registered_movers import Registered, forget, refuse_taken, register, registered_name

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
        self._copied_bytes = 0

    def collect(self) -> Iterator[Any]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        now: Mapping[str, Any] = self._status()
        # What a failed write takes off again must not look like a counter that began anew.
        self._copied_bytes = max(self._copied_bytes, now["copied_bytes"])
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
        for name, meaning, value in (
            ("copied_bytes", "bytes copied by this process", self._copied_bytes),
            ("scans", "scans completed", now["scans"]),
        ):
            counter = CounterMetricFamily(f"tonnage_stage_{name}", meaning, labels=["mover"])
            counter.add_metric(mover, value)
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


JOURNAL = "journal.sqlite"
"""In the state directory."""

ENDED = ("finished", "stopped")
"""The ``progress`` of a mover that does nothing any more."""

_HALT_S = 60.0
"""A halted mover ends after the piece in hand; one whose disk hangs is left to the kernel."""

_LARGEST = 2**63 - 1


class Host:
    """Use as a context: what was opened is closed, and a mover that still runs is halted; its journal stays."""

    def __init__(self, plan: StagePlan, on_start: Callable[[Host], None] | None = None) -> None:
        """Everything that can be refused is refused here, before anything is touched. Nothing is copied yet.

        ``on_start`` is called once the mover runs and answers.
        """
        with ExitStack() as opened:
            name = opened.enter_context(registered_name(plan.name, plan.state, numbered=plan.numbered))
            self.plan = plan.model_copy(update={"name": name})
            self._entry = Registered(self.plan.name, plan.source, plan.to, plan.state, os.getpid(), plan.direction)
            refuse_taken(self._entry)
            self._metrics = Metrics(plan.metrics_port) if plan.metrics_port is not None else None
            opened.callback(self._close_metrics)
            self.mover = self._prepared()
            self._opened = opened.pop_all()
        self._on_start = on_start
        self._started = False

    def _prepared(self) -> _native.Mover:
        try:
            # Whenever there is a journal there is a plan: a kill at any moment leaves what can be resumed.
            return _native.Mover(self.plan.options(), self.plan.save)
        except ValueError as error:
            raise RequestError(str(error)) from None
        except RuntimeError as error:
            hint = "; hint: see that there is space and that you may write there, or give --state another directory"
            raise MeasurementError(f"{error}{'' if '; hint: ' in str(error) else hint}") from None

    def __enter__(self) -> Host:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        with self._opened:
            # The socket answers until nothing is written any more.
            if self._started and not self.mover.wait(0):
                self.mover.stop(0)
                self.mover.wait(_HALT_S)
            # What is left to be resumed stays known by its name.
            if error is None and self.mover.status()["progress"] == "finished":
                forget(self._entry)

    def start(self) -> None:
        """The mover begins, and others can find it. Threads start here, so signals are to be blocked before."""
        self.plan.save()
        self._opened.callback(Server(self.plan.state, self._answer).close)
        register(self._entry)
        try:
            self.mover.start()
        except RuntimeError as error:
            raise MeasurementError(str(error)) from None
        self._started = True
        if self._metrics:
            self._metrics.serve(self.status)
        if self._on_start:
            self._on_start(self)

    def has_ended(self) -> bool:
        """Whether the mover is done. MeasurementError or OSError where it could not go on."""
        try:
            return self.mover.wait(0)
        except RuntimeError as error:
            hint = "" if "; hint: " in str(error) else "; hint: mend that, then go on with `tonnage stage resume`"
            raise MeasurementError(f"{error}{hint}") from None

    @property
    def metrics_port(self) -> int | None:
        """Where Prometheus may ask on 127.0.0.1."""
        return self._metrics.port if self._metrics else None

    def status(self) -> Status:
        """The mover's status, with what only its process knows."""
        return {
            **self.mover.status(),
            "running": True,
            "pid": os.getpid(),
            "state": str(self.plan.state),
            "direction": self.plan.direction,
        }

    def _answer(self, request: Mapping[str, object]) -> Mapping[str, object]:
        """What the socket is asked for; runs in threads of the server."""
        match request.get("do"):
            case "status":
                return self.status()
            case "rescan":
                return {"scans": self.mover.rescan()}
            case "drain":
                self.mover.drain()
            case "limit":
                self.mover.set_limit(_number(request, "bytes_per_s"), _number(request, "files_per_s"))
            case "stop":
                asked = _number(request, "deadline_ns")
                self.mover.stop(self.plan.grace_ns if asked is None else asked)
            case other:
                raise MeasurementError(f"a mover cannot do {str(other)[:80]!r}")
        return {}

    def _close_metrics(self) -> None:
        if self._metrics:
            self._metrics.close()


def _number(request: Mapping[str, object], key: str) -> int | None:
    """MeasurementError for what is neither null nor a number that the mover takes."""
    value = request.get(key, "missing")
    if value is None:
        return None
    if type(value) is not int or not 0 <= value <= _LARGEST:
        raise MeasurementError(f"{key} is {str(value)[:80]}; hint: null, or a whole number from 0 to {_LARGEST}")
    return value


def status_of(state: Path) -> Status:
    """From the journal of a mover that does not run. RequestError where there is none."""
    if not os.path.lexists(state / JOURNAL):
        raise RequestError(f"there is no journal in {state}; hint: give --from (the local tree), --name, or --state")
    try:
        found = _native.stage_status(str(state))
    except ValueError as error:
        raise RequestError(str(error)) from None
    except RuntimeError as error:
        raise MeasurementError(str(error)) from None
    plan = StagePlan.load(state)
    return {
        **found,
        "running": False,
        "pid": None,
        "state": str(state),
        "direction": plan.direction if plan else "out",
    }


def is_safe(status: Status) -> bool:
    """Whether everything that was found is at its destination, and a mover that does not run had come to its end: one
    that was killed has not seen what was written since."""
    # What a scan could not read is among the failures without having an entry.
    left = status["queued"]["files"] or status["failed"]["files"] or status["failures"]
    return not left and (status["running"] or status["progress"] == "finished")
