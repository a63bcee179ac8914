"""Sections, tables and lag of every kind of workload, from a run of all of them on simulated storages."""

from __future__ import annotations

import dataclasses
import io
import json
import re
from itertools import pairwise
from typing import Any

import pytest
from rich.console import Console

pytest.importorskip("tonnage._native", reason="the engine is not built: run make build")

import kinds_sample
from tonnage import units
from tonnage.analysis import analyse
from tonnage.records import Run
from tonnage.report import print_summary
from tonnage.report.page import render
from tonnage.report.page_data import Source
from tonnage.report.sections import tail
from tonnage.report.sections.tail import lag_of, tracks_of

_CURVE = ["Throughput by number of tasks", "Latency by number of tasks", "Latency against throughput"]
"""Figures of a curve of several points whose latencies are known."""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return kinds_sample.write(tmp_path_factory.mktemp("kinds") / "run")


@pytest.fixture(scope="module")
def exhibits(run: Run) -> dict[str, Any]:
    page = render(analyse(run), Source.of(run))
    found = re.search(r'<script type="application/json" id="report-data">(.*?)</script>', page, re.DOTALL)
    assert found
    data: dict[str, Any] = json.loads(found[1])
    return data


@pytest.fixture(scope="module")
def text(run: Run) -> str:
    file = io.StringIO()
    print_summary(analyse(run), Console(file=file, width=80), None)
    return file.getvalue()


def test_each_kind_has_its_section(exhibits: dict[str, Any]) -> None:
    titles = {
        name: [figure["title"] for figure in exhibit["variants"][exhibit["default"]]["figures"]]
        for name, exhibit in exhibits.items()
    }
    assert titles.pop("percentiles")
    assert titles == {
        "load-line-mixed": [
            "Throughput by number of tasks",
            "Latency by number of tasks",
            "Latency against throughput",
        ],
        "load-line-command": [
            "Throughput by number of tasks",
            "Latency by number of tasks",
            "Latency against throughput",
        ],
        "mixed": ["Rate of each part", "Latency of each part"],
        "files": ["Rate of each phase", "Time of one operation"],
        "tail": ["Write rate by number of readers", "Write latency by number of readers"],
        "lag": ["Write rate over time", "Lag in bytes", "Lag in seconds"],
        "copies": ["When each copy ran"],
        "trial": ["Throughput over time", "Latency over time", "Tasks over time", "Each task's part"],
    }


def test_every_figure_has_words_and_a_whole_table(exhibits: dict[str, Any]) -> None:
    for exhibit in exhibits.values():
        for figure in (figure for variant in exhibit["variants"] for figure in variant["figures"]):
            assert figure["alt"]
            assert figure["caption"]
            assert {len(row) for row in figure["table"]["rows"]} == {len(figure["table"]["columns"])}, figure["title"]


def test_the_timeline_shows_every_copy_once_and_none_overlaps_another_of_its_task(exhibits: dict[str, Any]) -> None:
    (trace,) = exhibits["copies"]["variants"][-1]["figures"][0]["traces"]
    assert sorted(trace["text"]) == sorted(f"copy {number}" for number in range(24))
    assert len(set(trace["y"])) == 8
    bars = sorted(zip(trace["y"], trace["base"], trace["x"], strict=True))
    for (task, start, length), (other, after, _) in pairwise(bars):
        assert task != other or start + length <= after + 1e-6


def test_copies_are_drawn_per_second(exhibits: dict[str, Any]) -> None:
    figure = exhibits["load-line-command"]["variants"][0]["figures"][0]
    assert figure["layout"]["yaxis"]["title"]["text"] == "Copies/s"


def test_stalls_are_marked_over_the_lag_and_a_reader_falls_behind_in_time_meanwhile(exhibits: dict[str, Any]) -> None:
    lag = exhibits["lag"]
    _, _, seconds = lag["variants"][lag["default"]]["figures"]
    assert seconds["layout"]["shapes"], "the storage stalls"
    trace = seconds["traces"][0]
    mark = seconds["layout"]["shapes"][0]
    inside = [y for x, y in zip(trace["x"], trace["y"], strict=True) if mark["x0"] + 0.2 < x < mark["x1"]]
    assert inside == sorted(inside)
    assert inside[-1] > 1.0, "a stall of 1.5 s leaves readers more than a second behind"


def test_the_lag_of_the_picture_is_that_of_the_engine(run: Run) -> None:
    point = next(point for point in analyse(run).points if point.kind == "tail" and point.tasks == 5)
    source = Source.of(run)
    furthest = 0
    for record in point.records:
        tracks = tracks_of(source.series(record))
        writer = tracks.pop(0)
        furthest = max([furthest, *(lag[1] for track in tracks.values() for lag in lag_of(writer, track))])
    assert point.follow is not None
    # Samples see less than every moment, and a transfer more or less.
    assert 0.6 * point.follow.max_lag_bytes <= furthest <= point.follow.max_lag_bytes + (8 << 20)


def test_lag_counts_from_when_the_writer_was_there() -> None:
    writer = [(0, 0), (100, 1000), (200, 2000), (300, 2000)]
    assert lag_of(writer, [(0, 0), (100, 0), (200, 1000), (300, 2000)]) == [
        (100, 1000, 100),
        (200, 1000, 100),
        (300, 0, 0),
    ]
    share_of_two = lag_of(writer, [(0, 0), (200, 500), (300, 1000)], share=2)
    assert share_of_two == [(200, 500, 100), (300, 0, 0)]


def test_the_terminal_shows_a_table_for_each_kind_and_cuts_no_number(text: str) -> None:
    for title in ("mixed (mix), by operation", "files (names)", "tail (tail)", "command (compress)"):
        assert title in text
    assert re.search(r"^stat +4 +3\d\d k/s", text, re.MULTILINE)
    assert "…" not in text


def test_names_are_rates_and_data_beside(text: str) -> None:
    (row,) = re.findall(r"^write +1 .*$", text, re.MULTILINE)
    assert "k/s" in row and "MB/s" in row
    (row,) = re.findall(r"^stat +1 .*$", text, re.MULTILINE)
    assert "MB/s" not in row


def test_a_copy_that_failed_stands_out(run: Run) -> None:
    from tonnage.report.sections.command import exhibits as of_commands

    source = Source.of(run)
    for copy in source.copies:
        if copy["copy"] == 3:
            copy.update(exit_code=None, signal=9)
    figure = of_commands(analyse(run), source)[0].variants[0].figures[0]
    assert [trace["name"] for trace in figure.traces] == ["ended well", "failed"]
    assert "1 failed" in figure.caption
    assert any("signal 9" in row for row in figure.table.rows)


def test_what_readers_cost_the_writer_is_said_with_its_rate_alone_beside(run: Run) -> None:
    points = [point for point in analyse(run).points if point.kind == "tail"]
    alone, busiest = min(points, key=tail.readers), max(points, key=tail.readers)
    assert tail.readers(alone) == 0 < tail.readers(busiest)
    told = {}
    for factor in (0.5, 1.0, 2.0):
        changed = dataclasses.replace(
            busiest, median=alone.median * factor, low=0.9 * alone.median * factor, high=1.1 * alone.median * factor,
            confidence=0.95,
        )  # fmt: skip
        base = dataclasses.replace(alone, low=0.9 * alone.median, high=1.1 * alone.median, confidence=0.95)
        (told[factor],) = tail.story([base, changed])
    assert "readers leave the writer 50 % of its rate" in told[0.5]
    assert "no change shown of the writer's rate" in told[1.0]
    assert "the writer is faster with readers" in told[2.0]
    assert all(f"{tail.readers(busiest)} readers, {units.rate(alone.median)} alone" in said for said in told.values())
    assert tail.story([busiest]) == []
