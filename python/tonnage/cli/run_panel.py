"""The live panel on a terminal: where the run stands, what the storage does now, and the load curve so far."""

from __future__ import annotations

import statistics
from collections import deque
from pathlib import Path
from typing import TextIO

from rich.console import Group
from rich.live import Live
from rich.panel import Panel as Frame
from rich.table import Table
from rich.text import Text

from tonnage import units
from tonnage.campaign.observer import Live as LiveFigures
from tonnage.campaign.observer import Observer, Step
from tonnage.cli.run_progress import recorded_text, step_text, trial_number
from tonnage.cli.terminal import Shown, rich_console
from tonnage.printable_text import one_line
from tonnage.records import COUNTED, headline
from tonnage.records.line_types import TrialLine

_BAR = 30
_CURVES = 4
"""Curves that are shown: those of a campaign of many phases do not fit on a screen."""
_TICKS = 10
"""Snapshots, a tenth of a second apart, over which operations are counted."""


class Panel(Observer):
    """Redrawn four times a second; gone when the run ends, so that the results stand alone."""

    def __init__(self, stream: TextIO) -> None:
        self._console = rich_console(stream)
        self._title = ""
        self._step: Step | None = None
        self._now: LiveFigures = {}
        self._counted: deque[tuple[int, int]] = deque(maxlen=_TICKS)
        self._waiting = "measuring the ceilings: memory copy, null storage"
        self._rates: dict[str, dict[int, list[float]]] = {}
        self._units: dict[str, str] = {}
        # Last: it draws once when it is made.
        self._live = Live(console=self._console, refresh_per_second=4, transient=True, get_renderable=self._draw)

    def started(self, path: Path, target: str, name: str) -> None:
        self._title = f"{name} · {target}"
        self._console.print(f"records in {path}", soft_wrap=True)
        self._live.start()

    def step(self, step: Step) -> None:
        self._step, self._now = step, {}
        self._counted.clear()

    def tick(self, live: LiveFigures) -> None:
        self._now = live
        self._counted.append((live.get("elapsed_ns", 0), live.get("operations", 0)))

    def recorded(self, line: TrialLine) -> None:
        if line["status"] != "ok":
            self._console.print(Text(recorded_text(line), style="red"), soft_wrap=True)
        elif line["purpose"] == "measure":
            workload = line["setting"].get("workload")
            name = f"{workload}: {line['phase']}" if workload else line["phase"]
            # The curve that grew last stands last.
            curve = self._rates[name] = self._rates.pop(name, {})
            curve.setdefault(line["setting"]["tasks"], []).append(headline(line)[0] or 0)
            self._units[name] = headline(line)[1]

    def waiting(self, text: str) -> None:
        self._step, self._waiting = None, text

    def note(self, text: str) -> None:
        self._console.print(text, soft_wrap=True)

    def ended(self) -> None:
        self._live.stop()

    def _draw(self) -> Shown:
        return Shown(
            Frame(Group(*self._facts(), *self._curves()), title=Text(one_line(self._title)), title_align="left")
        )

    def _facts(self) -> list[Text | Table]:
        if self._step is None:
            return [Text(self._waiting)]
        now = self._now
        into_ns = now.get("elapsed_ns", 0)
        left = self._step.left_ns
        table = Table.grid(padding=(0, 2))
        table.add_row(Text(trial_number(self._step), style="bold"), Text(step_text(self._step)))
        table.add_row(
            "now",
            Text(
                f"{self._speed()}   p99 {units.duration(now.get('recent_p99_ns'))}"
                f"   {now.get('running_tasks', 0)} running"
            ),
        )
        times = f"elapsed {units.clock_text(self._step.elapsed_ns + into_ns)}"
        table.add_row("time", Text(times + (f"   left {units.clock_text(left - into_ns)}" if left is not None else "")))
        return [table]

    def _speed(self) -> str:
        """What the storage does now, in the unit of the workload."""
        if self._step is None or self._step.setting.kind not in COUNTED:
            return units.rate(self._now.get("bandwidth_bytes_per_s"))
        if len(self._counted) < 2 or self._counted[-1][0] <= self._counted[0][0]:
            return units.operations(None)
        (since, before), (until, after) = self._counted[0], self._counted[-1]
        return units.operations((after - before) * 1e9 / (until - since))

    def _curves(self) -> list[Text | Table]:
        parts: list[Text | Table] = []
        for op, curve in list(self._rates.items())[-_CURVES:]:
            medians = {tasks: statistics.median(rates) for tasks, rates in sorted(curve.items())}
            show = units.rate if self._units[op] == "B/s" else units.operations
            highest = max(medians.values()) or 1
            table = Table.grid(padding=(0, 1))
            for tasks, median in medians.items():
                bar = "█" * max(round(_BAR * median / highest), 1)
                table.add_row(
                    Text(f"{tasks:>5}"),
                    Text(f"{bar:<{_BAR}}", style="cyan"),
                    Text(show(median)),
                    Text(f"×{len(curve[tasks])}", style="dim"),
                )
            parts += [Text(f"{op}: median throughput by tasks", style="dim"), table]
        return parts
