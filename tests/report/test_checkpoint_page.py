"""What a page shows of checkpoints besides their snapshots: rounds over time, and the trouble that they met."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tonnage.analysis import analyse
from tonnage.cli import main
from tonnage.records import Run
from tonnage.report.page_data import Source
from tonnage.report.sections.trials import exhibits


@pytest.fixture
def run(tmp_path: Path) -> Run:
    file = tmp_path / "campaign.toml"
    file.write_text(
        'target = "memory:"\n[repeat]\ncount = 1\n[workload]\nkind = "checkpoint"\ntasks = 2\n'
        'transfer_size = "4KiB"\ntransfers = 8\nrounds = 2\n'
    )
    assert main(["run", str(file), "--out", str(tmp_path / "run"), "--no-report"]) == 0
    return Run.open(tmp_path / "run")


def captions(run: Run) -> dict[str, str]:
    """Of the first picture of each trial that the page offers, by what it is called."""
    (exhibit,) = exhibits(analyse(run), Source.of(run))
    return {variant.label.partition(",")[0]: variant.figures[0].caption for variant in exhibit.variants}


def test_attempts_of_a_round_are_events_on_its_time_series(run: Run) -> None:
    assert set(captions(run)) == {"checkpoint", "restart"}, "what removes snapshots moves nothing"
    line = next(line for line in run.trials() if line["phase"] == "checkpoint")
    trouble = {"trial": 0, "record": line["record"], "time_ns": line["first_start_ns"], "kind": "retry", "task": 1}
    with (run.path / "events.jsonl").open("a") as events:
        events.write(json.dumps(trouble | {"duration_ns": 10**9, "attempts": 16, "message": "write failed"}) + "\n")
    told = captions(Run.open(run.path))
    assert "16 attempts of 1 task failed and were tried again (write failed)" in told["checkpoint"]
    assert "tried again" not in told["restart"]
    (exhibit,) = exhibits(analyse(run), Source.of(Run.open(run.path)))
    assert exhibit.variants[exhibit.default].label.startswith("checkpoint"), "what met trouble is looked at first"


def test_the_second_promise_says_how_durable_rounds_were_and_what_a_restart_read(run: Run) -> None:
    (promise,) = [promise for promise in analyse(run).promises if promise.number == 2]
    assert promise.kept and promise.evidence.startswith("writes: fsync; reads: cache ")
