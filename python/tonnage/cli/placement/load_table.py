"""The rows of ``tonnage load`` as a table: coloured and live on a terminal, plain text elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, TextIO

from tonnage.cli.placement.columns import columns
from tonnage.placement.server_load import LoadRow

if TYPE_CHECKING:
    from rich.console import RenderableType

HEADINGS = (
    "SERVER", "UT", "BIO", "RPC", "PRESSURE", "RUN", "WAIT", "LINE", "HEAD-ROOM", "PROMISED", "OTHERS", "LEFT", "AGE",
)  # fmt: skip
_UNKNOWN = "-"


def cells(row: LoadRow) -> list[str]:
    """One row, as texts under ``HEADINGS``."""
    reading = row.reading
    figures = [_UNKNOWN] * 4
    if reading is not None:
        figures = [
            _percent(reading.ut_permille),
            _per_s(reading.bio_per_s),
            _per_s(reading.rpc_per_s),
            _percent(reading.pressure_permille),
        ]
    tasks = (row.running, row.waiting, row.line, row.head_room)
    demand = (row.promised, row.others, row.left)
    return [
        row.server,
        *figures,
        *(_UNKNOWN if one is None else f"{one:,}" for one in tasks),
        *(_UNKNOWN if one is None else f"{one:,.1f}".removesuffix(".0") for one in demand),
        _age(row),
    ]


def problems(rows: Sequence[LoadRow]) -> list[str]:
    """One line for each server of which something is not known."""
    return [f"{row.server}: {row.problem}" for row in rows if row.problem]


def text(rows: Sequence[LoadRow]) -> str:
    """The table in plain text: names to the left, figures to the right."""
    return columns([HEADINGS, *(cells(row) for row in rows)], right=range(1, len(HEADINGS)))


def drawn(rows: Sequence[LoadRow], notes: Sequence[str]) -> RenderableType:
    """The same for a terminal: what is stale is dim, what is over its line red."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for number, heading in enumerate(HEADINGS):
        table.add_column(heading, justify="right" if number else "left", no_wrap=True)
    for row in rows:
        line = [Text(cell) for cell in cells(row)]
        if row.stale:
            for cell in (*line[1:5], line[-1]):
                cell.stylize("dim")
        room = row.head_room
        if room is not None:
            line[HEADINGS.index("HEAD-ROOM")].stylize("green" if room > 0 else "yellow" if room == 0 else "red")
        table.add_row(*line)
    return Group(table, *(Text(note, style="yellow") for note in notes))


class LiveTable:
    """Redrawn in place; it stays on the screen at the end."""

    def __init__(self, stream: TextIO) -> None:
        from rich.live import Live

        from tonnage.cli.terminal import rich_console

        self._live = Live(console=rich_console(stream), auto_refresh=False)
        self._started = False

    def show(self, rows: Sequence[LoadRow], notes: Sequence[str]) -> None:
        """Replaces what was shown."""
        if not self._started:
            self._started = True
            self._live.start()
        from tonnage.cli.terminal import Shown

        self._live.update(Shown(drawn(rows, notes)), refresh=True)

    def close(self) -> None:
        """Gives the terminal back."""
        with suppress(OSError):
            self._live.stop()


def _percent(permille: int | None) -> str:
    return _UNKNOWN if permille is None else f"{permille / 10:.0f}%"


def _per_s(rate: float | None) -> str:
    return _UNKNOWN if rate is None else f"{rate:,.0f}/s"


def _age(row: LoadRow) -> str:
    if row.age_s is None:
        return _UNKNOWN
    return f"{row.age_s:.0f}s{' stale' if row.stale else ''}"
