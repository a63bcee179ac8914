"""iperf3's JSON as a trial of a ``network``: what one end, or its peer's account at its end, says of each way.

iperf3 counts bytes; its rates are bits in a second.
"""

from __future__ import annotations

import re
from datetime import datetime, timezone
from fractions import Fraction

from tonnage.importers import broken_json, iperf3
from tonnage.importers.imported_phases import ImportedFile, Note, Phase, StatedRate, Task, line_of
from tonnage.importers.rounded_numbers import nanoseconds, rounded, whole
from tonnage.importers.trace import LARGEST
from tonnage.records.line_types import Json, SettingValues
from tonnage.records.lines import rate
from tonnage.records.phase_results import FlowResult, NetworkResult

_BEGINS = re.compile(r'\{\s*"start"\s*:\s*\{')
_SECOND_NS = 10**9
_OF_THE_SENDER = Note(
    "bytes-estimated", "iperf3's server has what it sent, over its own time; its client has what arrived"
)
_PLACED = frozenset({"protocol", "num_streams", "duration", "omit", "reverse", "bidir", "interval"})
"""Of ``test_start``: what a setting has by other names, and how often iperf3 prints."""


def read(data: bytes, _: str) -> ImportedFile:
    """Reads a report. Never raises: ``problems`` names the line of each part that it cannot read."""
    return broken_json.each(data.decode("utf-8", "replace"), _BEGINS, _report)


def _report(text: str) -> ImportedFile:
    document = broken_json.read(text)
    said = document.value if isinstance(document.value, dict) else {}
    line = document.line or 1
    try:
        report = iperf3.report_of(said)
    except iperf3.NoReport as error:
        hint = "; hint: iperf3 --json writes it" if not said else ""
        return ImportedFile(problems=(f"line {line}: {error}{hint}",))
    if report.error:
        return ImportedFile(problems=(f"line {line}: iperf3 ended with an error: {report.error}",))
    if not report.ways:
        return ImportedFile(problems=(f"line {line}: the report says nothing of bytes that were sent and received",))
    phase = phase_of(said, report, text)
    if isinstance(phase, str):
        return ImportedFile(problems=(f"line {line}: {phase}",))
    return ImportedFile(phases=(phase,), tool="iperf3", version=report.version, host=_hosts(said)[0])


def _hosts(said: Json) -> tuple[str, str]:
    """The client and the server, as far as they have names: addresses otherwise."""
    start = said["start"]
    connected = start.get("connected")
    first = connected[0] if isinstance(connected, list) and connected and isinstance(connected[0], dict) else {}
    here, there = str(first.get("local_host") or "here"), str(first.get("remote_host") or "there")
    return (there, here) if "accepted_connection" in start else (here, there)


def phase_of(said: Json, report: iperf3.Report, text: str = "") -> Phase | str:
    """The trial of a report; or why it is none."""
    hosts = _hosts(said)
    ways = sorted(report.ways.items(), reverse=True)  # forward first
    flows, tasks, series, window = [], [], [], 0
    notes: tuple[Note, ...] = ()
    udp = (said["start"].get("test_start") or {}).get("protocol") == "UDP"
    for number, (name, way) in enumerate(ways):
        sender, receiver = hosts if name == iperf3.FORWARD else hosts[::-1]
        arrived = _arrived(said, name)
        if arrived is None and udp:
            return "it has what was sent by UDP, and not what arrived; hint: import what the receiver printed"
        notes = notes if arrived else (_OF_THE_SENDER,)
        moved, lasted = arrived or (way.bytes, way.elapsed_ns)
        if not 0 <= moved < LARGEST or not 0 < lasted < LARGEST:
            return "its figures are out of all bounds"
        window = max(window, lasted)
        flows.append(_flow(number, (sender, receiver), way, (moved, lasted), report))
        tasks.append(Task(end_ns=lasted, bytes=moved, operations=0, host=sender))
        series += [(each.start_ns, each.end_ns, each.bytes) for each in way.intervals if each.end_ns > each.start_ns]
    network: NetworkResult = {
        "window_start_ns": 0,
        "window_end_ns": window,
        "sum_of_own_bytes_per_s": sum(flow["bandwidth_bytes_per_s"] for flow in flows),
        "flows": flows,
    }
    return Phase(
        phase="network",
        setting=_setting(said, report, hosts),
        elapsed_ns=window,
        bytes=sum(task.bytes for task in tasks),
        operations=0,
        line=1,
        started=_started(said),
        tasks=tuple(tasks),
        series=tuple(series),
        network=network,
        notes=notes,
        stated_rate=_stated_rate(said, text),
    )


def _arrived(said: Json, name: str) -> tuple[int, int] | None:
    """What arrived, and in how many nanoseconds by the receiver's clock. A client has both from the server at the end,
    a server that sends has neither (None)."""
    reverse = "sum_received_bidir_reverse"
    totals = said["end"].get(reverse if name == iperf3.BACKWARD and reverse in said["end"] else "sum_received")
    arrived = whole(totals.get("bytes")) if isinstance(totals, dict) else None
    lasted = nanoseconds(totals.get("seconds")) if isinstance(totals, dict) else None
    return (arrived, lasted) if arrived and lasted else None


def _flow(
    number: int,
    hosts: tuple[str, str],
    way: iperf3.Way,
    received: tuple[int, int],
    report: iperf3.Report,
) -> FlowResult:
    """An entry of ``network.flows`` (``docs/record-format.md``). ``received``: bytes, and nanoseconds."""
    (sender, receiver), (moved, lasted), trip = hosts, received, way.round_trip
    return {
        "task": number,
        "sender": sender,
        "receiver": receiver,
        "start_ns": 0,
        "start_uncertainty_ns": None,
        "elapsed_ns": lasted,
        "sent_bytes": way.bytes,
        "received_bytes": moved,
        "bandwidth_bytes_per_s": rate(moved, lasted) or 0,
        "window_bytes": moved,
        "retransmits": way.retransmits,
        "rtt_min_ns": trip.min_ns if trip else None,
        "rtt_mean_ns": trip.mean_ns if trip else None,
        "rtt_max_ns": trip.max_ns if trip else None,
        "sender_cpu_share": report.cpu_share if way.sender else None,
        "receiver_cpu_share": None if way.sender else report.cpu_share,
        "sender_version": report.version if way.sender else None,
        "receiver_version": None if way.sender else report.version,
        "congestion": report.congestion,
    }


def _setting(said: Json, report: iperf3.Report, hosts: tuple[str, str]) -> SettingValues:
    asked = said["start"].get("test_start")
    asked = asked if isinstance(asked, dict) else {}
    duration, omit = whole(asked.get("duration")), whole(asked.get("omit"))
    names = set(report.ways)
    direction = "both" if len(names) == 2 else "send" if iperf3.FORWARD in names else "receive"
    others = {"sock_bufsize": said["start"].get("sock_bufsize")} | {
        name: value for name, value in asked.items() if name not in _PLACED
    }
    return {
        **{name: value for name, value in others.items() if value},
        "kind": "network",
        "tasks": len(names),
        "pairs": [f"{hosts[0]}:{hosts[1]}"],
        "streams": report.streams,
        "direction": direction,
        "duration_ns": duration * _SECOND_NS if duration and duration < 10**9 else None,
        "omit_ns": omit * _SECOND_NS if omit is not None and omit < 10**9 else None,
        "protocol": asked.get("protocol"),
        "carries": None,
    }


def _started(said: Json) -> str | None:
    stamp = said["start"].get("timestamp")
    seconds = whole(stamp.get("timesecs")) if isinstance(stamp, dict) else None
    if not seconds or seconds > 2**33:
        return None
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="seconds")


def _stated_rate(said: Json, text: str) -> StatedRate | None:
    """The rate of the end's first sum, which is in bits."""
    for key in ("sum_received", "sum_sent"):
        totals = said["end"].get(key)
        if not isinstance(totals, dict):
            continue
        bits, count, seconds = (
            rounded(totals.get("bits_per_second")),
            whole(totals.get("bytes")),
            rounded(totals.get("seconds")),
        )
        if bits and count and seconds and bits.high > 0:
            stated = str(totals["bits_per_second"])
            return StatedRate(
                line=line_of(text, stated),
                text=f"{stated} bit/s",
                rate=bits.times(Fraction(1, 8)),
                count=count,
                seconds=seconds,
            )
    return None
