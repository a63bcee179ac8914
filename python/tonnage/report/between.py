"""Runs against runs: what got faster or slower, what else is different, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence

from tonnage import __version__
from tonnage.analysis.between import Between, Cell, named
from tonnage.analysis.compare import FASTER, SLOWER, UNCHANGED
from tonnage.report import units
from tonnage.report.answer import Answer, Told
from tonnage.report.figure import Exhibit, Figure, Table, Variant
from tonnage.report.forest import Row, forest

_RATIO = (
    "A ratio is the throughput of the other run ÷ that of the base, by their medians; a point right of the line is "
    "faster."
)
_UNCHANGED = (
    "“No change shown” does not say that nothing changed: “to decide” tells how many repetitions of each run would "
    "show a change such as the one seen."
)


def answer(found: Sequence[Between], threshold: float) -> Answer:
    """Runs against a first one: a sentence for each, the pictures, what else is different."""
    facts = (("base", found[0].base), ("Tonnage", __version__))
    told = tuple(Told(one.other, sentence(one), tuple(_why(one)), bool(one.cells)) for one in found)
    tables = tuple((f"What else is different: {one.other}", differences(one)) for one in found)
    rule = (
        "A change is shown where the whole interval lies on one side of 1 and the ratio is at least "
        f"{units.share(threshold)} away from it. The intervals of a table hold together at 95 %."
    )
    return Answer("Faster or slower", facts, told, tuple(exhibits(found)), tables, (_RATIO, rule, _UNCHANGED))


def _why(between: Between) -> list[str]:
    alike = [] if between.differences else ["Nothing else is different but what differs between any two runs."]
    return [*unpaired(between), *alike]


def sentence(between: Between) -> str:
    """``4 equal settings: 3 faster, 0 slower, 1 with no change shown; all verdicts together hold at 95 %.``"""
    cells = between.cells
    if not cells:
        return "The runs have no setting in common: there is nothing to compare."
    of = f"{len(cells)} equal setting{'s' if len(cells) != 1 else ''}"
    told = (
        f"{between.count(FASTER)} faster, {between.count(SLOWER)} slower, {between.count(UNCHANGED)} with {UNCHANGED}"
    )
    sure = {cell.confidence for cell in cells if cell.confidence}
    rest = f"; all verdicts together hold at {units.share(max(sure))}" if sure else "; single runs decide nothing"
    return f"{of}: {told}{rest}."


def table(between: Between) -> Table:
    """A row for each cell."""
    columns = ("what", "base", "n", "other", "its n", "ratio", "interval", "verdict", "to decide")
    rows = tuple(
        (
            _named(cell),
            rate(cell.base, cell),
            str(cell.base_repetitions),
            rate(cell.other, cell),
            str(cell.repetitions),
            units.ratio(cell.ratio),
            f"{units.ratio(cell.low)} – {units.ratio(cell.high)}" if cell.confidence else units.NOT_MEASURED,
            cell.verdict,
            f"{cell.repetitions_to_decide} each" if cell.repetitions_to_decide else "",
        )
        for cell in between.cells
    )
    return Table(columns, rows)


def rate(value: float, cell: Cell) -> str:
    """With its unit: ``1.2 GB/s``, ``20 MB/s per disk``, ``94 % of the link``."""
    if cell.unit.startswith("of "):
        return f"{units.share(value)} {cell.unit}"
    return units.speed(value, cell.metric) + cell.unit.removeprefix("B/s").removeprefix("1/s")


def divided(between: Between) -> str:
    """What the rates were divided by; empty where they were not."""
    return f"Rates are divided: the base's by {between.per[0]}, the other's by {between.per[1]}." if between.per else ""


def _named(cell: Cell) -> str:
    return named(cell.op, cell.group, cell.tasks)


def differences(between: Between) -> Table:
    """What is not the same in both runs."""
    rows = tuple((one.key, value_text(one.base), value_text(one.other)) for one in between.differences)
    return Table(("what", "in the base", "in the other"), rows)


def unpaired(between: Between) -> list[str]:
    """Sentences on what only one run has."""
    found = []
    for where, names in ((between.base, between.only_base), (between.other, between.only_other)):
        if names:
            found.append(f"Only in {where}: {'; '.join(names)}.")
    return found


def value_text(value: object) -> str:
    """Of a manifest; a dash where it is not there."""
    return units.NOT_MEASURED if value is None else str(value)


def exhibits(found: Sequence[Between]) -> list[Exhibit]:
    """One section, with a choice where several runs are compared with the base."""
    variants = tuple(Variant(one.other, (figure(one),)) for one in found if one.cells)
    if not variants:
        return []
    introduction = "Equal settings of both runs. A change is shown where the whole interval lies on one side of 1."
    return [Exhibit("between", "Setting by setting", introduction, "Run", variants)]


def figure(between: Between) -> Figure:
    """Each cell's ratio with its interval beside a line at 1."""
    return forest(
        [Row(_named(cell), cell.ratio, cell.low, cell.high, cell.verdict) for cell in between.cells],
        title=f"{between.other} against {between.base}",
        axis="Throughput ÷ that of the base",
        unit="times the base's throughput",
        told=" ".join(filter(None, (sentence(between), divided(between)))),
        table=table(between),
    )
