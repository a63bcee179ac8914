"""What a point says besides its rate, by kind of workload: parts of a mix, readers of a tail, copies of a command."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tonnage.analysis.results import Copies, Follow, Part
from tonnage.records import Run, Trials
from tonnage.records.latency import summarise
from tonnage.records.rows import exact_sum

if TYPE_CHECKING:
    from tonnage.records.rows import Numbers

Line = Mapping[str, Any]


def median_latency(latencies: Sequence[Mapping[str, int]]) -> dict[str, int]:
    """Several latency summaries as one where there is no histogram to add up: the median of each quantile. What one of
    them does not know (another tool measured it) is left out."""
    return medians(Trials.of([{"latency": latency} for latency in latencies]).integers("latency"))


def medians(latencies: Mapping[str, Numbers]) -> dict[str, int]:
    """The same of the columns of latency summaries."""
    import numpy as np

    # numpy sorts many times as fast as the median does.
    ways: dict[str, Callable[[Numbers], float]] = {"count": exact_sum, "min_ns": np.min, "max_ns": np.max}
    return {key: int(ways.get(key, _median)(column)) for key, column in latencies.items()}


def _median(column: Numbers) -> float:
    import numpy as np

    middle = np.sort(column)[(len(column) - 1) // 2 : len(column) // 2 + 1]
    return float(statistics.median(middle.tolist()))


def parts_of(lines: Trials) -> tuple[Part, ...]:
    """Rates and latencies of each kind of operation; empty where a phase does only one."""
    parts: dict[str, list[Line]] = defaultdict(list)
    for told in lines.having("parts").column("parts"):
        for part in told:
            parts[part["op"]].append(part)
    elapsed_ns = sum(lines.column("elapsed_ns")) if parts else 0
    return tuple(
        Part(
            op,
            sum(part["bytes"] for part in found) * 1e9 / elapsed_ns,
            sum(part["operations"] for part in found) * 1e9 / elapsed_ns,
            median_latency([part["latency"] for part in found]),
        )
        for op, found in parts.items()
    )


def follow_of(run: Run, lines: Trials) -> Follow | None:
    """How readers followed the writer; None where a phase has no readers."""
    found = lines.having("follow").column("follow")
    if not found:
        return None
    return Follow(
        readers=found[0]["readers"],
        bandwidth_bytes_per_s=sum(follow["bytes"] for follow in found) * 1e9 / sum(lines.column("elapsed_ns")),
        lag=_lag(run, lines.records) or median_latency([follow["lag"] for follow in found]),
        max_lag_bytes=max(follow["max_lag_bytes"] for follow in found),
        waits=sum(follow["waits"] for follow in found),
    )


def _lag(run: Run, records: Sequence[str]) -> dict[str, int] | None:
    """Quantiles over the lag of all readers of all repetitions; None without their histograms."""
    merged: dict[int, int] = defaultdict(int)
    for record in records:
        for value, count in run.lag(record) or ():
            merged[value] += count
    return summarise(sorted(merged.items())) if merged else None


def copies_of(run: Run, lines: Trials) -> Copies | None:
    """Processor time and device bytes of all copies; None where a phase runs no command."""
    if lines[0]["setting"].get("kind") != "command":
        return None
    records = set(lines.records)
    found = [copy for copy in run.copies() if copy["record"] in records]
    host = run.manifest.get("host") or {}
    processors = host.get("cpus_allowed") or host.get("cpu_count")
    user_ns, system_ns = _all(found, "cpu_user_ns"), _all(found, "cpu_system_ns")
    cpu_ns = None if user_ns is None or system_ns is None else user_ns + system_ns
    elapsed_ns = sum(lines.column("elapsed_ns"))
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
