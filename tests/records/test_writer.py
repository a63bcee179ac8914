"""What survives a crash, and what does not count."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tonnage.errors import RecordError
from tonnage.records import Run, RunWriter

Append = Callable[..., dict[str, Any]]


def test_what_was_appended_reads_back(tmp_path: Path, append: Append) -> None:
    writer = RunWriter.create(tmp_path / "run", {"seed": 3})
    lines = [append(writer, trial) for trial in range(3)]
    run = Run.open(tmp_path / "run")
    assert run.trials() == lines
    assert [task["record"] for task in run.tasks()] == ["0000-write"] * 2 + ["0001-write"] * 2 + ["0002-write"] * 2
    assert run.manifest["seed"] == 3


def test_a_second_run_does_not_go_into_the_directory_of_a_first(tmp_path: Path) -> None:
    RunWriter.create(tmp_path, {"seed": 1})
    with pytest.raises(RecordError, match="already holds a run"):
        RunWriter.create(tmp_path, {"seed": 2})
    assert Run.open(tmp_path).manifest["seed"] == 1


@pytest.mark.parametrize("cut", [1, 10, 200])
def test_a_torn_last_line_goes_and_with_it_what_belongs_to_no_trial(tmp_path: Path, append: Append, cut: int) -> None:
    writer = RunWriter.create(tmp_path, {})
    first = append(writer, 0)
    append(writer, 1, errors=1)
    trials = tmp_path / "trials.jsonl"
    os.truncate(trials, trials.stat().st_size - cut)
    RunWriter.reopen(tmp_path)
    run = Run.open(tmp_path)
    assert run.trials() == [first]
    assert {task["record"] for task in run.tasks()} == {"0000-write"}
    assert run.events() == []
    assert trials.read_bytes().endswith(b"\n")


def test_copies_of_a_trial_that_does_not_count_go_with_it(tmp_path: Path, append: Append) -> None:
    writer = RunWriter.create(tmp_path, {})
    line = append(writer, 0)
    assert Run.open(tmp_path).copies() == [], "no command was run"
    numbers = dict.fromkeys(("task", "start_ns", "end_ns", "cpu_user_ns", "cpu_system_ns"), 1)
    copies = [{"trial": 1, "record": "0001-command", "copy": copy, **numbers} for copy in range(3)]
    writer.append_trial({**line, "trial": 1, "record": "0001-command"}, [], [], copies)
    assert Run.open(tmp_path).copies() == copies
    trials = tmp_path / "trials.jsonl"
    os.truncate(trials, trials.stat().st_size - 1)
    with (tmp_path / "copies.jsonl").open("ab") as file:
        file.write(b'{"trial": 1, "rec')
    RunWriter.reopen(tmp_path)
    assert Run.open(tmp_path).copies() == []


def test_reopening_a_whole_run_changes_no_byte(tmp_path: Path, append: Append) -> None:
    writer = RunWriter.create(tmp_path, {"seed": 1})
    append(writer, 0, errors=1)
    writer.append_events([{"record": None, "kind": "interrupted", "time_ns": 1}])
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir() if file.is_file()}
    RunWriter.reopen(tmp_path)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir() if file.is_file()} == before


def test_a_manifest_is_replaced_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = RunWriter.create(tmp_path, {"state": "running"})

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tonnage.records.writer.os.fsync", full)
    with pytest.raises(RecordError, match="No space"):
        writer.update_manifest(state="complete")
    assert json.loads((tmp_path / "manifest.json").read_text())["state"] == "running"
    assert not list(tmp_path.glob(".*tmp"))


def test_a_run_that_a_full_disk_refuses_leaves_no_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        if Path(f"/proc/self/fd/{descriptor}").readlink().suffix == ".tmp":
            raise OSError(28, "No space left on device")

    monkeypatch.setattr("tonnage.records.writer.os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        RunWriter.create(tmp_path / "runs/first", {})
    assert not list(tmp_path.iterdir())


def test_a_full_disk_leaves_no_half_line(tmp_path: Path, append: Append, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = RunWriter.create(tmp_path, {})
    append(writer, 0)
    before = (tmp_path / "tasks.jsonl").read_bytes()
    real = os.write

    def half(descriptor: int, data: memoryview) -> int:
        if len(data) < 100:
            raise OSError(28, "No space left on device")
        return real(descriptor, data[: len(data) // 2])

    monkeypatch.setattr("tonnage.records.writer.os.write", half)
    with pytest.raises(RecordError, match=r"tasks\.jsonl: No space .*the one record so far is kept"):
        append(writer, 1)
    assert (tmp_path / "tasks.jsonl").read_bytes() == before
