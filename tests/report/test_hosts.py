"""Several hosts: who was last, how they met, and a page that stays small however many they are."""

from __future__ import annotations

import io
from pathlib import Path

import hosts_sample as sample
import pytest
from rich.console import Console
from tonnage.analysis import analyse
from tonnage.records import Run
from tonnage.report import write_report
from tonnage.report.figures.heat import MOST_COLUMNS
from tonnage.report.sections import hosts
from tonnage.report.terminal import print_summary


def said(run: Run) -> str:
    console = Console(file=io.StringIO(), width=200, no_color=True)
    print_summary(analyse(run), console, None)
    written = console.file
    assert isinstance(written, io.StringIO)
    return written.getvalue()


def test_the_slowest_rank_is_named_with_its_host_and_how_much_later_than_the_median_it_was(tmp_path: Path) -> None:
    text = said(sample.four_hosts(tmp_path / "run"))
    assert "write on 4 hosts: task 7 on n4 ended last, 6.96 s after the median task (10.0 s)." in text.replace(
        "10.04 s", "10.0 s"
    )


def test_clocks_and_the_crossing_are_printed_with_their_uncertainty(tmp_path: Path) -> None:
    text = said(sample.four_hosts(tmp_path / "run"))
    assert "8 processes crossed the start line within 310 µs (the barrier itself takes 120 µs)" in text
    assert "together 2.5 ms after the last task's end" in text.replace("2.50", "2.5")
    assert "The clock of n4 was furthest from that of n1: 3 s behind it, known to 40 µs" in text.replace(
        "3.00 s", "3 s"
    ).replace("40.0 µs", "40 µs")


def test_the_table_of_hosts_adds_up(tmp_path: Path) -> None:
    (found,) = analyse(sample.four_hosts(tmp_path / "run", repetitions=1)).hosts
    assert [(part.host, part.tasks, part.bytes) for part in found.parts] == [
        (f"n{number}", 2, 2 * sample.EACH) for number in (1, 2, 3, 4)
    ]
    assert sum(part.share for part in found.parts) == pytest.approx(1)
    assert [part.last_done_ns for part in found.parts][-1] == 17 * sample.SECOND
    table = hosts.table(found)
    assert len(table.rows) == 4 and all(len(row) == len(table.columns) for row in table.rows)


def test_a_phase_that_time_ended_names_who_did_least(tmp_path: Path) -> None:
    result = sample.result_of([10 * sample.SECOND] * 4, stop_reason="time")
    result["tasks"][2]["bytes"] //= 2
    (found,) = analyse(sample.write(tmp_path / "run", [(result, ["a", "b", "c", "d"], None)])).hosts
    (story,) = hosts.stories(found)
    assert story.startswith("write on 4 hosts: task 2 on c did least until time was up") and "50 %" in story


def test_one_host_is_no_section(tmp_path: Path) -> None:
    run = sample.write(tmp_path / "run", [(sample.result_of([sample.SECOND] * 2), ["a", "a"], None)])
    assert analyse(run).hosts == () and "hosts:" not in said(run)


def test_a_host_that_lags_in_most_trials_is_a_finding_and_one_that_did_once_is_not(tmp_path: Path) -> None:
    always = analyse(sample.four_hosts(tmp_path / "always")).findings
    (found,) = [finding for finding in always if finding.code == "straggler-host"]
    assert "n4" in found.evidence and "59 %" in found.evidence and "3 of 3 trials" in found.evidence
    names = [f"n{number}" for number in range(1, 5)]
    even = (sample.result_of([10 * sample.SECOND] * 4), names, None)
    once = (sample.result_of([10 * sample.SECOND] * 3 + [17 * sample.SECOND]), names, None)
    rare = analyse(sample.write(tmp_path / "once", [even, once, even])).findings
    assert "straggler-host" not in [finding.code for finding in rare]


def test_hosts_with_fewer_tasks_than_others_are_a_finding(tmp_path: Path) -> None:
    result = sample.result_of([10 * sample.SECOND] * 5)
    found = analyse(sample.write(tmp_path / "run", [(result, ["a", "a", "b", "b", "c"], None)])).findings
    (uneven,) = [finding for finding in found if finding.code == "unequal-ranks"]
    assert "1 host (c) had 1 task where others had up to 2" in uneven.evidence
    equal = analyse(sample.four_hosts(tmp_path / "equal")).findings
    assert "unequal-ranks" not in [finding.code for finding in equal]


def test_a_page_of_4608_hosts_stays_small_and_names_the_last_ones(tmp_path: Path) -> None:
    run = sample.many_nodes(tmp_path / "run")
    analysis = analyse(run)
    (found,) = analysis.hosts
    rows = hosts.table(found).rows
    assert (rows[0][0], rows[-1][0], len(rows)) == ("node4608", "4,589 others", hosts.MOST_ROWS)
    assert "tasks 73712 to 73727 on node4608 ended last" in hosts.stories(found)[0]
    few = sample.four_hosts(tmp_path / "few")
    small = write_report(few.path).stat().st_size
    assert write_report(run.path).stat().st_size - small < 1_000_000


def test_the_picture_of_hosts_over_time_keeps_every_byte(tmp_path: Path) -> None:
    (found,) = analyse(sample.many_nodes(tmp_path / "run", nodes=300)).hosts
    tasks = [{"task": 16 * n, "host": f"node{n + 1:04d}"} for n in range(300)]
    columns = {
        "start_ns": [step * sample.SECOND for step in range(200) for _ in range(300)],
        "end_ns": [(step + 1) * sample.SECOND for step in range(200) for _ in range(300)],
        "task": [16 * n for _ in range(200) for n in range(300)],
        "bytes": [n + 1 for _ in range(200) for n in range(300)],
    }
    drawn = hosts.over_time(found, columns, tasks)
    assert drawn is not None
    (trace,) = drawn.traces
    assert len(trace["z"]) <= hosts.MOST_HOSTS and len(trace["x"]) <= MOST_COLUMNS + 1
    hosts_of_rows = [len(row) for row in hosts.rows_of(found)]
    widths = [b - a for a, b in zip(trace["x"], trace["x"][1:], strict=False)]
    total = sum(
        rate * width * many
        for line, many in zip(trace["z"], hosts_of_rows, strict=True)
        for rate, width in zip(line, widths, strict=True)
        if rate is not None
    )
    assert total == pytest.approx(sum(columns["bytes"]), rel=0.01)


def _series(ends: list[int], intervals: int) -> dict[str, list[int]]:
    """A byte a nanosecond of each task until its end, in intervals of a second."""
    places = [(step, task) for step in range(intervals) for task in range(len(ends))]
    return {
        "start_ns": [step * sample.SECOND for step, _ in places],
        "end_ns": [(step + 1) * sample.SECOND for step, _ in places],
        "task": [task for _, task in places],
        "bytes": [sample.SECOND if (step + 1) * sample.SECOND <= ends[task] else 0 for step, task in places],
    }


def test_of_very_many_hosts_the_one_that_lags_has_a_row_of_its_own_above_the_others(tmp_path: Path) -> None:
    ends = [10 * sample.SECOND] * 300
    ends[137] = 17 * sample.SECOND
    names = [f"node{number:03d}" for number in range(300)]
    (found,) = analyse(sample.write(tmp_path / "run", [(sample.result_of(ends), names, None)])).hosts
    rows = hosts.rows_of(found)
    assert [part.host for part in rows[0]] == ["node137"] and len(rows) <= hosts.MOST_HOSTS
    assert sorted(part.host for row in rows for part in row) == names
    tasks = [{"task": number, "host": name} for number, name in enumerate(names)]
    drawn = hosts.over_time(found, _series(ends, 17), tasks)
    assert drawn is not None
    (trace,) = drawn.traces
    assert trace["y"][0] == "node137" and "slowest hosts stand above" in drawn.caption
    assert all(trace["z"][0]) and all(line[10:] == [None] * 7 for line in trace["z"][1:])


def test_a_host_that_is_done_leaves_a_gap_and_one_that_stands_still_does_not(tmp_path: Path) -> None:
    ends = [4 * sample.SECOND, 8 * sample.SECOND]
    (found,) = analyse(sample.write(tmp_path / "run", [(sample.result_of(ends), ["a", "b"], None)])).hosts
    columns = _series(ends, 8)
    columns["bytes"] = [0 if (start, task) == (2 * sample.SECOND, 1) else moved for start, task, moved in
                        zip(columns["start_ns"], columns["task"], columns["bytes"], strict=True)]  # fmt: skip
    drawn = hosts.over_time(found, columns, [{"task": 0, "host": "a"}, {"task": 1, "host": "b"}])
    assert drawn is not None
    done, stood = drawn.traces[0]["z"]
    assert done == [1, 1, 1, 1, None, None, None, None]
    assert stood == [1, 1, 0, 1, 1, 1, 1, 1]
