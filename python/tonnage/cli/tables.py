"""Tables in plain text."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tonnage.plain import shown


def columns(lines: Sequence[Sequence[str]], *, right: Collection[int] = ()) -> str:
    """Cells under each other, to the left except for the columns in ``right``; what could move the cursor is ``?``."""
    cells_shown = [[shown(cell) for cell in line] for line in lines]
    widths = [max(map(len, column)) for column in zip(*cells_shown, strict=True)]
    texts = []
    for line in cells_shown:
        cells = enumerate(zip(line, widths, strict=True))
        padded = [cell.rjust(width) if column in right else cell.ljust(width) for column, (cell, width) in cells]
        texts.append("  ".join(padded).rstrip())
    return "\n".join(texts)
