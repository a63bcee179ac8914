"""Makes any text, such as a file name, safe to print: as one line, or as cells of a table."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Sequence


def one_line(text: str) -> str:
    """The text with escapes for line breaks, control characters of terminals, and bytes that are no UTF-8."""
    return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in text)


def shown(text: str) -> str:
    """Returns the same for a cell of a table: ``?`` for each."""
    return "".join(sign if sign.isprintable() else "?" for sign in text)


def typed(word: object) -> str:
    """The word, such as a path, as a shell takes it."""
    return shlex.quote(str(word))


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
