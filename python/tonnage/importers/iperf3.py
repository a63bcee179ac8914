"""What one iperf3 process says with ``--json``: of either end, of either way, of every version since 3.7.

Bits stay outside: iperf3 counts bytes, and bits per second are computed from them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tonnage.errors import RecordError
from tonnage.records.line_types import Json

FORWARD, BACKWARD = "forward", "backward"
"""From the client to the server, and from the server to the client."""
_SUMS = {"sum": "", "sum_bidir_reverse": "_bidir_reverse"}
"""Key of an interval's sum over all streams → what the keys of the same way end in elsewhere."""
_SLIVER = 10
"""An interval so many times shorter than the median one is no interval of its own."""


class NoReport(RecordError):
    """What was read is no report of iperf3, or one without what was asked."""


@dataclass(frozen=True, slots=True)
class Interval:
    """Bytes of all streams of a way between two instants, counted from the end of the warm-up."""

    start_ns: int
    end_ns: int
    bytes: int


@dataclass(frozen=True, slots=True)
class RoundTrip:
    """Of a sender's streams, as its kernel estimates it: the least, the mean of their means, the most."""

    min_ns: int
    mean_ns: int
    max_ns: int


@dataclass(frozen=True, slots=True)
class Way:
    """One way through the connection, as this end saw it, without the warm-up."""

    sender: bool
    """Whether this end sent it: then the bytes are those that its kernel took, else those that arrived."""
    bytes: int
    elapsed_ns: int
    intervals: tuple[Interval, ...]
    retransmits: int | None
    """Segments that a sender sent again; None for a receiver, and where its kernel does not say."""
    round_trip: RoundTrip | None


@dataclass(frozen=True, slots=True)
class Report:
    """One process's report."""

    error: str | None
    """Why it ended before its time, in iperf3's words."""
    version: str
    """``3.12``."""
    streams: int
    cpu_share: float | None
    """Of one processor, over the test; above 1 where it has a thread a stream (3.16 and later)."""
    congestion: str | None
    """The sender's algorithm, where this end knows it."""
    ways: Mapping[str, Way]
    """``forward``, ``backward`` or both; empty where it failed."""


def read(text: str) -> Report:
    """The report in what a process printed. NoReport where there is none."""
    try:
        said = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NoReport(f"this is no report of iperf3: {error}") from None
    return report_of(said)


def report_of(said: Any) -> Report:
    """Returns the same from the JSON itself."""
    if not isinstance(said, dict) or not isinstance(said.get("start"), dict):
        raise NoReport("this is no report of iperf3: it has no start")
    try:
        return _report(said)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        raise NoReport(f"this report of iperf3 is not whole: {type(error).__name__} {error}") from None


def _report(said: Json) -> Report:
    start, end = said["start"], said.get("end") or {}
    error = said.get("error")
    cpu = (end.get("cpu_utilization_percent") or {}).get("host_total")
    reverse = bool((start.get("test_start") or {}).get("reverse"))
    ways = {}
    for sums, suffix in _SUMS.items():
        if f"sum_sent{suffix}" in end:
            name = BACKWARD if suffix or reverse else FORWARD
            ways[name] = _way(said, sums, suffix)
    return Report(
        error=None if error is None else str(error),
        version=str(start["version"]).removeprefix("iperf").strip(),
        streams=int((start.get("test_start") or {}).get("num_streams", 0)),
        cpu_share=None if cpu is None else float(cpu) / 100,
        congestion=end.get("sender_tcp_congestion"),
        ways=ways,
    )


def _way(said: Json, sums: str, suffix: str) -> Way:
    kept = [interval[sums] for interval in said["intervals"] if sums in interval and not interval[sums]["omitted"]]
    if not kept:
        raise ValueError("no interval was measured")
    sender = bool(kept[0]["sender"])
    whole = said["end"][f"sum_{'sent' if sender else 'received'}{suffix}"]
    began = _warm_up_ends(kept[0])
    starts = [0, *(_ns(each["start"] - began) for each in kept[1:])]
    intervals = _without_slivers(
        [Interval(at, _ns(each["end"] - began), int(each["bytes"])) for at, each in zip(starts, kept, strict=True)]
    )
    return Way(
        sender=sender,
        bytes=int(whole["bytes"]),
        elapsed_ns=max(_ns(whole["seconds"]), 1),
        intervals=intervals,
        retransmits=int(whole["retransmits"]) if sender and "retransmits" in whole else None,
        round_trip=_round_trip(said["end"]) if sender else None,
    )


def _warm_up_ends(first: Json) -> float:
    """When the warm-up ended, in seconds of the report's clock: bytes of the first measured interval count from then.

    That clock begins anew after the warm-up in some versions, and goes on in others. Where it begins anew and the
    process was kept waiting, the first interval has a start on the old clock, and ``seconds`` from there: its
    start and end are then no such time apart.
    """
    start, end, seconds = float(first["start"]), float(first["end"]), float(first["seconds"])
    goes_on = start > seconds / 2 and abs(end - start - seconds) < seconds / 10
    return start if goes_on else 0.0


def _without_slivers(intervals: list[Interval]) -> tuple[Interval, ...]:
    """With each that is far shorter than the others joined to the one before it, or after it where it is the first.

    Where two ticks of iperf3 fall together, the first tells of no bytes and the second, a millisecond long, of all: the
    rate of neither means anything.
    """
    least_ns = sorted(each.end_ns - each.start_ns for each in intervals)[len(intervals) // 2] // _SLIVER
    joined: list[Interval] = []
    for each in intervals:
        last = joined[-1] if joined else None
        if last and least_ns > min(each.end_ns - each.start_ns, last.end_ns - last.start_ns):
            joined[-1] = Interval(last.start_ns, each.end_ns, last.bytes + each.bytes)
        else:
            joined.append(each)
    return tuple(joined)


def _round_trip(end: Json) -> RoundTrip | None:
    """Over the streams that this end sends: where both ways are measured each stream says which it is."""
    found = [stream["sender"] for stream in end.get("streams") or () if "sender" in stream]
    mine = [one for one in found if one.get("sender") and one.get("mean_rtt")]
    if not mine:
        return None
    return RoundTrip(
        min_ns=1000 * min(int(one["min_rtt"]) for one in mine),
        mean_ns=1000 * sum(int(one["mean_rtt"]) for one in mine) // len(mine),
        max_ns=1000 * max(int(one["max_rtt"]) for one in mine),
    )


def _ns(seconds: float) -> int:
    return round(float(seconds) * 1e9)
