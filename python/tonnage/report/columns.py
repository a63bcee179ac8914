"""Tables as lines of a terminal: columns that are too many go on below, with the first one once more, and a cell that
is too wide in the next lines. Nothing is cut. Widths are those that a terminal shows: a combining mark takes none, a
CJK sign two columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest

from rich.cells import cell_len

from tonnage.printable_text import one_line
from tonnage.report.figures.figure import Table

_GAP = 2
"""Blanks between two columns."""
_BREAKS = " /,;"
"""After one of these a cell that is too wide goes on in the next line, if any is in its second half."""


def fitting_blocks(table: Table, width: int) -> list[Table]:
    """The table in pieces that are at most ``width`` wide; what a terminal would obey is escaped."""
    return blocks_of(folded(table, width), width)


def folded(table: Table, width: int) -> Table:
    """With every cell in as many rows as it takes, so that the first column is at most half of ``width`` and any other
    one fits beside it."""
    if not table.columns:
        return table
    shown = [[one_line(cell) for cell in row] for row in (table.headings, *table.rows)]
    widths = [max(map(cell_len, column)) for column in zip(*shown, strict=True)]
    if sum(widths) + _GAP * (len(widths) - 1) > width:
        first = min(widths[0], width // 2) if len(widths) > 1 else width
        widths = [first, *(min(one, width - _GAP - first) for one in widths[1:])]
    (headings, *more), *rows = [_lines(row, widths) for row in shown]
    columns = [replace(column, name=name, unit="") for column, name in zip(table.columns, headings, strict=True)]
    return Table(tuple(columns), (*more, *(line for row in rows for line in row)))


def _lines(row: Sequence[str], widths: Sequence[int]) -> list[tuple[str, ...]]:
    pieces = [_pieces(cell, width) for cell, width in zip(row, widths, strict=True)]
    return list(zip_longest(*pieces, fillvalue=""))


def _pieces(text: str, width: int) -> list[str]:
    """``text`` in pieces that are at most ``width`` wide."""
    found = []
    while cell_len(text) > width:
        most = max((at for at in range(1, len(text)) if cell_len(text[:at]) <= width), default=1)
        after = max(text.rfind(sign, 0, most) for sign in _BREAKS) + 1
        at = after if after > most // 2 else most
        found.append(text[:at].rstrip(" "))
        text = text[at:].lstrip(" ")
    return [*found, text]


def blocks_of(table: Table, width: int) -> list[Table]:
    """The table in pieces of so many columns as ``width`` takes, each begun with the first column; a single column that
    is too wide by itself stays so."""
    widths = _widths(table)
    if not widths:
        return [table]
    blocks, taken = [[0]], widths[0]
    for column in range(1, len(widths)):
        more = _GAP + widths[column]
        if taken + more > width and len(blocks[-1]) > 1:
            blocks.append([0])
            taken = widths[0]
        blocks[-1].append(column)
        taken += more
    return [table.only(block) for block in blocks] if len(blocks) > 1 else [table]


def _widths(table: Table) -> list[int]:
    cells = [table.headings, *table.rows]
    return [max(cell_len(row[at]) for row in cells) for at in range(len(table.columns))]


def laid_out(table: Table) -> list[str]:
    """Formats headings and rows as one line each: words to the left, numbers to the right."""
    widths = _widths(table)
    lines = []
    for row in (table.headings, *table.rows):
        cells = []
        for text, column, width in zip(row, table.columns, widths, strict=True):
            blank = " " * (width - cell_len(text))
            cells.append(text + blank if column.align == "left" else blank + text)
        lines.append((" " * _GAP).join(cells).rstrip())
    return lines
