"""Run directories as plain text, after ``docs/record-format.md`` alone: nothing of the package writes them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tonnage.cli import main

SECOND = 1_000_000_000
MIB = 1 << 20


def setting(op: str = "write", tasks: int = 4, **more: Any) -> dict[str, Any]:
    """Of a stream of transfers of 1 MiB."""
    return {"op": op, "tasks": tasks, "transfer_size": MIB, "block_size": 64 * MIB, "sync": "fsync", **more}


def trial(
    number: int, started: str, rate: int, factors: Mapping[str, Any], begin_ns: int | None = None, **more: Any
) -> dict[str, Any]:
    """A trial of one second that moved ``rate`` bytes."""
    begin_ns = 10 * number * SECOND if begin_ns is None else begin_ns
    line = {
        "trial": number,
        "record": f"{number:04d}-{factors['op']}",
        "setting": dict(factors),
        "repetition": number,
        "block": number,
        "phase": factors["op"],
        "purpose": "measure",
        "status": "ok",
        "reason": None,
        "stop_reason": "time",
        "started": started,
        "first_start_ns": begin_ns,
        "last_start_ns": begin_ns,
        "first_done_ns": begin_ns + SECOND,
        "last_done_ns": begin_ns + SECOND,
        "elapsed_ns": SECOND,
        "bytes": rate,
        "operations": rate // MIB,
        "errors": 0,
        "retries": 0,
        "bandwidth_bytes_per_s": rate,
        "operations_per_s": rate // MIB,
        "latency": None,
        "cpu_user_ns": 0,
        "cpu_system_ns": 0,
        "cache": None,
        "durability": "fsync",
        "direct": True,
        "wrapped": False,
        "verify": None,
        "first_error": None,
        "facts": {},
        "notes": [],
    }
    return line | more


def task(line: Mapping[str, Any]) -> dict[str, Any]:
    """One task that did all of a trial."""
    kept = ("trial", "record", "phase", "bytes", "operations", "errors")
    steps = dict.fromkeys(("open_ns", "transfer_ns", "sync_ns", "close_ns", "damaged_operations"), 0)
    times = {"start_ns": line["first_start_ns"], "end_ns": line["last_done_ns"]}
    own = {"task": 0, "host": "node-1", "latency": None}
    return {**{key: line[key] for key in kept}, **steps, **times, **own}


def write(
    path: Path,
    trials: Iterable[Mapping[str, Any]],
    events: Iterable[Mapping[str, Any]] = (),
    target: Mapping[str, Any] | None = None,
    **manifest: Any,
) -> Path:
    """A run that is complete."""
    path.mkdir(parents=True)
    lines = list(trials)
    where = {"name": "scratch", "uri": "/scratch", "kind": "posix", "path": "/scratch", "file_system": "ext4"}
    whole = {
        "format": "tonnage-run",
        "format_version": 1,
        "tonnage_version": "0.1.0",
        "run_id": f"by-hand-{path.name}",
        "created": lines[0]["started"] if lines else "2026-03-02T08:00:00Z",
        "state": "complete",
        "directory": "/",
        "command_line": ["tonnage", "run"],
        "campaign": {"name": path.name},
        "campaign_text": None,
        "seed": 1,
        "target": where | dict(target or {}),
        "host": {"hostname": "node-1", "cpu_count": 8},
        "ceilings": [],
        "cost": None,
    }
    (path / "manifest.json").write_text(json.dumps(whole | manifest))
    for name, rows in (("trials", lines), ("tasks", map(task, lines)), ("events", events)):
        (path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def figures(page: Path) -> dict[str, Any]:
    """The figures of a page, by section."""
    found = re.search(r'<script type="application/json" id="report-data">(.*?)</script>', page.read_text(), re.DOTALL)
    assert found
    data: dict[str, Any] = json.loads(found[1])
    return data


def reported(run: Path) -> dict[str, Any]:
    """The figures of the page that ``tonnage report RUN`` writes."""
    assert main(["report", str(run)]) == 0
    return figures(run / "report.html")
