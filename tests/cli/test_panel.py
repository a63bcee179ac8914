"""What the live panel and the plain lines say of each kind of workload."""

from __future__ import annotations

import io
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console
from tonnage.campaign.observer import Step
from tonnage.cli.run_panel import Panel
from tonnage.cli.run_progress import PlainLines, recorded_text, step_text


def step(kind: str, workload: str = "") -> Step:
    """A phase about to start."""
    setting: Any = SimpleNamespace(kind=kind, workload=workload, tasks=2)
    return Step(0, 9, setting, "create", 0, "measure", 0, None)


def line(kind: str, workload: str = "", phase: str = "create", operations: int = 5000) -> dict[str, Any]:
    """A phase that ended after a second."""
    return {
        "record": f"0000-{phase}", "phase": phase, "status": "ok", "purpose": "measure", "cache": None,
        "setting": {"kind": kind, "workload": workload, "tasks": 2}, "operations": operations, "elapsed_ns": 10**9,
        "bandwidth_bytes_per_s": 7 * 10**6, "latency": {"p50_ns": 10, "p99_ns": 20},
    }  # fmt: skip


def shown(panel: Panel) -> str:
    """The panel as text."""
    file = io.StringIO()
    Console(file=file, width=100).print(panel._draw())
    return file.getvalue()


@pytest.mark.parametrize(("kind", "rate"), [("files", "4.00 k/s"), ("stream", "3.00 MB/s"), ("tail", "3.00 MB/s")])
def test_the_panel_says_what_happens_now_in_the_unit_of_the_workload(kind: str, rate: str) -> None:
    panel = Panel(io.StringIO())
    panel.step(step(kind))
    for tenths in range(1, 6):
        panel.tick({"elapsed_ns": tenths * 10**8, "operations": 400 * tenths, "bandwidth_bytes_per_s": 3 * 10**6})
    assert rate in shown(panel)


def test_more_than_an_hour_is_told_in_hours() -> None:
    panel = Panel(io.StringIO())
    minute = 60 * 10**9
    panel.step(replace(step("stream"), elapsed_ns=75 * minute, left_ns=125 * minute))
    assert "elapsed 1:15:00   left 2:05:00" in shown(panel)


def test_curves_of_several_workloads_are_told_apart_and_the_last_ones_shown() -> None:
    panel = Panel(io.StringIO())
    for phase in ("create", "stat", "read", "remove"):
        panel.recorded(line("files", "names", phase))
    panel.recorded(line("stream", "bulk", "write"))
    text = shown(panel)
    assert "names: create" not in text
    assert "names: remove: median throughput by tasks" in text
    assert "5.00 k/s" in text
    assert "bulk: write" in text and "7.00 MB/s" in text


def test_a_line_names_its_workload_where_there_are_several() -> None:
    assert recorded_text(line("files", "names")).startswith("0000-create  names    2 tasks    5.00 k/s")
    assert recorded_text(line("files")).startswith("0000-create    2 tasks")
    assert step_text(step("files", "names")) == "names: create, 2 tasks, repetition 1"


def test_a_log_gets_a_line_now_and_then_with_how_many_trials_there_were() -> None:
    stream, now_s = io.StringIO(), [0.0]
    told = PlainLines(stream, every_s=5.0, now_s=lambda: now_s[0])  # type: ignore[arg-type]
    for number in range(100):
        now_s[0] = number / 10
        told.recorded(line("stream", phase=f"write{number}"))  # type: ignore[arg-type]
    told.recorded(line("stream", phase="bad") | {"status": "failed", "reason": "no room"})  # type: ignore[arg-type]
    told.ended()
    lines = stream.getvalue().splitlines()
    assert [text.split()[0] for text in lines] == ["0000-write0", "0000-write50", "0000-bad", "0000-write99"]
    assert lines[1].endswith("(and 49 before it)") and lines[3].endswith("(and 48 before it)")
    assert lines[2].endswith("failed: no room")


def test_somebody_at_a_terminal_without_colours_sees_every_trial() -> None:
    stream = io.StringIO()
    told = PlainLines(stream)
    for number in range(3):
        told.recorded(line("stream", phase=f"write{number}"))  # type: ignore[arg-type]
    told.ended()
    assert stream.getvalue().count("\n") == 3


def test_what_a_log_held_back_is_told_when_it_is_due_though_nothing_new_comes() -> None:
    stream, now_s = io.StringIO(), [0.0]
    told = PlainLines(stream, every_s=5.0, now_s=lambda: now_s[0])
    told.waiting("job 1 waits")
    told.waiting("job 1 waits: Priority")
    now_s[0] = 5.0
    told.waiting("job 1 waits: Priority")
    told.recorded(line("stream", phase="write"))  # type: ignore[arg-type]
    now_s[0] = 10.0
    told.tick({})
    first, second, third = stream.getvalue().splitlines()
    assert (first, second, third.split()[0]) == ("job 1 waits", "job 1 waits: Priority", "0000-write")
