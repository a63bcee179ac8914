"""IOR's summary: means over the iterations, and so no trial; of three iterations at most these follow from it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tonnage.importers.figures import MIB, Rounded, exact, iterations, rounded, whole
from tonnage.importers.found import FROM_SUMMARY, Phase
from tonnage.importers.ior_test import Test
from tonnage.records.shapes import Json


@dataclass(frozen=True, slots=True)
class Row:
    """One operation of the summary; rates in MiB/s."""

    line: int
    op: str
    most: Rounded
    least: Rounded
    mean: Rounded
    spread: Rounded | None
    repetitions: int
    tasks: int
    block: int
    transfer: int
    moved: int
    """By one iteration."""


def columns_of(header: str) -> list[str]:
    """Names of the columns, those of 2.10 (``Max (MiB)``, ``Std Dev``) as later versions have them; none where the
    line is no header of a summary."""
    names = re.sub(r" \((\w+)\)", r"(\1)", header).replace("Std Dev", "StdDev").split()
    return names if "Max(MiB)" in names else []


def row_of(names: Sequence[str], cells: Sequence[str], line: int, test: Test) -> Row | None:
    """A row below the header ``names``, with what only the settings of the ``test`` say; None where it is not whole."""
    if len(cells) < len(names) - 1:
        return None
    table = dict(zip(names, cells, strict=False))
    most, least, mean = (rounded(table.get(f"{name}(MiB)", "")) for name in ("Max", "Min", "Mean"))
    known = (test.repetitions, test.tasks, test.block, test.transfer)
    numbers = [
        whole(table[name]) if name in table else said
        for name, said in zip(("reps", "#Tasks", "blksiz", "xsize"), known, strict=True)
    ]
    moved = exact(table.get("aggs(MiB)", ""), MIB) or whole(table.get("aggsize", ""))
    if "blksiz" not in names:
        moved = test.of_all_iterations()
    repetitions, tasks, block, transfer = numbers
    if most is None or least is None or mean is None or not (repetitions and tasks and block and transfer and moved):
        return None
    # Two columns are called StdDev; the first is that of the rates.
    spread = rounded(cells[list(names).index("StdDev")]) if "StdDev" in names else None
    return Row(line, cells[0], most, least, mean, spread, repetitions, tasks, block, transfer, moved)


def phases_of(row: Row, test: Test) -> tuple[list[Phase], list[str]]:
    """The trials that follow from a summary without a table, or what must be said of it."""
    test.block, test.transfer = row.block, row.transfer
    values = iterations(row.repetitions, row.most, row.least, row.mean, row.spread)
    if not values:
        only = f"{row.op} has a summary of {row.repetitions} iterations and no line of each"
        return [], [f"line {row.line}: {only}; a mean of rates is no trial, and is left out"]
    return [
        Phase(
            phase=row.op,
            setting=test.setting(row.op, row.tasks),
            elapsed_ns=max(1, round(row.moved * 10**9 / (value * MIB))),
            bytes=row.moved,
            operations=row.moved // row.transfer,
            line=row.line,
            durability=test.durability if row.op == "write" else "none",
            direct=test.direct,
            notes=(FROM_SUMMARY,) if len(values) > 1 else (),
        )
        for value in values
    ], []


def unusable(said: Json) -> list[str]:
    """Of a JSON without results: whether it has a summary."""
    return ["line 1: it has a summary only; a mean of rates is no trial"] if said.get("summary") else []
