"""A run of very many trials: the page stays small, says what it leaves out, and the figures are of all of them."""

from __future__ import annotations

import json
import random

import pytest
import recorded
import report_sample as sample
from tonnage.analysis import analyse
from tonnage.records import Run, RunWriter
from tonnage.report import write_report

_ROWS = 50_000
_TASKS = (1, 2, 4, 8, 16)
_MOST_BYTES = 5_000_000


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """10,000 repetitions of each of five numbers of tasks; the lines of a few trials, with other figures."""
    place = tmp_path_factory.mktemp("large")
    few = {line["setting"]["tasks"]: line for line in recorded.write(place / "few").trials()}
    RunWriter.create(place / "run", sample.manifest())
    chance = random.Random(5)
    with (place / "run" / "trials.jsonl").open("w") as file:
        for trial in range(_ROWS):
            line = dict(few[_TASKS[trial % len(_TASKS)]])
            moved = int(line["bytes"] * chance.uniform(0.97, 1.03))
            line |= {"trial": trial, "record": f"{trial:04d}-write", "repetition": trial // len(_TASKS), "bytes": moved}
            line["bandwidth_bytes_per_s"] = moved * 10**9 // line["elapsed_ns"]
            file.write(json.dumps(line) + "\n")
    return Run.open(place / "run")


def test_the_page_is_small_and_says_how_many_repetitions_it_draws(large: Run) -> None:
    page = write_report(large.path)
    assert page.stat().st_size < _MOST_BYTES
    text = page.read_text(encoding="utf-8")
    assert "2,000 of 50,000 repetitions are drawn" in text
    assert "and 9,950 more" in text


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
    assert [line["trial"] for line in kept.having("repetition")] == list(range(len(_TASKS), _ROWS))
    assert len(kept.where("status", "ok")) == _ROWS
    assert not kept.where("status", "failed")
    assert list(kept.columns("trial", "nothing"))[7] == (7, None)
    assert kept.by_record["0009-write"]["trial"] == 9
    assert kept.not_integers(lambda key: key == "bytes") == []
