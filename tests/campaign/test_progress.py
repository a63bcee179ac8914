"""What a run tells of itself while it goes on, and that it stops telling."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tonnage.campaign import observer as progress
from tonnage.campaign.campaign_file import build_campaign
from tonnage.campaign.observer import Heat, Observer, Samples, Snapshots
from tonnage.campaign.run_lifecycle import run_campaign
from tonnage.records.measuring_process import PROGRESS, read_progress_file

pytest.importorskip("tonnage._native", reason="the engine is not built: run make build")


class Looking(Observer):
    """Reads the file whenever it hears something."""

    def __init__(self) -> None:
        self.run = Path()
        self.told: list[Mapping[str, Any]] = []
        self.recorded_lines = 0
        self.has_ended = False

    def started(self, path: Path, *_: object) -> None:
        self.run = path

    def tick(self, *_: object) -> None:
        found = read_progress_file(self.run)
        assert found is not None
        self.told.append(found)

    def recorded(self, *_: object) -> None:
        self.recorded_lines += 1

    def ended(self) -> None:
        self.has_ended = True


def test_a_run_tells_its_step_and_samples_while_it_goes_on_and_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "_EVERY_NS", 0)
    workload = {"tasks": [2], "op": ["write"], "block_size": "1MiB", "time_limit": "600ms", "wrap": True}
    campaign = build_campaign({"target": "null:", "workload": workload}, "c.toml")
    looking = Looking()
    outcome = run_campaign(campaign, text=None, command_line=[], out=str(tmp_path / "run"), observer=looking)
    assert outcome.state == "complete"
    told = looking.told[-1]
    assert (told["job"], told["pid"], told["step"]["phase"], told["step"]["setting"]["tasks"]) == (
        None,
        os.getpid(),
        "write",
        2,
    )
    assert told["samples"][-1][:2] == [told["live"]["elapsed_ns"], told["live"]["bytes"]]
    assert len(told["samples"]) > 1
    # Each task counts an operation before its latency, and both are read while it goes on.
    assert sum(told["heat"]["count"]) >= told["live"]["operations"] - 2 > 0 and "heat" not in told["live"]
    assert told["heat"]["end_ns"][-1] == told["live"]["elapsed_ns"]
    assert looking.recorded_lines and looking.has_ended
    assert not [path for path in (tmp_path / "run").iterdir() if PROGRESS in path.name]


def test_it_is_written_once_a_second_at_most(tmp_path: Path) -> None:
    snapshots = Snapshots(tmp_path, None)
    first = (tmp_path / PROGRESS).stat().st_ino
    for number in range(20):
        snapshots.tick({"elapsed_ns": number})
    assert (tmp_path / PROGRESS).stat().st_ino == first


def test_the_last_word_of_a_job_stays(tmp_path: Path) -> None:
    snapshots = Snapshots(tmp_path, 3)
    snapshots.ended()
    snapshots.close(0, None)
    assert (read_progress_file(tmp_path) or {})["ended"] == 0


def test_samples_stay_few_and_are_spread_over_the_whole_phase() -> None:
    samples = Samples()
    for number in range(5_000):
        samples.add({"elapsed_ns": number})
    kept = [one[0] for one in samples.all()]
    assert 100 < len(kept) <= 301
    assert kept[0] == 0 and kept[-1] > 4_900
    steps = {later - earlier for earlier, later in itertools.pairwise(kept)}
    assert len(steps) == 1


@pytest.mark.parametrize("ticks", [1, 40, 41, 42, 1_000])
def test_the_heat_map_stays_small_and_counts_every_operation_once(ticks: int) -> None:
    heat = Heat()
    for number in range(1, ticks + 1):
        heat.add({"elapsed_ns": 100 * number, "heat": [(8, 10, 3 * number), *([(64, 80, 1)] if number > 20 else [])]})
    found = heat.columns()
    intervals = sorted(set(zip(found["start_ns"], found["end_ns"], strict=True)))
    assert intervals[0][0] == 0 and intervals[-1][1] == 100 * ticks and len(intervals) <= 41
    assert all(one[1] == later[0] for one, later in itertools.pairwise(intervals))
    fast, slow = (
        [count for low, count in zip(found["low_ns"], found["count"], strict=True) if low == bound] for bound in (8, 64)
    )
    assert (sum(fast), sum(slow)) == (3 * ticks, ticks > 20) and 0 not in fast


def test_a_phase_of_which_nothing_was_seen_has_an_empty_heat_map() -> None:
    assert Heat().columns() == {name: [] for name in ("start_ns", "end_ns", "low_ns", "high_ns", "count")}


@pytest.mark.parametrize("text", ["", "[1]", "{", "[" * 100_000, json.dumps("x")])
def test_a_file_that_is_none_of_a_run_tells_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / PROGRESS).write_text(text)
    assert read_progress_file(tmp_path) is None


def test_a_pipe_in_its_place_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / PROGRESS)
    assert read_progress_file(tmp_path) is None
