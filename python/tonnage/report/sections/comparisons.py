"""Settings of a command against the first one: faster, slower, or no change shown."""

from __future__ import annotations

from tonnage import units
from tonnage.analysis.results import Comparison, Point
from tonnage.analysis.run_analysis import Analysis
from tonnage.report.answer import Statement
from tonnage.report.figures import hover
from tonnage.report.figures.figure import Exhibit, Figure, Table, Variant, text_column
from tonnage.report.figures.forest import Row, forest
from tonnage.report.page_data import Source
from tonnage.report.sections.section_type import Section, Titled


def tables(analysis: Analysis) -> list[Titled]:
    """Returns all comparisons of a run, for the terminal."""
    return [("Against the first setting", _table(analysis.comparisons))] if analysis.comparisons else []


def sentences(analysis: Analysis) -> list[Statement]:
    """Each comparison, as what the run says."""
    return [Statement("", sentence(one), sure=bool(one.confidence)) for one in analysis.comparisons]


def story(comparisons: tuple[Comparison, ...]) -> list[str]:
    """Writes a sentence for each comparison."""
    return [sentence(one) for one in comparisons]


def sentence(one: Comparison) -> str:
    """Writes a sentence such as ``partition b against partition a: no change shown (1.14 times as long, 95 % interval
    0.9 to 1.4); …``."""
    said = f"{one.group} against {one.base}{_at_once(one)}: {one.verdict}"
    times = f"{units.ratio(one.ratio)} times as long"
    if not one.confidence:
        return f"{said} ({times}; single runs have no interval); repeat them to know."
    bounds = f"{times}, {units.share(one.confidence)} interval {units.interval(one.low, one.high, units.ratio, ' to ')}"
    more = f"; {one.repetitions_to_decide} repetitions of each would decide" if one.repetitions_to_decide else ""
    return f"{said} ({bounds}){more}."


def exhibits(analysis: Analysis, _: Source) -> list[Exhibit]:
    """One section where a command was run in several settings."""
    if not analysis.comparisons:
        return []
    variants = [
        Variant(label, (_figure([one for one in analysis.comparisons if _side(one) == side], analysis.points),))
        for side, label in {_side(one): f"{one.base}{_at_once(one)}" for one in analysis.comparisons}.items()
    ]
    introduction = (
        "Elapsed times against the first setting of the campaign file, of this run. A change is shown where the whole "
        "interval lies on one side of 1; all verdicts of a workload hold together as often as the interval says."
    )
    return [Exhibit("compared", "Which setting is faster", introduction, "Against", tuple(variants))]


def _side(one: Comparison) -> tuple[str, int]:
    return one.workload, one.tasks


def _at_once(one: Comparison) -> str:
    return f", {one.tasks} at once" if one.tasks > 1 else ""


def _figure(comparisons: list[Comparison], points: tuple[Point, ...]) -> Figure:
    return forest(
        [Row(one.group, one.ratio, one.low, one.high, one.verdict, _hover_text(one, points)) for one in comparisons],
        title=f"How many times as long as {comparisons[0].base}",
        axis="Elapsed time ÷ that of the first setting",
        unit="times as long",
        caption=" ".join(story(tuple(comparisons))),
        table=_table(tuple(comparisons)),
    )


def _hover_text(one: Comparison, points: tuple[Point, ...]) -> str:
    """What both sides took, and in which records."""
    mine = {point.group: point.records for point in points if (point.workload, point.tasks) == _side(one)}
    return "<br>".join(
        f"{name} {units.duration(elapsed_ns)}, {hover.records(mine.get(group, ()))}"
        for name, group, elapsed_ns in (
            ("it took", one.group, one.elapsed_ns),
            ("the first", one.base, one.base_elapsed_ns),
        )
    )


def _table(comparisons: tuple[Comparison, ...]) -> Table:
    columns = (
        text_column("what"),
        "elapsed",
        "n",
        text_column("against"),
        "its elapsed",
        "its n",
        "times as long",
        "interval",
        text_column("verdict"),
    )
    rows = tuple(
        (
            f"{one.group}{_at_once(one)}",
            units.duration(one.elapsed_ns),
            str(one.repetitions),
            one.base,
            units.duration(one.base_elapsed_ns),
            str(one.base_repetitions),
            units.ratio(one.ratio),
            units.interval(one.low, one.high, units.ratio) if one.confidence else units.NOT_MEASURED,
            one.verdict,
        )
        for one in comparisons
    )
    return Table.of(columns, rows)


SECTION = Section("comparisons", exhibits, tables=tables, sentences=sentences, kinds=frozenset({"command"}))
