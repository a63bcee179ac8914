"""Makes one result of the reports of both ends of each pair: flows on one clock, and the window in which all of them
ran."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, cast

from tonnage.errors import MeasurementError
from tonnage.importers.iperf3 import Interval, Report, Way
from tonnage.records.lines import rate, untimed_task
from tonnage.records.phase_results import Event, FlowResult, NetworkResult, PhaseResult, TaskResult

_STALL_NS = 10**9
"""As the engine's: nothing arrived for so long."""

Row = tuple[int, int, int, int]
"""``start_ns``, ``end_ns``, ``task``, ``bytes``."""


@dataclass(frozen=True, slots=True)
class Flow:
    """Describes what went from one host to another, as both ends report it; instants are on the run's clock."""

    sender: str
    receiver: str
    sent: Way
    received: Way
    sender_report: Report
    receiver_report: Report
    start_ns: int
    uncertainty_ns: int
    """The start is known to this: iperf3 does not say when it began."""

    @property
    def end_ns(self) -> int:
        return self.start_ns + self.received.intervals[-1].end_ns


def began(client_ns: tuple[int, int], omit_ns: int, length_ns: int, clock_ns: int) -> tuple[int, int]:
    """When the measured part of a test began, and how uncertain that is.

    The client's process ran between the two instants, and the receiver counted for ``length_ns`` after a warm-up of
    ``omit_ns``: not before the client's start and the warm-up, and so that all of it fits before the client's end.
    """
    first, last = client_ns[0] + omit_ns, client_ns[1] - length_ns
    return (first + last) // 2, abs(last - first) // 2 + clock_ns


def result_of(flows: Sequence[Flow]) -> tuple[PhaseResult, list[Row]]:
    """A PhaseResult with a task a flow, and the rows of its series. MeasurementError where they did not overlap.

    Tasks begin and end with the window in which all flows ran, and count the bytes that arrived in it: a sum of rates
    that were not measured at the same time means nothing.
    """
    start_ns, end_ns = max(flow.start_ns for flow in flows), min(flow.end_ns for flow in flows)
    if end_ns <= start_ns:
        raise MeasurementError("the pairs did not run at the same time: one had ended before another began")
    rows: list[Row] = []
    tasks: list[TaskResult] = []
    told: list[FlowResult] = []
    events: list[Event] = []
    for number, flow in enumerate(flows):
        mine = _clipped(flow, start_ns, end_ns)
        moved = sum(each.bytes for each in mine)
        rows += [(each.start_ns - start_ns, each.end_ns - start_ns, number, each.bytes) for each in mine]
        tasks.append(untimed_task(number, start_ns, end_ns, moved=moved, operations=0))
        told.append(_flow_result(number, flow, moved))
        events += [_stall(number, *pause) for pause in _pauses(mine)]
    network: NetworkResult = {
        "window_start_ns": start_ns,
        "window_end_ns": end_ns,
        "sum_of_own_bytes_per_s": sum(flow["bandwidth_bytes_per_s"] for flow in told),
        "flows": told,
    }
    return {**empty("time"), "tasks": tasks, "events": events, "network": network}, rows


def empty(stop_reason: Literal["time", "interrupted"]) -> PhaseResult:
    """Returns a PhaseResult without tasks."""
    return {
        "stop_reason": stop_reason,
        "tasks": [],
        "latency": None,
        "cpu_user_ns": None,
        "cpu_system_ns": None,
        "direct": None,
        "cache": None,
        "verify": None,
        "first_error": None,
        "facts": {},
        "notes": [],
        "events": [],
    }


def _clipped(flow: Flow, start_ns: int, end_ns: int) -> list[Interval]:
    """Its intervals on the run's clock inside the window; of one that is cut, the bytes in proportion."""
    found = []
    for each in flow.received.intervals:
        first, last = flow.start_ns + each.start_ns, flow.start_ns + each.end_ns
        low, high = max(first, start_ns), min(last, end_ns)
        if high > low:
            found.append(Interval(low, high, each.bytes * (high - low) // (last - first)))
    return found


def _flow_result(number: int, flow: Flow, moved: int) -> FlowResult:
    """An entry of ``network.flows`` (``docs/record-format.md``)."""
    trip = flow.sent.round_trip
    return {
        "task": number,
        "sender": flow.sender,
        "receiver": flow.receiver,
        "start_ns": flow.start_ns,
        "start_uncertainty_ns": flow.uncertainty_ns,
        "elapsed_ns": flow.received.elapsed_ns,
        "sent_bytes": flow.sent.bytes,
        "received_bytes": flow.received.bytes,
        "bandwidth_bytes_per_s": rate(flow.received.bytes, flow.received.elapsed_ns) or 0,
        "window_bytes": moved,
        "retransmits": flow.sent.retransmits,
        "rtt_min_ns": trip.min_ns if trip else None,
        "rtt_mean_ns": trip.mean_ns if trip else None,
        "rtt_max_ns": trip.max_ns if trip else None,
        "sender_cpu_share": flow.sender_report.cpu_share,
        "receiver_cpu_share": flow.receiver_report.cpu_share,
        "sender_version": flow.sender_report.version,
        "receiver_version": flow.receiver_report.version,
        "congestion": flow.sender_report.congestion,
    }


def _pauses(intervals: Sequence[Interval]) -> list[tuple[int, int]]:
    """Start and end of each time in which nothing arrived for a second or longer."""
    found: list[tuple[int, int]] = []
    for each in (each for each in intervals if each.bytes == 0):
        if found and found[-1][1] == each.start_ns:
            found[-1] = (found[-1][0], each.end_ns)
        else:
            found.append((each.start_ns, each.end_ns))
    return [pause for pause in found if pause[1] - pause[0] >= _STALL_NS]


def _stall(task: int, start_ns: int, end_ns: int) -> Event:
    return cast("Event", {"time_ns": start_ns, "kind": "stall", "task": task, "duration_ns": end_ns - start_ns})
