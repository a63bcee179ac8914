"""The best of a run, divided by disks, servers, nodes and a link that its campaign names, and by the OSDs of a pool."""

from __future__ import annotations

from collections.abc import Sequence

from tonnage import units
from tonnage.analysis.compare.divisors import OSD, contradiction
from tonnage.analysis.compare.normalise import Normalised
from tonnage.analysis.results import Point
from tonnage.analysis.run_analysis import Analysis
from tonnage.report import phrases
from tonnage.report.figures.figure import Column, Table, text_column
from tonnage.report.sections.section_type import Section, Titled
from tonnage.units import BANDWIDTH

TITLE = "Divided by what carried it"


def tables(analysis: Analysis) -> list[Titled]:
    """One table where the campaign has a ``[normalise]``, or a pool said how many OSDs it has."""
    if not analysis.divided:
        return []
    columns: tuple[str | Column, ...] = (
        text_column("what"),
        "tasks",
        "all",
        "interval",
        *(_column(str(basis), basis.thing) for basis in analysis.bases),
    )
    rows = tuple(
        (
            phrases.subject(found.point.op, found.point.group),
            str(found.point.tasks),
            units.speed(found.point.median, found.point.metric),
            phrases.bounds(found.point),
            *(_cell(part, found.point) for part in found.parts),
        )
        for found in analysis.divided
    )
    return [(TITLE, Table.of(columns, rows))]


def notes(analysis: Analysis) -> list[str]:
    """What the table is of, and what is more than a link carries."""
    if not analysis.divided:
        return []
    notes_found = [
        "Of each operation the setting that did most. Only figures divided by the same things can be compared."
    ]
    if contradicts := contradiction(analysis.bases):
        notes_found.append(contradicts)
    copies = max((balance.copies for balance in analysis.balances), default=1)
    if copies > 1 and any(basis.thing == OSD for basis in analysis.bases):
        notes_found.append(f"Bytes are those of the tasks: the pool has each on {copies} OSDs.")
    for basis in analysis.bases:
        over = [
            phrases.subject(found.point.op, found.point.group)
            for found in analysis.divided
            for part in found.parts
            if part and part.basis == basis and basis.bytes_per_s and part.value > 1
        ]
        notes_found += beyond(str(basis), over)
    return notes_found


def beyond(link: str, names: Sequence[str]) -> list[str]:
    """Returns a note on rates above that of their link; empty where there are none."""
    if not names:
        return []
    why = "Something else carried it too (a cache, other links), or the link is another."
    return [f"More than {link} carries: {', '.join(names)}. {why}"]


def _column(amount: str, thing: str) -> str:
    return f"of {amount}" if thing == "link" else f"{'an' if thing == OSD else 'a'} {thing} (of {amount})"


def _cell(part: Normalised | None, point: Point) -> str:
    if part is None:
        return units.NOT_MEASURED
    if part.basis.bytes_per_s is not None:
        return units.share(part.value)
    return units.rate(part.value) if point.metric == BANDWIDTH else units.operations(part.value)


SECTION = Section("divided", tables=tables, notes=notes)
