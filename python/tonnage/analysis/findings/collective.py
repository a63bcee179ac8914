"""Findings about collective transfers of MPI-IO."""

from __future__ import annotations

from collections.abc import Iterator

from tonnage.analysis.compare.rate_ratio import SLOWER, ratio
from tonnage.analysis.findings.finding_rules import Evidence, finding, subject
from tonnage.analysis.results import Finding, Point
from tonnage.units import rate_text, share, three_digits, time_text


@finding("collective-costs")
def collective_costs(evidence: Evidence) -> Iterator[Finding]:
    alone = {_but_collective(point): point for point in evidence.points if not point.setting.get("collective")}
    for point in evidence.points:
        base = alone.get(_but_collective(point)) if point.setting.get("collective") else None
        if base is None:
            continue
        seen = ratio(_elapsed(evidence, point), _elapsed(evidence, base))
        if seen.verdict != SLOWER:
            continue
        hints = evidence.line(point.records[0]).get("hints") or {}
        hints_text = ", ".join(f"{name} {hints[name]}" for name in ("cb_nodes", "cb_buffer_size") if name in hints)
        yield Finding(
            "collective-costs",
            subject(point.op, point.group, point.tasks),
            f"collective transfers took {three_digits(seen.ratio)} times as long as independent ones "
            f"({share(seen.confidence)} interval {three_digits(seen.low)} to {three_digits(seen.high)}): "
            f"{rate_text(point.bandwidth_bytes_per_s)} against {rate_text(base.bandwidth_bytes_per_s)}, and half of "
            f"the operations took {time_text(point.latency.get('p50_ns', 0))} or more against "
            f"{time_text(base.latency.get('p50_ns', 0))}" + (f"; {hints_text}" if hints_text else ""),
            "Each collective transfer sends data to the aggregators and waits for the slowest task. It pays where "
            "tasks write small pieces beside each other: use larger transfers, more aggregators (cb_nodes), or no "
            "collective buffering (romio_cb_write = disable).",
        )


def _but_collective(point: Point) -> tuple[str, str]:
    """What two points have in common that differ in nothing else."""
    return point.op, repr(sorted((key, value) for key, value in point.setting.items() if key != "collective"))


def _elapsed(evidence: Evidence, point: Point) -> list[float]:
    return [float(elapsed) for record in point.records if (elapsed := evidence.line(record).get("elapsed_ns"))] or [1.0]
