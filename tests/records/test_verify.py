"""A figure that was changed by hand is found, whichever it is."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tonnage.records import Run, verify_files
from tonnage.records.latency import summarise


def test_a_run_as_it_was_written_has_no_contradiction(simulated: Run) -> None:
    assert verify_files(simulated) == []


def change(run: Run, file: str, number: int, path: tuple[str, ...], value: Any) -> None:
    lines = [json.loads(line) for line in (run.path / file).read_text().splitlines()]
    inner = lines[number]
    for key in path[:-1]:
        inner = inner[key]
    assert inner[path[-1]] != value
    inner[path[-1]] = value
    (run.path / file).write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.mark.parametrize(
    ("file", "path", "says"),
    [
        ("trials.jsonl", ("bytes",), "bytes"),
        ("trials.jsonl", ("bandwidth_bytes_per_s",), "bandwidth_bytes_per_s"),
        ("trials.jsonl", ("last_done_ns",), "last_done_ns"),
        ("trials.jsonl", ("latency", "p99_ns"), "latency: p99_ns"),
        ("trials.jsonl", ("latency", "max_ns"), "latency: max_ns"),
        ("tasks.jsonl", ("bytes",), "in its series"),
        ("tasks.jsonl", ("latency", "p50_ns"), "latency of task 0: p50_ns"),
    ],
)
def test_a_changed_figure_is_a_contradiction(simulated: Run, file: str, path: tuple[str, ...], says: str) -> None:
    change(simulated, file, 0, path, 12345)
    assert any(says in text for text in verify_files(simulated))


@pytest.mark.parametrize(("room", "suffix"), [("series", "parquet"), ("latency", "hlog")])
def test_a_missing_file_is_a_contradiction(simulated: Run, room: str, suffix: str) -> None:
    (simulated.path / room / f"0001-write.{suffix}").unlink()
    assert [text for text in verify_files(simulated) if "missing" in text and "0001-write" in text]


def lines_of(run: Run, file: str) -> list[str]:
    return (run.path / file).read_text().splitlines(keepends=True)


@pytest.mark.parametrize(("file", "damage"), [("tasks.jsonl", "\n"), ("tasks.jsonl", "{]\n"), ("trials.jsonl", "\n")])
def test_a_line_that_cannot_be_read_accuses_no_other_record(simulated: Run, file: str, damage: str) -> None:
    lines = lines_of(simulated, file)
    (simulated.path / file).write_text("".join([lines[0], damage, *lines[1:]]))
    [said] = verify_files(simulated)
    assert f"{file}, line 2 is not JSON" in said


def test_of_a_line_that_was_damaged_its_own_record_is_told(simulated: Run) -> None:
    first, *rest = lines_of(simulated, "tasks.jsonl")
    (simulated.path / "tasks.jsonl").write_text("".join([first.replace("{", "[", 1), *rest]))
    damaged, *others = verify_files(simulated)
    assert "tasks.jsonl, line 1 is not JSON" in damaged
    assert others and all(text.startswith("0000-write: ") for text in others)


def test_where_a_whole_file_is_missing_no_record_is_accused(simulated: Run) -> None:
    (simulated.path / "tasks.jsonl").unlink()
    [said] = verify_files(simulated)
    assert "tasks.jsonl is missing" in said


def test_a_task_of_no_trial_is_a_contradiction(simulated: Run) -> None:
    file = simulated.path / "trials.jsonl"
    file.write_text(file.read_text().splitlines(keepends=True)[0])
    assert any("does not have" in text for text in verify_files(simulated))


def test_quantiles_follow_the_rules_of_the_histogram() -> None:
    pairs = [(100, 90), (200, 9), (4097, 1)]
    found = summarise(pairs)
    assert (found["count"], found["p50_ns"], found["p90_ns"], found["p99_ns"], found["max_ns"]) == (
        100,
        100,
        100,
        200,
        4097,
    )
    assert summarise([(4095, 1)])["min_ns"] == 4094, "above 2048 ns two values share a bucket"
    assert summarise([])["count"] == 0
