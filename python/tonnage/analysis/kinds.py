"""What a point says besides its rate, by kind of workload: parts of a mix, readers of a tail, copies of a command."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from tonnage.analysis.results import Copies, Follow, Part
from tonnage.analysis.statistics.percentiles import columns_of, intervals_of, medians
from tonnage.records import Run, Trials
from tonnage.records.results import Part as PartResult


def parts_of(lines: Trials) -> tuple[Part, ...]:
    """Rates and latencies of each kind of operation; empty where a phase does only one."""
    parts: dict[str, list[PartResult]] = defaultdict(list)
    for told in lines.having("parts").column("parts"):
        for part in told:
            parts[part["op"]].append(part)
    elapsed_ns = sum(lines.column("elapsed_ns")) if parts else 0
    return tuple(
        Part(
            op,
            sum(part["bytes"] for part in found) * 1e9 / elapsed_ns,
            sum(part["operations"] for part in found) * 1e9 / elapsed_ns,
            medians(latencies),
            intervals_of(latencies),
        )
        for op, found in parts.items()
        for latencies in [columns_of([part["latency"] for part in found])]
    )


def follow_of(lines: Trials) -> Follow | None:
    """How readers followed the writer; None where a phase has no readers."""
    found = lines.having("follow").column("follow")
    if not found:
        return None
    lags = columns_of([follow["lag"] for follow in found])
    return Follow(
        readers=found[0]["readers"],
        bandwidth_bytes_per_s=sum(follow["bytes"] for follow in found) * 1e9 / sum(lines.column("elapsed_ns")),
        lag=medians(lags),
        max_lag_bytes=max(follow["max_lag_bytes"] for follow in found),
        waits=sum(follow["waits"] for follow in found),
        lag_intervals=intervals_of(lags),
    )


def copies_of(run: Run, lines: Trials) -> Copies | None:
    """Processor time and device bytes of all copies; None where a phase runs no command."""
    if lines[0]["setting"].get("kind") != "command":
        return None
    records = set(lines.records)
    found = [copy for copy in run.copies() if copy["record"] in records]
    host = run.manifest.get("host") or {}
    processors = host.get("cpus_allowed") or host.get("cpu_count")
    user_ns, system_ns = (
        _all(copy.get("cpu_user_ns") for copy in found),
        _all(copy.get("cpu_system_ns") for copy in found),
    )
    cpu_ns = None if user_ns is None or system_ns is None else user_ns + system_ns
    elapsed_ns = sum(lines.column("elapsed_ns"))
    return Copies(
        copies=len(found),
        cpu_ns=cpu_ns,
        cpu_share=cpu_ns / (processors * elapsed_ns) if processors and cpu_ns is not None else None,
        device_read_bytes=_all(copy.get("device_read_bytes") for copy in found),
        device_write_bytes=_all(copy.get("device_write_bytes") for copy in found),
    )


def _all(told: Iterable[int | None]) -> int | None:
    """The sum over all copies; None where one of them is not known."""
    values = list(told)
    return sum(value for value in values if value is not None) if values and None not in values else None
