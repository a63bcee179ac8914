"""Figures of a phase while it runs, summed over processes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict


class Live(TypedDict, total=False):
    """As ``tonnage._native.Phase.live`` has them; latencies are None where there is no operation."""

    elapsed_ns: int
    bytes: int
    operations: int
    bandwidth_bytes_per_s: int
    running_tasks: int
    p50_ns: int | None
    p99_ns: int | None
    recent_p99_ns: int | None
    heat: list[list[int]]
    """``[low_ns, high_ns, operations]`` of each bucket of latency that has any."""
    failed: bool
    """An operation failed here, of one process."""


def together(parts: Sequence[Live]) -> Live:
    """Sums of counts and rates, the largest of latencies, and of medians the mean weighted by operations. For display
    only; records do not use it."""
    operations = sum(part["operations"] for part in parts)
    heat: dict[tuple[int, int], int] = {}
    for part in parts:
        for low_ns, high_ns, count in part.get("heat", ()):
            heat[low_ns, high_ns] = heat.get((low_ns, high_ns), 0) + count
    return {
        "bytes": sum(part["bytes"] for part in parts),
        "operations": operations,
        "bandwidth_bytes_per_s": sum(part["bandwidth_bytes_per_s"] or 0 for part in parts),
        "running_tasks": sum(part["running_tasks"] for part in parts),
        "elapsed_ns": max((part["elapsed_ns"] for part in parts), default=0),
        "p50_ns": sum((part["p50_ns"] or 0) * part["operations"] for part in parts) // max(operations, 1),
        "p99_ns": max((part["p99_ns"] or 0 for part in parts), default=0),
        "recent_p99_ns": max((part["recent_p99_ns"] or 0 for part in parts), default=0),
        "heat": [[*bounds_ns, count] for bounds_ns, count in sorted(heat.items())],
    }
