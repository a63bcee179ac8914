"""Tables: columns with their units, and cells that are formatted already. One renderer draws them on a page, one on a
terminal."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Column:
    """What one column holds."""

    name: str
    unit: str = ""
    """Of all its cells, where they do not say their own."""
    align: Literal["left", "right"] = "right"

    @property
    def heading(self) -> str:
        """``from (s)``."""
        return f"{self.name} ({self.unit})" if self.unit else self.name


@dataclass(frozen=True, slots=True)
class Table:
    """The numbers behind a figure, or of a section."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, named: Iterable[str | Column], rows: tuple[tuple[str, ...], ...]) -> Table:
        """With a column of numbers for each name; others are given as they are."""
        return cls(columns_of(*named), rows)

    @property
    def headings(self) -> tuple[str, ...]:
        """What stands above each column."""
        return tuple(column.heading for column in self.columns)


def columns_of(*named: str | Column) -> tuple[Column, ...]:
    """A column of numbers for each name; others are given as they are."""
    return tuple(Column(one) if isinstance(one, str) else one for one in named)


def text_column(name: str) -> Column:
    """Returns a column of words."""
    return Column(name, align="left")
