"""A mover's panel on a terminal: what is safe, how fast, what stands still and why."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from rich.console import Group
from rich.live import Live
from rich.panel import Panel as Frame
from rich.table import Table
from rich.text import Text

from tonnage import units
from tonnage.cli.stage.status_text import details, pressures, share_done, totals_text
from tonnage.cli.terminal import Shown, rich_console

if TYPE_CHECKING:
    from tonnage.staging.mover_status import Status

_BAR = 40
_STYLES = {"failed:": "red", "waits:": "yellow"}


class PanelView:
    """Redrawn four times a second; gone at the end, but for the notes, so that the result stands alone."""

    def __init__(self, stream: TextIO) -> None:
        self._console = rich_console(stream)
        self.said: set[str] = set()
        """Nothing: the panel is gone at the end."""
        self._live: Live | None = None
        self._notes: list[str] = []

    def show(self, status: Status) -> None:
        frame, self._notes = draw(status), list(status["notes"])
        # A terminal that is gone takes nothing with it.
        with suppress(OSError):
            if self._live is None:
                self._live = Live(Shown(frame), console=self._console, auto_refresh=False, transient=True)
                self._live.start()
            self._live.update(Shown(frame), refresh=True)

    def close(self) -> None:
        if self._live:
            with suppress(OSError):
                self._live.stop()
                for note in self._notes:
                    self._console.print(Text(note))
            self._live = None


def draw(status: Status) -> Frame:
    """Draws one status as a frame."""
    share = share_done(status)
    full = min(int(share * _BAR), _BAR)
    table = Table.grid(padding=(0, 2))
    table.add_row(
        Text(status["progress"], style="bold"),
        Text.assemble(("█" * full, "green"), ("░" * (_BAR - full), "dim"), f"  {int(share * 100)} %"),
    )
    table.add_row("safe", Text(totals_text(status["done"])))
    table.add_row("left", Text(totals_text(status["queued"]) + _left(status)))
    table.add_row("now", Text(_now(status)))
    more = (
        (status["failed"], "failed"),
        (status["cleared"], "cleared"),
        (status["gone"], "gone"),
        (status["skipped"], "skipped"),
    )
    counts = [f"{totals['files']:,} {name}" for totals, name in more if totals["files"]]
    if counts:
        table.add_row("else", Text(", ".join(counts)))
    if pressing := pressures(status):
        table.add_row("held", Text(", ".join(pressing), style="yellow"))
    lines = [Text(line, style=_style(line), overflow="ellipsis", no_wrap=True) for line in details(status)]
    title = f"{status['name']} · {Path(status['from'])} → {Path(status['to'])}"
    return Frame(Group(table, *lines), title=Text(title), title_align="left")


def _left(status: Status) -> str:
    if status["left_ns"] is None or not status["queued"]["files"]:
        return ""
    return f"   {units.clock_text(status['left_ns'])} to go"


def _now(status: Status) -> str:
    flying = status["copying"]["files"]
    files = units.operations(status["rate_files_per_s"]).removesuffix("/s").strip()
    text = f"{units.rate(status['rate_bytes_per_s'])}   {files} files/s"
    return f"{text}   {flying:,} in flight, {status['workers']} workers   {status['watch']}"


def _style(line: str) -> str:
    return next((style for start, style in _STYLES.items() if line.startswith(start)), "")
