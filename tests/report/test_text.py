"""The summary at the end of a run, as a terminal and as a pipe see it."""

from __future__ import annotations

import dataclasses
import io

import report_sample as sample
from rich.console import Console
from tonnage.analysis.results import Finding
from tonnage.analysis.run_analysis import Analysis
from tonnage.report import terminal
from tonnage.report.figures.figure import Table
from tonnage.report.terminal import print_summary


def _printed(analysis: Analysis, *, width: int = 100, terminal: bool = False) -> str:
    file = io.StringIO()
    print_summary(analysis, Console(file=file, width=width, force_terminal=terminal), "/runs/a b/report.html")
    return file.getvalue()


def test_the_summary_says_the_load_line_of_each_operation() -> None:
    text = _printed(sample.whole()[0])
    assert "write: 6 tasks [5, 8] reach 95 % of the 1.92 GB/s plateau; more only add latency\n" in text
    assert "read: 12 tasks [5, 14] reach 95 % of the 3.4 GB/s plateau; more only add latency\n" in text
    assert "up to 8 tasks [7, 9] keep p99 within 20 ms" in text


def test_the_summary_says_where_the_load_line_was_not_reached_and_why() -> None:
    text = _printed(sample.sweep()[0])
    assert "write (transfer_size=64KiB): not reached within 32 tasks: throughput still rises at 32 tasks" in text


def test_ceilings_cache_state_findings_and_the_path_are_printed() -> None:
    text = _printed(sample.whole()[0])
    for part in (
        "Ceiling, memory copy: 11.3 GB/s with 2 tasks",
        "cold, 99.8 %",
        "stall  write, 16 tasks",
        "→ Look at the series of 0025-write.",
        "Report: /runs/a b/report.html\n",
    ):
        assert part in text


def test_no_number_is_cut_off_on_a_narrow_terminal() -> None:
    text = _printed(sample.whole()[0], width=40)
    assert "…" not in text
    assert "17.5 ms  87.4 ms  1.05 s" in text


def test_a_pipe_gets_no_control_characters_and_a_terminal_gets_colour() -> None:
    assert "\x1b" not in _printed(sample.whole()[0])
    assert "\x1b[" in _printed(sample.whole()[0], terminal=True)


def test_brackets_in_a_finding_are_text_and_not_markup() -> None:
    hostile = Finding("stall", "[bold]x[/bold]", "[link=http://example.org]y[/link]", "[red]z")
    text = _printed(dataclasses.replace(sample.whole()[0], findings=(hostile,)))
    assert "[bold]x[/bold]" in text
    assert "[link=http://example.org]y[/link]" in text


def _many(settings: int, tasks: int) -> Analysis:
    """A sweep over so many settings, each with so many points and a load line."""
    analysis = sample.whole()[0]
    write = next(point for point in analysis.points if point.op == "write")
    points = tuple(
        dataclasses.replace(write, group=f"size={size}", tasks=1 + number, median=1e9 + number)
        for size in range(settings)
        for number in range(tasks)
    )
    lines = tuple(dataclasses.replace(analysis.load_lines[0], group=f"size={size}") for size in range(settings))
    return dataclasses.replace(analysis, points=points, load_lines=lines)


def test_the_answer_stands_last_whatever_was_measured() -> None:
    lines = _printed(sample.whole()[0]).splitlines()
    assert lines[-7].startswith("write: 6 tasks [5, 8] reach")
    assert lines[-4].startswith("read: 12 tasks [5, 14] reach")
    assert lines[-2:] == ["", "Report: /runs/a b/report.html"]


def test_many_settings_are_one_table_of_which_the_ends_are_shown() -> None:
    text = _printed(_many(54, 6), width=200)
    assert text.count("size=") - text.count("write (size=") == 0
    assert "324 points in all: the page has each of them" in text
    shown = [line for line in text.splitlines() if line.startswith("write (size=") and "median" not in line]
    table, told = [line for line in shown if "GB/s" in line and "plateau" not in line], shown[-12:]
    assert len(table) == terminal.ROWS_MOST - 1 and "… 39 more" in text
    # Of each setting the number of tasks that did most.
    assert all(line.split(")")[1].split()[0] == "6" for line in table)
    assert all("plateau" in line for line in told) and "… and 42 more: the page has all" in text
    assert len(text.splitlines()) < 80


def test_a_few_settings_have_a_table_each_and_a_long_one_its_ends() -> None:
    text = _printed(_many(2, 40), width=200)
    assert text.count("… 25 more") == 2 and "points in all" not in text
    (first,) = [content for title, content in terminal.fitting(_titled(40), 64)]
    assert [row[0] for row in first.rows] == [*map(str, range(10)), "… 25 more", *map(str, range(35, 40))]


def _titled(rows: int) -> list[tuple[str, Table]]:
    return [
        (
            "numbers",
            Table.of(
                ("n",),
                tuple((str(number),) for number in range(rows)),
            ),
        )
    ]


def test_a_run_without_a_page_says_where_the_rest_is() -> None:
    file = io.StringIO()
    print_summary(_many(54, 6), Console(file=file, width=200), None)
    assert "324 points in all: --json has each of them" in file.getvalue()
    assert file.getvalue().splitlines()[-1] == "… and 42 more: --json has all"


def test_an_empty_run_says_that_nothing_was_measured() -> None:
    assert "Nothing was measured." in _printed(sample.empty("failed")[0])
