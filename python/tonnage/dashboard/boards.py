"""Tables beside the runs, such as the load of the file servers: handed in by the caller, which collects them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

RowKind = Literal["", "good", "warn", "bad", "dim"]
"""How a row is coloured. Its cells say the same in words."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a board, already in words."""

    cells: tuple[str, ...]
    share: float | None = None
    """Of a bar at its end, 0 to 1."""
    kind: RowKind = ""
    details: tuple[str, ...] = ()
    """Sentences below it."""


@dataclass(frozen=True, slots=True)
class Table:
    """What a board shows now."""

    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Board:
    """A section of the page."""

    name: str
    """Of its topic: letters only."""
    title: str
    columns: tuple[str, ...]
    empty: str
    """The text shown where there is no row."""
    ask: Callable[[], Table]
    """May take seconds. A TonnageError is shown in its place."""
    every_s: float
