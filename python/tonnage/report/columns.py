"""Tables as lines of a terminal: what is too wide goes on below, with its first column once more. Nothing is cut."""

from __future__ import annotations

from rich.cells import cell_len

from tonnage.report.figures.table import Table

_GAP = 2
"""Blanks between two columns."""


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
    return [_columns(table, block) for block in blocks] if len(blocks) > 1 else [table]


def _columns(table: Table, block: list[int]) -> Table:
    return Table(tuple(table.columns[at] for at in block), tuple(tuple(row[at] for at in block) for row in table.rows))


def _widths(table: Table) -> list[int]:
    cells = [table.headings, *table.rows]
    return [max(cell_len(row[at]) for row in cells) for at in range(len(table.columns))]


def laid_out(table: Table) -> list[str]:
    """Its headings and its rows, a line each: words to the left, numbers to the right."""
    widths = _widths(table)
    lines = []
    for row in (table.headings, *table.rows):
        cells = []
        for text, column, width in zip(row, table.columns, widths, strict=True):
            blank = " " * (width - cell_len(text))
            cells.append(text + blank if column.align == "left" else blank + text)
        lines.append((" " * _GAP).join(cells).rstrip())
    return lines
