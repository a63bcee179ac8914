"""What a point says besides its rate, by kind of workload: parts of a mix, readers of a tail, copies of a command."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tonnage.analysis.results import Copies, Follow, Part
from tonnage.records import Run
from tonnage.records.latency import summarise

Line = Mapping[str, Any]


def median_latency(latencies: Sequence[Mapping[str, int]]) -> dict[str, int]:
    """Several latency summaries as one where there is no histogram to add up: the median of each quantile. What one of
    them does not know (another tool measured it) is left out."""
    if not latencies:
        return {}
    known = [key for key in latencies[0] if all(latency.get(key) is not None for latency in latencies)]
    ways: dict[str, Callable[[list[int]], float]] = {"count": sum, "min_ns": min, "max_ns": max}
    return {key: int(ways.get(key, statistics.median)([latency[key] for latency in latencies])) for key in known}


def parts_of(lines: Sequence[Line]) -> tuple[Part, ...]:
    """Rates and latencies of each kind of operation; empty where a phase does only one."""
    elapsed_ns = sum(line["elapsed_ns"] for line in lines)
    parts: dict[str, list[Line]] = defaultdict(list)
    for line in lines:
        for part in line.get("parts") or ():
            parts[part["op"]].append(part)
    return tuple(
        Part(
            op,
            sum(part["bytes"] for part in found) * 1e9 / elapsed_ns,
            sum(part["operations"] for part in found) * 1e9 / elapsed_ns,
            median_latency([part["latency"] for part in found]),
        )
        for op, found in parts.items()
    )


def follow_of(run: Run, lines: Sequence[Line]) -> Follow | None:
    """How readers followed the writer; None where a phase has no readers."""
    found = [line["follow"] for line in lines if line.get("follow")]
    if not found:
        return None
    return Follow(
        readers=found[0]["readers"],
        bandwidth_bytes_per_s=sum(follow["bytes"] for follow in found)
        * 1e9
        / sum(line["elapsed_ns"] for line in lines),
        lag=_lag(run, lines) or median_latency([follow["lag"] for follow in found]),
        max_lag_bytes=max(follow["max_lag_bytes"] for follow in found),
        waits=sum(follow["waits"] for follow in found),
    )


def _lag(run: Run, lines: Sequence[Line]) -> dict[str, int] | None:
    """Quantiles over the lag of all readers of all repetitions; None without their histograms."""
    merged: dict[int, int] = defaultdict(int)
    for line in lines:
        for tag, pairs in (run.histograms(line["record"]) or {}).items():
            for value, count in pairs if tag.startswith("lag-") else ():
                merged[value] += count
    return summarise(sorted(merged.items())) if merged else None


def copies_of(run: Run, lines: Sequence[Line]) -> Copies | None:
    """Processor time and device bytes of all copies; None where a phase runs no command."""
    if lines[0]["setting"].get("kind") != "command":
        return None
    records = {line["record"] for line in lines}
    found = [copy for copy in run.copies() if copy["record"] in records]
    host = run.manifest.get("host") or {}
    processors = host.get("cpus_allowed") or host.get("cpu_count")
    user_ns, system_ns = _all(found, "cpu_user_ns"), _all(found, "cpu_system_ns")
    cpu_ns = None if user_ns is None or system_ns is None else user_ns + system_ns
    elapsed_ns = sum(line["elapsed_ns"] for line in lines)
    return Copies(
        copies=len(found),
        cpu_ns=cpu_ns,
        cpu_share=cpu_ns / (processors * elapsed_ns) if processors and cpu_ns is not None else None,
        device_read_bytes=_all(found, "device_read_bytes"),
        device_write_bytes=_all(found, "device_write_bytes"),
    )


def _all(copies: Sequence[Line], key: str) -> int | None:
    """The sum over all copies; None where one of them is not known."""
    values = [copy.get(key) for copy in copies]
    return sum(value for value in values if value is not None) if values and None not in values else None
