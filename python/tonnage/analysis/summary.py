"""The ``--json`` object: the results of a run for programs. ``schemas/summary.schema.json`` is its schema."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tonnage.analysis.company_costs import CompanyCost
from tonnage.analysis.findings.undoing import undone_by
from tonnage.analysis.load_line.accelerators import Trained
from tonnage.analysis.load_line.users import Served
from tonnage.analysis.results import Devices, Divided, Finding, Intervals, LoadLine, Point, Surface
from tonnage.analysis.run_analysis import Analysis
from tonnage.analysis.snapshots import SnapshotCost
from tonnage.analysis.statistics.fixed_cost import Change, Cost
from tonnage.records.line_types import Json
from tonnage.units import BANDWIDTH, OPERATIONS

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


_ENDS = ("low", "high", "low_ns", "high_ns", "tasks_low", "tasks_high", "plateau_low", "plateau_high")


def plain(result: DataclassInstance) -> dict[str, Any]:
    """``asdict``, with None for both ends of each interval whose ``confidence`` is 0."""
    found: dict[str, Any] = without_ends(asdict(result))
    return found


def without_ends(value: Any) -> Any:
    """The same with None for both ends of an interval whose ``confidence`` is 0, at any depth."""
    if isinstance(value, Mapping):
        unknown = value.get("confidence") == 0
        return {key: None if unknown and key in _ENDS else without_ends(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [without_ends(inner) for inner in value]
    return value


def summary(analysis: Analysis, report_path: str | Path | None) -> dict[str, Any]:
    """The object; ``report_path`` is None where no report was written."""
    found: dict[str, Any] = {
        "run": analysis.run,
        "report": None if report_path is None else str(report_path),
        "load_lines": [_load_line(line, analysis) for line in analysis.load_lines],
        "points": [_point(point) for point in analysis.points],
        "ceilings": [dict(ceiling) for ceiling in analysis.ceilings],
        "findings": [_finding(finding, analysis) for finding in analysis.findings],
        "cost": dict(analysis.cost) if analysis.cost else None,
    }
    if analysis.state != "complete":
        found["state"] = analysis.state
    # Only where there are any: a summary that an older version kept says nothing of them.
    if analysis.comparisons:
        found["comparisons"] = [asdict(comparison) for comparison in analysis.comparisons]
    if analysis.surfaces:
        found["surfaces"] = [_surface(surface) for surface in analysis.surfaces]
    if analysis.trained:
        found["training"] = list(map(_trained, analysis.trained))
    if analysis.served:
        found["kv_cache"] = list(map(_served, analysis.served))
    if analysis.company:
        found["company"] = [dict(_company(cost)) for cost in analysis.company]
    if analysis.snapshots:
        found["snapshots"] = [_snapshots(cost) for cost in analysis.snapshots]
    if analysis.devices:
        found["devices"] = [_devices(held) for held in analysis.devices]
    if analysis.divided:
        found["normalised"] = [_divided(divided) for divided in analysis.divided]
    if analysis.balances:
        found["balances"] = [
            {**(told := asdict(balance)), "parts": list(told["parts"])} for balance in analysis.balances
        ]
    return dict(without_ends(found))


NEW_KEYS = frozenset({"state", "undone_by", "undoes_answer"})
"""Keys that are there only where they have a value; summaries of older versions have none of them."""


def schema(name: str = "summary") -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of what ``--json`` prints, a file of this directory: ``summary`` (a run),
    ``compare``, ``history``, ``crossover``, ``project`` or ``storage``. Schemas that another one names are in it."""
    text = (Path(__file__).parent / "schemas" / f"{name}.schema.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    if name == "storage":
        for part in ("summary", "history"):
            loaded["$defs"][part] = {"$id": part, **schema(part)}
    return loaded


def _finding(finding: Finding, analysis: Analysis) -> dict[str, Any]:
    undoes = any(doubt.finding is finding for doubt in analysis.doubts)
    return {**asdict(finding), **({"undoes_answer": True} if undoes else {})}


def _load_line(line: LoadLine, analysis: Analysis) -> dict[str, Any]:
    found = asdict(line)
    if codes := dict.fromkeys(one.code for one in undone_by(analysis.doubts, line.op, line.group)):
        found["undone_by"] = list(codes)
    found["latency_lines"] = list(found["latency_lines"])
    if not line.latency_lines:
        del found["latency_lines"]  # a summary that an older version kept says nothing of them
    if line.metric == OPERATIONS:
        for key in ("plateau_operations_per_s", "plateau_low", "plateau_high"):
            found[key] = _operations(found[key]) if found[key] is not None else None
    return found


def _surface(surface: Surface) -> dict[str, Any]:
    """The whole of it: what the map of the report is drawn from."""
    return {
        **asdict(surface),
        "sizes": [asdict(one) for one in surface.sizes],
        "tasks": list(surface.tasks),
        "rates_bytes_per_s": [list(row) for row in surface.rates_bytes_per_s],
    }


def _trained(trained: Trained) -> Json:
    points = [
        {**asdict(one), "utilisations": list(one.utilisations), "records": list(one.records)} for one in trained.points
    ]
    return {**asdict(trained), "points": points}


def _served(served: Served) -> Json:
    points = [
        {**asdict(one), "p95_each_ns": list(one.p95_each_ns), "records": list(one.records)} for one in served.points
    ]
    return {**asdict(served), "points": points}


def _company(cost: CompanyCost) -> Json:
    return {**asdict(cost), "at_offered_rate": cost.at_offered_rate}


def _point(point: Point) -> dict[str, Any]:
    found = {
        "op": point.op,
        "kind": point.kind,
        "workload": point.workload,
        "metric": point.metric,
        "tasks": point.tasks,
        "transfer_size": point.transfer_size,
        "group": point.group,
        "repetitions": point.repetitions,
        "records": list(point.records),
        "median": _rate(point.median, point),
        "low": _rate(point.low, point),
        "high": _rate(point.high, point),
        "confidence": point.confidence,
        "operations_per_s": _operations(point.operations_per_s),
        "elapsed_ns": point.elapsed_ns,
        "latency": dict(point.latency),
        "latency_intervals": _intervals(point.latency_intervals),
        "cpu_ns_per_gib": point.cpu_ns_per_gib,
        "cache_state": point.cache_state,
        "cache_share": point.cache_device_share,
        "cache_ratio": point.cache_device_ratio,
        "parts": [asdict(part) for part in point.parts],
        "follow": asdict(point.follow) if point.follow else None,
        "copies": asdict(point.copies) if point.copies else None,
        "stopped": point.stopped,
    }
    if point.workflow:
        found["workflow"] = asdict(point.workflow)
    return found


def _intervals(intervals: Intervals) -> dict[str, Any]:
    return {key: None if bounds is None else asdict(bounds) for key, bounds in intervals.items()}


def _devices(found: Devices) -> dict[str, Any]:
    parts = [
        {
            **asdict(part),
            "rates": [round(rate) for rate in part.rates],
            "median_bytes_per_s": None if part.median_bytes_per_s is None else round(part.median_bytes_per_s),
        }
        for part in found.parts
    ]
    return {**asdict(found), "parts": parts}


def _divided(found: Divided) -> dict[str, Any]:
    point = found.point
    return {
        "op": point.op,
        "workload": point.workload,
        "group": point.group,
        "tasks": point.tasks,
        "parts": [
            asdict(part) if point.confidence else {**asdict(part), "low": None, "high": None}
            for part in found.parts
            if part is not None
        ],
    }


def _snapshots(found: SnapshotCost) -> dict[str, Any]:
    """Times are whole nanoseconds; a verdict beside each interval."""
    return {
        "means": found.means,
        "group": found.group,
        "cost": _cost(found.cost),
        "call_ns": found.call_ns,
        "with_tasks": _change(found.with_tasks),
        "with_bytes": _change(found.with_bytes),
        "curves": [
            {"tasks": tasks, "transfer_size": transfer, "cost": _cost(cost)} for tasks, transfer, cost in found.curves
        ],
        "rounds": [
            {
                "tasks": rounds.tasks,
                "transfer_size": rounds.transfer_size,
                "bytes": rounds.bytes,
                "without_ns": round(rounds.without_ns),
                "with_ns": round(rounds.with_ns),
                "share": round(rounds.share, 6),
                "cost": _cost(rounds.cost),
            }
            for rounds in found.rounds
        ],
    }


def _cost(cost: Cost) -> dict[str, Any]:
    return {
        **{key: round(getattr(cost, key)) for key in ("cost_ns", "low_ns", "high_ns")},
        "confidence": cost.confidence,
        "verdict": cost.verdict,
        "repetitions_to_show": cost.repetitions_to_show,
        "shown_from_ns": None if cost.shown_from_ns is None else round(cost.shown_from_ns),
    }


def _change(change: Change | None) -> dict[str, Any] | None:
    if change is None:
        return None
    numbers = {key: round(getattr(change, key)) for key in ("per_unit_ns", "low_ns", "high_ns")}
    return {**numbers, "confidence": change.confidence, "verdict": change.verdict}


def _rate(value: float, point: Point) -> float:
    """Bytes per second are whole; operations per second may be few."""
    return round(value) if point.metric == BANDWIDTH else _operations(value)


def _operations(value: float) -> float:
    return round(value) if value >= 1000 else round(value, 6)
