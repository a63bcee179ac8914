"""Figures of a phase while it runs, summed over processes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Live = dict[str, Any]
"""The keys of ``tonnage._native.Phase.live``."""

_SUMS = ("bytes", "operations", "bandwidth_bytes_per_s", "running_tasks")
_LARGEST = ("elapsed_ns", "p99_ns", "recent_p99_ns")


def together(parts: Sequence[Live]) -> Live:
    """Sums; of latencies the largest, of medians one weighed by operations: what people look at, not what is kept."""
    found: Live = {key: sum(part[key] or 0 for part in parts) for key in _SUMS}
    found |= {key: max((part[key] or 0 for part in parts), default=0) for key in _LARGEST}
    weighed = sum((part["p50_ns"] or 0) * part["operations"] for part in parts)
    found["p50_ns"] = weighed // max(found["operations"], 1)
    heat: dict[tuple[int, int], int] = {}
    for part in parts:
        for low_ns, high_ns, count in part.get("heat", ()):
            heat[low_ns, high_ns] = heat.get((low_ns, high_ns), 0) + count
    found["heat"] = [[*bounds_ns, count] for bounds_ns, count in sorted(heat.items())]
    return found
