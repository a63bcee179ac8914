"""A simulated run, from its files: what the engine's side writes is what the page draws."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from typing import Any

import pytest
from tonnage.records import Run
from tonnage.report import write_report

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("tonnage._native") is None,
    reason="the engine (tonnage._native) is not built: run maturin develop --release, or ./tonnage once",
)

_STORAGE = "sim:knee=4,plateau=1GB/s,noise=5%,stall-every=2s,stall=1500ms,seed=4"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A probe of a storage with a knee at 4 tasks, and stalls."""
    path = tmp_path_factory.mktemp("simulated") / "run"
    options = [
        "--budget",
        "60s",
        "--max-tasks",
        "16",
        "--op",
        "write",
        "--seed",
        "1",
        "--no-report",
        "--out",
        str(path),
    ]
    command = [sys.executable, "-m", "tonnage.cli", "probe", _STORAGE, *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return Run.open(path)


@pytest.fixture(scope="module")
def exhibits(run: Run) -> dict[str, Any]:
    """The figures of its page."""
    page = write_report(run.path).read_text(encoding="utf-8")
    found = re.search(r'<script type="application/json" id="report-data">(.*?)</script>', page, re.DOTALL)
    assert found
    data: dict[str, Any] = json.loads(found[1])
    return data


def _record(caption: str) -> str:
    found = re.match(r"\d{4}-\w+", caption)
    assert found
    return found[0]


def test_the_series_of_each_trial_adds_up_to_its_bytes(run: Run, exhibits: dict[str, Any]) -> None:
    moved = {line["record"]: line["bytes"] for line in run.trials()}
    for variant in exhibits["trial"]["variants"]:
        series = variant["figures"][0]
        column = series["table"]["columns"].index("bytes")
        shown = sum(int(row[column]) for row in series["table"]["rows"])
        assert shown == moved[_record(series["caption"])]


def test_the_heat_map_of_each_trial_holds_all_its_operations(run: Run, exhibits: dict[str, Any]) -> None:
    operations = {line["record"]: line["operations"] for line in run.trials()}
    for variant in exhibits["trial"]["variants"]:
        heat = variant["figures"][1]
        assert heat["title"] == "Latency over time"
        assert sum(int(row[-1]) for row in heat["table"]["rows"]) == operations[_record(heat["caption"])]


def test_stalls_are_marked_where_nothing_moved(run: Run, exhibits: dict[str, Any]) -> None:
    lines = {line["record"]: line for line in run.trials()}
    shown = {_record(v["figures"][0]["caption"]): v["figures"][0] for v in exhibits["trial"]["variants"]}
    stalls = [event for event in run.events() if event["kind"] == "stall"]
    assert {stall["record"] for stall in stalls} <= set(shown), "a trial with a stall is not offered"
    quiet = 0
    for record in {stall["record"] for stall in stalls}:
        figure, line = shown[record], lines[record]
        for row in figure["table"]["rows"]:
            if row[-1].count(",") + 1 < line["setting"]["tasks"] or not _covered(row, figure["layout"]["shapes"]):
                continue
            quiet += 1
            assert row[3] == "0", f"{record}: all tasks are marked as stalled at {row[0]} s, and moved {row[3]} bytes"
    assert quiet, "the storage has stalls of all tasks, and none is marked"


def _covered(row: list[str], shapes: list[dict[str, Any]]) -> bool:
    """Whether a mark spans more than an interval, beyond what its tasks may differ by at either end."""
    return any(shape["x0"] < float(row[0]) - 0.1 and float(row[1]) + 0.1 < shape["x1"] for shape in shapes)


def test_the_heat_map_is_empty_where_nothing_ended(exhibits: dict[str, Any]) -> None:
    empty = 0
    for variant in exhibits["trial"]["variants"]:
        series, heat = variant["figures"][:2]
        trace = heat["traces"][0]
        for column, (start, end) in enumerate(zip(trace["x"], trace["x"][1:], strict=False)):
            if any(shape["x0"] < start and end < shape["x1"] - 0.1 for shape in series["layout"]["shapes"]):
                quiet = [
                    row[4]
                    for row in series["table"]["rows"]
                    if start - 0.001 <= float(row[0]) and float(row[1]) <= end + 0.001
                ]
                if quiet and set(quiet) == {"0"}:
                    empty += 1
                    assert {row[column] for row in trace["z"]} == {None}
    assert empty, "no stall is long enough to leave a column of the map empty"


def test_percentiles_come_from_the_histograms(run: Run, exhibits: dict[str, Any]) -> None:
    figure = exhibits["percentiles"]["variants"][0]["figures"][0]
    tried = {line["setting"]["tasks"] for line in run.trials() if line["purpose"] == "measure"}
    assert len(figure["traces"]) == len(tried)
    assert all(len(trace["y"]) > 6 for trace in figure["traces"])
    slowest = max(value for trace in figure["traces"] for value in trace["y"])
    assert slowest >= 1_000_000_000
