"""A run of very many trials: the page stays small, says what it leaves out, and the figures are of all of them."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
import recorded_sample
import report_sample as sample
from tonnage.analysis import analyse
from tonnage.records import Run, RunWriter, Tasks, Trials
from tonnage.records.tasks_jsonl import TaskLines
from tonnage.report import write_report
from tonnage.report.page import write_page

_ROWS = 50_000
_TASKS = (1, 2, 4, 8, 16)
_MOST_BYTES = 5_000_000


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """10,000 repetitions of each of five numbers of tasks; the lines of a few trials, with other figures."""
    place = tmp_path_factory.mktemp("large")
    written = recorded_sample.write(place / "few")
    few = {line["setting"]["tasks"]: line for line in written.trials()}
    working = {tasks: [task for task in written.tasks() if task["record"] == few[tasks]["record"]] for tasks in few}
    RunWriter.create(place / "run", sample.manifest())
    chance = random.Random(5)
    lines, tasks = ((place / "run" / f"{name}.jsonl").open("w") for name in ("trials", "tasks"))
    with lines as file, tasks:
        for trial in range(_ROWS):
            line = dict(few[_TASKS[trial % len(_TASKS)]])
            moved = int(line["bytes"] * chance.uniform(0.97, 1.03))
            line |= {"trial": trial, "record": f"{trial:04d}-write", "repetition": trial // len(_TASKS), "bytes": moved}
            odd_ns = trial % 997  # rates that are no whole numbers
            line |= {key: line[key] + odd_ns for key in ("elapsed_ns", "last_done_ns")}
            line["operations_per_s"] = line["operations"] * 10**9 // line["elapsed_ns"]
            line["bandwidth_bytes_per_s"] = moved * 10**9 // line["elapsed_ns"]
            line["latency"] = {**line["latency"], "max_ns": line["latency"]["max_ns"] + trial}
            file.write(json.dumps(line) + "\n")
            for task in working[line["setting"]["tasks"]] if trial % 5 == trial // 5 % 5 else ():
                task |= {"trial": trial, "record": line["record"]}
                tasks.write(json.dumps(task) + "\n")
    return Run.open(place / "run")


def test_the_page_is_small_and_says_how_many_repetitions_it_draws(large: Run) -> None:
    page = write_report(large.path)
    assert page.stat().st_size < _MOST_BYTES
    text = page.read_text(encoding="utf-8")
    assert "1,250 of 50,000 repetitions are drawn" in text
    assert "and 9,950 more" in text


class Counting:
    """Columns that count the maps they make (a line asked for, and each object of a column), and all other objects."""

    def __init__(self, columns: Any) -> None:
        self.columns, self.maps, self.values = columns, 0, 0

    def __len__(self) -> int:
        return len(self.columns)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.columns, name)

    def row(self, row: int) -> Any:
        self.maps += 1
        return self.columns.row(row)

    def column(self, rows: bytes, *path: str) -> list[Any]:
        values: list[Any] = self.columns.column(rows, *path)
        self.maps += len({id(value) for value in values if isinstance(value, dict)})
        self.values += len(values)
        return values


def test_of_very_many_lines_hardly_any_becomes_a_map(large: Run) -> None:
    native = pytest.importorskip("tonnage._native", reason="the engine is not built: run make build")
    columns, of_tasks = (Counting(native.Rows.read(str(large.path / f"{name}.jsonl"))) for name in ("trials", "tasks"))
    trials, tasks = Trials(columns), Tasks(TaskLines(of_tasks))
    assert 5_000 < len(tasks) < len(of_tasks)
    write_page(large, analyse(large, trials, tasks), trials, tasks)
    assert 0 < columns.maps < 500 and of_tasks.maps < 500
    # Those of rates, records and status, and when each trial began, which is a text.
    assert columns.values <= 6 * _ROWS + 1000, "whoever looks at numbers of all lines takes them as columns"
    assert of_tasks.values == 0


def test_every_repetition_counts_and_the_interval_is_as_narrow_as_they_make_it(large: Run) -> None:
    points = analyse(large).points
    assert [point.repetitions for point in points] == [_ROWS // len(_TASKS)] * len(_TASKS)
    for point in points:
        assert point.low <= point.median <= point.high < 1.002 * point.low


def test_the_lines_are_the_same_whoever_reads_them(large: Run) -> None:
    kept, plain = large.each_trial(), large.trials()
    assert len(kept) == len(plain) == _ROWS
    for number in (0, 1, _ROWS // 2, _ROWS - 1):
        assert {key: kept[number][key] for key in kept[number]} == plain[number]
    assert [line["trial"] for line in kept.where_set("repetition")] == list(range(len(_TASKS), _ROWS))
    assert len(kept.where("status", "ok")) == _ROWS
    assert not kept.where("status", "failed")
    assert list(kept.columns("trial", "nothing"))[7] == (7, None)
    assert kept.by_record["0009-write"]["trial"] == 9
    assert kept.not_integers(lambda key: key == "bytes") == []
