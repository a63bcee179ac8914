"""A small picture of each run in the list, from what stands in its files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tonnage.dashboard.run_list import Runs


def listed(place: Path) -> dict[str, dict[str, Any]]:
    """Every run of the list by its name."""
    told = Runs([place]).refresh([])
    rows = [*json.loads(told["underway"]), *json.loads(told["ended"])["runs"]]
    return {row["name"]: row for row in rows}


def run_of(place: Path, name: str, state: str, **more: Any) -> Path:
    run = place / name
    run.mkdir()
    manifest = {"format": "tonnage-run", "format_version": 1, "run_id": name, "state": state, **more}
    (run / "manifest.json").write_text(json.dumps(manifest))
    return run


def point(tasks: int, median: Any, **more: Any) -> dict[str, Any]:
    return {"op": "write", "group": "", "tasks": tasks, "metric": "bandwidth_bytes_per_s", "median": median, **more}


def test_a_run_that_has_ended_shows_throughput_by_tasks(tmp_path: Path) -> None:
    points = [point(4, 900_000_000), point(1, 250_000_000), point(8, 1_000_000_000), point(1, 5, op="read")]
    run_of(tmp_path, "ended", "complete", summary={"points": points})
    spark = listed(tmp_path)["ended"]["spark"]
    assert spark == {"heights": [0.25, 0.9, 1.0], "told": "write by up to 8 tasks: 250 MB/s to 1.00 GB/s"}


def test_a_run_under_way_shows_its_latest_trials_in_order(tmp_path: Path) -> None:
    run = run_of(tmp_path, "going", "running")
    rates = [100, 400, 200, 300]
    known = {
        "setting": {"op": "write", "tasks": 1},
        "phase": "write",
        "purpose": "measure",
        "operations": 1,
        "errors": 0,
    }
    lines = [
        {
            **known,
            "trial": n,
            "repetition": n,
            "block": n,
            "bytes": rate,
            "record": f"{n:04d}-write",
            "status": "failed" if n == 1 else "ok",
            "bandwidth_bytes_per_s": rate * 10**6,
        }
        for n, rate in enumerate(rates)
    ]
    (run / "trials.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    row = listed(tmp_path)["going"]
    assert row["underWay"], row["problem"]
    assert row["spark"] == {"heights": [0.333, 0.667, 1.0], "told": "the latest trials: 100 MB/s to 300 MB/s"}


@pytest.mark.parametrize(
    "points",
    [None, "many", [1, None], [point(1, "fast"), point(2, None)], [point(1, -5), point(2, True)], [point(1, 5)],
     [point(1, [9]), point(2, {})], [point(1, 0), point(2, 0)]],
)  # fmt: skip
def test_what_is_no_curve_is_no_picture_and_the_run_is_listed(tmp_path: Path, points: Any) -> None:
    run_of(tmp_path, "odd", "complete", summary={"points": points})
    row = listed(tmp_path)["odd"]
    assert row["spark"] is None and row["state"] == "complete", row["problem"]
