"""The summary at the end of a run, as a terminal and as a pipe see it."""

from __future__ import annotations

import dataclasses
import io

import report_sample as sample
from rich.console import Console
from tonnage.analysis.results import Analysis, Finding
from tonnage.report.text import print_summary


def _printed(analysis: Analysis, *, width: int = 100, terminal: bool = False) -> str:
    file = io.StringIO()
    print_summary(analysis, Console(file=file, width=width, force_terminal=terminal), "/runs/a b/report.html")
    return file.getvalue()


def test_the_summary_says_the_load_line_of_each_operation() -> None:
    text = _printed(sample.whole()[0])
    assert "write: 6 tasks [5, 8] reach 95 % of the 1.92 GB/s plateau; more only add latency\n" in text
    assert "read: 12 tasks [5, 14] reach 95 % of the 3.4 GB/s plateau; more only add latency\n" in text
    assert "up to 8 tasks keep p99 within 20.0 ms" in text


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


def test_an_empty_run_says_that_nothing_was_measured() -> None:
    assert "Nothing was measured." in _printed(sample.empty("failed")[0])
