"""How evenly objects were spread over the OSDs of a pool, beside what chance alone does."""

from __future__ import annotations

from tonnage import units
from tonnage.analysis.balance import UNEVEN, Balance, OsdPart
from tonnage.analysis.balance import largest as largest  # of the terminal, too
from tonnage.analysis.run_analysis import Analysis
from tonnage.report import phrases
from tonnage.report.figures import hover
from tonnage.report.figures.colours import MUTED, line_colour
from tonnage.report.figures.figure import Exhibit, Figure, Table, Variant, error_bars, layout, text_column
from tonnage.report.page_data import Source
from tonnage.report.sections.section_type import Section, Titled

MOST_ROWS = 40
"""OSDs that a table names; of more, those with the largest and the smallest shares."""
_MOST_ROWS_SHORT = 8
"""The same on the terminal."""
_MOST_BARS = 256
"""OSDs that are drawn; of more, those with the largest shares."""


def exhibits(analysis: Analysis, _: Source) -> list[Exhibit]:
    """One section where the storage told where its objects are: a choice for each point."""
    if not analysis.balances:
        return []
    variants = tuple(Variant(_label(found), (_figure(found),)) for found in analysis.balances)
    introduction = (
        "Which OSDs hold the objects, by the cluster's map at the end of each phase. A pool spreads objects by drawing "
        "lots, so the busiest OSD has more than its share in any case; the grey ranges say how much is chance."
    )
    most = analysis.balances.index(largest(analysis.balances)[0])
    return [Exhibit("balance", "Balance of the OSDs", introduction, "Point", variants, most)]


def tables(analysis: Analysis) -> list[Titled]:
    """Makes short tables for the terminal of what :func:`largest` chose."""
    return [(_label(found), table(found, _MOST_ROWS_SHORT)) for found in largest(analysis.balances)]


def _label(found: Balance) -> str:
    what = phrases.subject(found.op, found.group)
    objects = f"{phrases.number(found.objects)} object{'s' if found.objects != 1 else ''}"
    return f"{what}, {phrases.tasks(found.tasks)}: {objects} on {len(found.parts)} OSDs ({found.record})"


def story(found: Balance) -> str:
    """How uneven it was, and whether that is chance."""
    what = phrases.subject(found.op, found.group)
    groups = f"{phrases.number(found.groups)} of {phrases.number(found.groups_of_pool)} placement groups"
    busiest = (
        f"{what} by {phrases.tasks(found.tasks)}: the busiest OSD took {units.ratio(found.busiest)} × its share "
        f"of {phrases.number(found.objects)} objects in {groups}"
    )
    drawn = f"random draws of these groups give {units.ratio(found.typical)} × as a rule and, 95 times of 100, at most"
    drawn += f" {units.ratio(found.most)} ×"
    verdict = (
        "this is more than chance: look at the weights of the OSDs and at the balancer"
        if found.verdict == UNEVEN
        else "this is what chance does; more objects or more groups make it smaller"
    )
    left = f" {phrases.number(found.unplaced_objects)} objects were not looked up." if found.unplaced_objects else ""
    return f"{busiest}; {drawn}: {verdict}.{left}"


def table(found: Balance, most: int = MOST_ROWS) -> Table:
    """A row for each OSD, by number; of very many, those with the largest shares and the smallest."""
    columns = (
        "OSD", text_column("host"), "objects", "asked first", "operations", "moved", "copied to it",
        "share", "fair share", "chance",
    )  # fmt: skip
    shown = list(found.parts)
    if len(shown) > most:
        ordered = sorted(shown, key=lambda part: -part.share)
        shown = ordered[: most // 2] + ordered[-(most - most // 2) :]
    return Table.of(columns, tuple(_row(part) for part in shown))


def _row(part: OsdPart) -> tuple[str, ...]:
    return (
        f"osd.{part.osd}",
        part.host or units.NOT_MEASURED,
        phrases.number(part.objects),
        phrases.number(part.first_objects),
        units.count(part.operations),
        units.volume(part.bytes),
        units.volume(part.copy_bytes),
        units.share(part.share),
        units.share(part.fair_share),
        f"{units.share(part.low)} to {units.share(part.high)}",
    )


def _figure(found: Balance) -> Figure:
    shown = list(found.parts)
    if len(shown) > _MOST_BARS:
        shown = sorted(shown, key=lambda part: -part.share)[:_MOST_BARS]
    names = [f"osd.{part.osd}" for part in shown]
    fair = [100 * part.fair_share for part in shown]
    highest = max((max(part.share, part.high) for part in shown), default=1.0)
    return Figure(
        title="Share of each OSD",
        caption=f"{found.record}. {story(found)}",
        alt=f"Share of each OSD of the bytes of {found.record}. {story(found)}",
        traces=[
            {
                "x": names,
                "y": [100 * part.share for part in shown],
                "type": "bar",
                "name": "share of the bytes, copies included",
                "marker": {"color": line_colour(found.op)},
                "hovertemplate": "%{x}<br>%{y:.3g} %" + hover.ending(found.record),
            },
            {
                "x": names,
                "y": fair,
                "mode": "markers",
                "name": "fair share, and 95 of 100 random draws",
                "marker": {"color": MUTED, "size": 7, "symbol": "line-ew-open"},
                "error_y": error_bars(
                    [max(0.0, 100 * part.high - value) for part, value in zip(shown, fair, strict=True)],
                    [max(0.0, value - 100 * part.low) for part, value in zip(shown, fair, strict=True)],
                    MUTED,
                    1.5,
                    5,
                ),
                "hovertemplate": "%{x}: fair share %{y:.3g} %<extra></extra>",
            },
        ],
        layout=layout(
            {"title": "OSD", "type": "category"},
            {"title": "Share of the bytes (%)", "range": [0, 115 * highest]},
            showlegend=True,
        ),
        table=table(found),
    )


def notes(analysis: Analysis) -> list[str]:
    """Returns the notes below the tables of the terminal."""
    return [story(one) for one in largest(analysis.balances)]


SECTION = Section("balance", exhibits, tables=tables, notes=notes)
