"""The ``--json`` object: what a program wants to know of a run. ``summary.schema.json`` is its schema."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tonnage.analysis.results import Analysis, LoadLine, Point


def summary(analysis: Analysis, report_path: str | Path | None) -> dict[str, Any]:
    """The object; ``report_path`` is None where no report was written."""
    return {
        "run": analysis.run,
        "report": None if report_path is None else str(report_path),
        "load_lines": [_load_line(line) for line in analysis.load_lines],
        "points": [_point(point) for point in analysis.points],
        "ceilings": [dict(ceiling) for ceiling in analysis.ceilings],
        "findings": [asdict(finding) for finding in analysis.findings],
        "cost": dict(analysis.cost) if analysis.cost else None,
    }


def schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of :func:`summary`."""
    text = Path(__file__).with_name("summary.schema.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def _load_line(line: LoadLine) -> dict[str, Any]:
    return asdict(line)


def _point(point: Point) -> dict[str, Any]:
    return {
        "op": point.op,
        "tasks": point.tasks,
        "transfer_size": point.transfer_size,
        "group": point.group,
        "repetitions": point.repetitions,
        "records": list(point.records),
        "median": round(point.median),
        "low": round(point.low),
        "high": round(point.high),
        "confidence": point.confidence,
        "operations_per_s": round(point.operations_per_s),
        "latency": dict(point.latency),
        "cpu_ns_per_gib": point.cpu_ns_per_gib,
        "cache_state": point.cache_state,
        "cache_share": point.cache_device_share,
    }
