"""What a user sees while a run goes on: a panel on a terminal, else a line a trial. On stderr: stdout is data."""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from tonnage import records, units
from tonnage.campaign.observer import Live, Observer, Step
from tonnage.cli.output_stream import is_plain, is_terminal
from tonnage.printable_text import one_line
from tonnage.records.line_types import TrialLine


def observer() -> Observer:
    """The panel where stderr is a terminal that takes colours and cursor movements, else plain lines: one
    a trial where somebody looks on, and a few in a log."""
    if is_plain(sys.stderr):
        return PlainLines(sys.stderr, every_s=0.0 if is_terminal(sys.stderr) else EVERY_S)
    from tonnage.cli.run_panel import Panel

    return Panel(sys.stderr)


def step_text(step: Step) -> str:
    """Returns text such as ``read, 8 tasks, repetition 2``."""
    what = "laying out files" if step.purpose == "fill" else step.phase
    what = f"{step.setting.workload}: {what}" if step.setting.workload else what
    more = {
        "measure": f", repetition {step.repetition + 1}",
        "sustain": ", sustained",
        "offered": ", offered rate",
    }.get(step.purpose, "")
    return f"{what}, {units.plural(step.setting.tasks, 'task')}{more}"


def trial_number(step: Step) -> str:
    """Returns text such as ``trial 7`` or ``trial 7 of 40``; people count from 1."""
    return f"trial {step.trial + 1}" + (f" of {step.trials}" if step.trials else "")


def recorded_text(line: TrialLine) -> str:
    """Describes one measured phase in one line."""
    workload = line["setting"].get("workload")
    head = f"{line['record']}  {workload + '  ' if workload else ''}{units.plural(line['setting']['tasks'], 'task'):>9}"
    if line["status"] != "ok":
        return f"{head}  {line['status']}: {line['reason']}"
    latency = line["latency"]
    cache = f"  cache {line['cache']['state']}" if line["cache"] else ""
    cache += "  sustained" if line["purpose"] == "sustain" else ""
    latencies = f"  p50 {units.duration(latency['p50_ns'])}  p99 {units.duration(latency['p99_ns'])}" if latency else ""
    return (
        f"{head}  {units.headline(*records.headline(line)):>10}{latencies}  {units.duration(line['elapsed_ns'])}{cache}"
    )


EVERY_S = 5.0
"""Between two lines of progress in a log."""
_FAILED_MOST = 10
"""Trials that failed, each told when it does; the end of the run tells all."""


class PlainLines(Observer):
    """A line a trial, or of ``every_s`` the last one and how many there were; at once what a user must know."""

    def __init__(self, stream: TextIO, *, every_s: float = 0.0, now_s: Callable[[], float] = time.monotonic) -> None:
        self._stream, self._every_s, self._now_s = stream, every_s, now_s
        self._waiting, self._waited_s = "", -math.inf
        self._untold, self._latest = 0, ""
        self._told_s = -math.inf
        self._failed = 0

    def started(self, path: Path, target: str, name: str) -> None:
        self._say(f"{name}: measuring {target}; records in {path}")

    def waiting(self, text: str) -> None:
        # It is no trial: it counts as none, and does not stand for one.
        if text != self._waiting and self._now_s() - self._waited_s >= self._every_s:
            self._waiting, self._waited_s = text, self._now_s()
            self._say(text)
        self._tell_due()

    def tick(self, live: Live) -> None:  # noqa: ARG002  (a trial goes on: what was held back may be due)
        self._tell_due()

    def recorded(self, line: TrialLine) -> None:
        if line["status"] != "ok" and self._failed < _FAILED_MOST:
            self._failed += 1
            self._say(recorded_text(line))
        elif line["purpose"] != "fill" or line["status"] != "ok":
            self._tell(recorded_text(line))

    def note(self, text: str) -> None:
        self._say(text)

    def ended(self) -> None:
        self._tell_last()

    def _tell(self, text: str) -> None:
        self._untold, self._latest = self._untold + 1, text
        self._tell_due()

    def _tell_due(self) -> None:
        if self._now_s() - self._told_s >= self._every_s:
            self._tell_last()

    def _tell_last(self) -> None:
        if self._untold:
            self._say(self._latest + (f"  (and {self._untold - 1} before it)" if self._untold > 1 else ""))
            self._untold, self._told_s = 0, self._now_s()

    def _say(self, text: str) -> None:
        try:
            print(one_line(text), file=self._stream, flush=True)
        except OSError:
            # Nobody listens any more; the measurement is worth more than its narration.
            self._stream = open(os.devnull, "w")  # noqa: SIM115, PTH123
