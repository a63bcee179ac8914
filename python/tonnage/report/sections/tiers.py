"""A fast tier and a slow one: which way wins here, and from how many nodes on."""

from __future__ import annotations

from tonnage import units
from tonnage.analysis.run_analysis import Analysis
from tonnage.analysis.tiers.crossover import Crossover, MeasuredRate, Tiers, Way
from tonnage.report import phrases
from tonnage.report.answer import Statement
from tonnage.report.figures import hover
from tonnage.report.figures.colours import LINES
from tonnage.report.figures.figure import Exhibit, Figure, Table, Variant, layout, text_column
from tonnage.report.figures.plotly import Trace
from tonnage.report.page_data import Source
from tonnage.report.sections.section_type import Section, Titled
from tonnage.units import BANDWIDTH, OPERATIONS

NAMES = {
    "straight": "straight to the slow tier",
    "copy": "fast tier, then cp and sync",
    "mover": "fast tier, with stage run",
}
_WHAT = {"write": "writes", "read": "reads", "open-write-close": "open-write-close"}


def exhibits(analysis: Analysis, _: Source) -> list[Exhibit]:
    """One section where the run has a ``stage``."""
    tiers = analysis.tiers
    if tiers is None or not tiers.ways:
        return []
    variants = tuple(
        Variant(phrases.tasks(tasks), (_figure([way for way in tiers.ways if way.tasks == tasks]),))
        for tasks in dict.fromkeys(way.tasks for way in tiers.ways)
    )
    return [Exhibit("tiers", "Which way wins", " ".join(story(tiers)), "Tasks", variants)]


def tables(analysis: Analysis) -> list[Titled]:
    """Makes tables of the ways to store the bytes, for the terminal."""
    tiers = analysis.tiers
    return [("Which way wins", _table(list(tiers.ways)))] if tiers and tiers.ways else []


def sentences(analysis: Analysis) -> list[Statement]:
    """Says which tier wins, as statements of the run."""
    return [Statement("", sentence) for sentence in (story(analysis.tiers) if analysis.tiers else ())]


def story(tiers: Tiers) -> list[str]:
    """Says which tier wins at this scale, and from how many nodes on."""
    return [*_winners(tiers), *(sentence(found) for found in tiers.crossovers)]


def _winners(tiers: Tiers) -> list[str]:
    most = max((way.tasks for way in tiers.ways), default=0)
    ways = [way for way in tiers.ways if way.tasks == most]
    if len({way.by for way in ways}) < 2:
        return []
    free, safe = min(ways, key=lambda way: way.application_ns), min(ways, key=lambda way: way.total_ns)
    others = "; ".join(
        f"{NAMES[way.by]} {units.duration(way.application_ns)} and {units.duration(way.total_ns)}" for way in ways
    )
    done = f"Here, with {phrases.tasks(most)} on one node, the application is done first {_by(free)}"
    both = ", and so is all on the slow tier" if free is safe else f"; all is safe on the slow tier first {_by(safe)}"
    found = [f"{done}{both}{_clearly(safe, ways)} ({others})."]
    for way in ways:
        if way.by == "mover":
            waits, drains = units.duration(way.application_ns), units.duration(way.drain_ns)
            found.append(
                f"An application that computes for {drains} before it writes again waits {waits} with stage run."
            )
    return found


def _by(way: Way) -> str:
    return {"straight": "writing straight to the slow tier"}.get(way.by, f"over the {NAMES[way.by]}")


def _clearly(best: Way, ways: list[Way]) -> str:
    """Whether the interval of the winner leaves the others out."""
    others = [way.point for way in ways if way is not best]
    if not best.point.confidence or not all(other.confidence for other in others):
        return f", as single repetitions have it: {phrases.TOO_FEW}"
    return "" if all(best.point.low > other.high for other in others) else ", though the intervals overlap"


_GREW = "not shown: with more nodes the slow tier may still grow"


def sentence(found: Crossover, open_end: str = _GREW) -> str:
    """From how many nodes on, and what that stands on; ``open_end``: why it may be more, where it may."""
    metric = OPERATIONS if found.op == "open-write-close" else BANDWIDTH
    rates = f"{units.speed(found.fast.median, metric)} a node against {units.speed(found.slow.median, metric)} of all"
    what = _WHAT[found.op]
    if found.nodes <= 1 and found.levelled:
        return f"For {what} the fast tier wins from the first node on: {rates}{_between(found)}."
    reason = f"{rates}{_between(found)}{_sweep_sentence(found, open_end)}"
    return (
        f"For {what} the fast tier wins from {_from_on(found)} {'node' if found.nodes == 1 else 'nodes'} on: {reason}."
    )


def _from_on(found: Crossover) -> str:
    return f"{'about' if found.levelled else 'more than'} {nodes_text(found.nodes)}"


def _sweep_sentence(found: Crossover, open_end: str) -> str:
    """What the sweep itself saw on both sides, and whether it went far enough."""
    seen = []
    if found.behind is not None:
        seen.append(f"measured behind at {phrases.number(found.behind)}")
    if found.ahead is not None and found.behind is not None:
        seen.append(f"ahead at {phrases.number(found.ahead)}")
    text = f"; {' and '.join(seen)}" if seen else ""
    at = f"; measure it with {phrases.number(found.measure_at)} nodes" if found.measure_at else ""
    return text if found.levelled else f"{text}; {open_end}{at}"


def _between(found: Crossover) -> str:
    if not (found.confidence and found.levelled):
        return ""
    nodes = units.interval(found.low, found.high, nodes_text, " to ")
    return f" ({units.share(found.confidence)} interval {nodes}{'' if nodes == units.NOT_KNOWN else ' nodes'})"


def nodes_text(value: float) -> str:
    """So many, in as many digits as they are known to; whole ones as such."""
    return units.significant(value, 2) if value < 10 and value != round(value) else str(round(value))


def _table(ways: list[Way]) -> Table:
    columns = (
        text_column("way"),
        "tasks",
        "application",
        "then until safe",
        "first write to safe",
        "rate to safe",
        "interval",
        "n",
    )
    rows = tuple(
        (
            NAMES[way.by],
            str(way.tasks),
            units.duration(way.application_ns),
            units.duration(way.drain_ns) if way.drain_ns else units.NOT_MEASURED,
            units.duration(way.total_ns),
            units.rate(way.point.median),
            phrases.bounds(way.point),
            str(way.point.repetitions),
        )
        for way in ways
    )
    return Table.of(columns, rows)


def _figure(ways: list[Way]) -> Figure:
    traces = [
        _bars("application writes", LINES["write"], ways, [way.application_ns for way in ways]),
        _bars("until all is safe", LINES["read"], ways, [way.drain_ns for way in ways]),
    ]
    best = min(ways, key=lambda way: way.total_ns)
    story = f"All is safe on the slow tier soonest {_by(best)}: {units.duration(best.total_ns)}."
    return Figure(
        title="From the first write until all is safe on the slow tier",
        caption=f"The median repetition of each way. {story}",
        alt=f"A bar for each way: the application's writing, then what is left. {story}",
        traces=traces,
        layout=layout(
            {"title": "Time since the first write (s)", "rangemode": "tozero"},
            {"title": "", "autorange": "reversed", "automargin": True},
            height=150 + 46 * max(3, len(ways)),
            barmode="stack",
            bargap=0.35,
            showlegend=True,
        ),
        table=_table(ways),
    )


def _bars(name: str, colour: str, ways: list[Way], lasted: list[int]) -> Trace:
    return {
        "type": "bar",
        "orientation": "h",
        "y": [NAMES[way.by] for way in ways],
        "x": [ns / 1e9 for ns in lasted],
        "text": [units.duration(ns) for ns in lasted],
        "textposition": "none",
        "name": name,
        "marker": {"color": colour, "line": {"color": "@#ffffff|#14171b", "width": 1}},
        "customdata": [hover.records(way.point.records) for way in ways],
        "hovertemplate": "%{y}<br>" + name + " %{text}<br>%{customdata}<extra></extra>",
    }


def crossover_rows(named: list[tuple[str, Crossover]]) -> tuple[tuple[str, ...], ...]:
    """Returns crossovers as rows of a table: name, operation, rate of one node, of all, and the number of nodes."""
    return tuple((whose, _WHAT[found.op], *_rates(found), _from_on(found), _range(found)) for whose, found in named)


def _rates(found: Crossover) -> tuple[str, str]:
    metric = OPERATIONS if found.op == "open-write-close" else BANDWIDTH
    return _speed(found.fast, metric), _speed(found.slow, metric)


def _speed(measured: MeasuredRate, metric: str) -> str:
    return units.speed(measured.median, metric)


def _range(found: Crossover) -> str:
    known = found.confidence and found.levelled
    return units.interval(found.low, found.high, nodes_text) if known else units.NOT_MEASURED


SECTION = Section("tiers", exhibits, tables=tables, sentences=sentences)
