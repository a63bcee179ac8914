"""Two tiers over the number of nodes: where their curves cross, and the evidence."""

from __future__ import annotations

from collections.abc import Sequence
from math import log10

from tonnage import units
from tonnage.analysis.compare.differences import Difference
from tonnage.analysis.tiers.crossover import MeasuredRate
from tonnage.analysis.tiers.two_tiers import At, Crossing, Parts, Wins, wins
from tonnage.report import phrases
from tonnage.report.answer import Answer, Statement
from tonnage.report.answers.compare import against
from tonnage.report.figures import hover
from tonnage.report.figures.axes import nodes_axis, rate_axis
from tonnage.report.figures.colours import GRID, KNEE, KNEE_BAND, LINES, MUTED, VEIL, band_colour
from tonnage.report.figures.figure import (
    Exhibit,
    Figure,
    Table,
    Variant,
    error_bars,
    interval_band,
    layout,
    legend_text,
    text_column,
    upright,
    upright_band,
)
from tonnage.report.figures.plotly import Note, Shape, Trace
from tonnage.report.phrases import number
from tonnage.report.published import summit_tiers
from tonnage.report.sections import divided_rates as divided
from tonnage.report.sections import tiers
from tonnage.units import BANDWIDTH, OPERATIONS

_NOTES = (
    "The fast tier grows with the nodes, each of which has its own; the shared one grows until its ceiling.",
    "They cross at the ceiling of the shared tier ÷ what a node has on its own; the interval is that of the ratio.",
    "A circle is a measurement. A line is what follows from the single-node figure and the ceiling.",
)
_STEPS = 48
_ROOM = 1.3
"""Between the outermost rates and the ends of their axis."""


def answer(found: Sequence[Crossing]) -> Answer:
    """Makes the answer: a sentence for each operation, the table, the picture."""
    first = found[0]
    facts = (("fast tier", first.fast), ("shared tier", first.slow))
    told = tuple(told for one in found for told in _statements(one))
    top = max(map(_top, found))
    ends = {metric: _ends([one for one in found if _metric(one) == metric], top) for metric in map(_metric, found)}
    variants = tuple(Variant(one.crossover.op, (_figure(one, top, ends[_metric(one)]),)) for one in found)
    introduction = "Rate of all nodes together on either tier, by number of nodes."
    exhibit = Exhibit("crossing", "Where the lines cross", introduction, "Operation", variants)
    return Answer("Crossover", facts, told, (exhibit,), (_titled(found), *_parts(found)), _NOTES)


def _statements(found: Crossing) -> list[Statement]:
    crossover, undone = found.crossover, phrases.undone(found.undone_by)
    statements = [
        Statement(crossover.op, _sentence(found), tuple(_why(found)), _answered(found) and not undone, undone)
    ]
    if found.at is not None:
        name = f"{crossover.op}, {number(found.at.nodes)} nodes"
        sure = bool(found.at.ahead) and not undone and not found.unlike
        statements.append(Statement(name, _at(found, found.at), (), sure, undone))
    return statements


def _answered(found: Crossing) -> bool:
    shown = (found.crossover.levelled or found.from_first) and not (found.same_storage or found.no_winner_at_first)
    return shown and not found.unlike and not found.measured_once


def _sentence(found: Crossing) -> str:
    return f"{_unlike(found)}{_answer(found)}"


def _unlike(found: Crossing) -> str:
    """``Equal but for transfer_size (1 MiB against 4 KiB): ``; nothing where the workloads are equal."""
    if not found.unlike:
        return ""
    differ = ", ".join(against(Difference(f"workload.{one.key}", one.fast, one.slow)) for one in found.unlike)
    return f"Equal but for {differ}: "


def _answer(found: Crossing) -> str:
    if found.same_storage:
        fast, slow = _speed(found, found.crossover.fast), _speed(found, found.slow_one)
        return (
            f"Both tiers are one storage, measured twice ({fast} and {slow}): neither wins, and there is no crossover. "
            "Measure the tiers on two."
        )
    if found.from_first:
        each, alone = _speed(found, found.crossover.fast), _speed(found, found.slow_one)
        rates = f"{each} of its own against {alone} of the shared one, even where few share it"
        return f"The fast tier wins from the first node on: a node has {rates}."
    if found.no_winner_at_first:
        each, alone = _range(found, found.crossover.fast), _range(found, found.slow_one)
        return f"No winner is shown at the first node: a node has {each} of its own against {alone} of the shared one."
    if len(found.slow_curve) > 1:
        return tiers.sentence(found.crossover)
    return tiers.sentence(found.crossover, "with more nodes the shared tier was not measured")


def _why(found: Crossing) -> list[str]:
    """What the figures are, where that changes how far they can be believed."""
    crossover, reasons = found.crossover, []
    if _is_published(found):
        low, high = summit_tiers.claimed()
        reasons.append(f"Its authors name {low} to {high} nodes. {summit_tiers.nominal(crossover)}")
    for side, name in (("fast", "of a node"), ("slow", "of the shared tier")):
        if side in found.stated:
            reasons.append(f"The rate {name} was stated, not measured.")
    if found.per is not None:
        reasons.append(_divided(found, found.per))
        rates = (("a node's own", found.per.fast), ("the shared tier", found.per.slow))
        over = [whose for whose, rate in rates if found.per.unit.startswith("of ") and rate.median > 1]
        reasons += divided.beyond("its link", over)
    if found.same_storage:
        return reasons
    if found.no_winner_at_first:
        reasons.append("Measure each tier more often, on several days.")
    elif not crossover.levelled:
        most = found.slow_curve[-1].nodes
        got = "one node" if most == 1 else f"{number(most)} nodes"
        at = f"measure it with {number(crossover.measure_at)} nodes, or " if crossover.measure_at else ""
        more = f"more may get more; {at}state a ceiling that is known (--ceiling)"
        reasons.append(f"{found.slow} was measured with {got}: {more}.")
    if crossover.levelled and not crossover.confidence:
        known = found.stated or _is_published(found)
        of = "of a side that was stated, or measured once, none is known" if known else phrases.TOO_FEW
        reasons.append(f"There is no interval: {of}.")
    return reasons


def _range(found: Crossing, rate: MeasuredRate) -> str:
    """``1.86 GB/s [1.75, 2.05]``, or that it has no interval."""
    if not rate.confidence:
        return f"{_speed(found, rate)} (no interval)"
    ends = units.interval(rate.low, rate.high, lambda value: units.speed(value, _metric(found)))
    return f"{_speed(found, rate)} ({ends})"


def _divided(found: Crossing, per: Parts) -> str:
    """Both rates for one of what carried each tier."""
    metric = _metric(found)
    fast, slow = (units.rated(rate.median, metric, per.unit) for rate in (per.fast, per.slow))
    between = f" ({units.interval(per.ratio.low, per.ratio.high, units.ratio)})" if per.ratio.confidence else ""
    so_far = "" if found.crossover.levelled else ", as far as the shared tier was measured"
    return (
        f"Divided by {per.fast_of} of each node and by {per.slow_of} of all: {fast} against {slow}, "
        f"{units.ratio(per.ratio.median)} times{between}{so_far}."
    )


def _at(found: Crossing, at: Wins) -> str:
    rates = f"{_speed(found, at.fast)} on nodes' own against {_speed(found, at.slow)} on the shared tier"
    who = f"ahead is {at.ahead}" if at.ahead else "no winner is shown"
    beyond = "; more nodes than were measured" if at.beyond else ""
    single = "; single repetitions have no interval" if not at.ahead and found.measured_once else ""
    return f"{_unlike(found)}{who}: {rates}{single}{beyond}."


def _metric(found: Crossing) -> str:
    return OPERATIONS if found.crossover.op == "open-write-close" else BANDWIDTH


def _speed(found: Crossing, rate: MeasuredRate) -> str:
    return units.speed(rate.median, _metric(found))


def _titled(found: Sequence[Crossing]) -> tuple[str, Table]:
    """The table; its title names the tiers where all rows are of the same two, each in its place."""
    whole, title = _table(found), "From how many nodes on"
    if len({row[0] for row in whole.rows}) > 1:
        return title, whole
    return f"{title}: {whole.rows[0][0]}", Table(whole.columns[1:], tuple(row[1:] for row in whole.rows))


def _table(found: Sequence[Crossing]) -> Table:
    columns = (
        text_column("whose"),
        text_column("what"),
        "fast tier, a node",
        "slow tier, all nodes",
        "fast tier wins from",
        "interval",
    )
    named = [(f"{one.fast} against {one.slow}", one.crossover) for one in found if _crossed(one)]
    rest = tuple(
        (
            f"{one.fast} against {one.slow}",
            one.crossover.op,
            _speed(one, one.crossover.fast),
            _speed(one, one.slow_one),
            "the first node" if one.from_first else "no winner shown",
            units.NOT_MEASURED,
        )
        for one in found
        if not _crossed(one)
    )
    return Table.of(columns, (*tiers.crossover_rows(named), *rest))


def _crossed(found: Crossing) -> bool:
    """Whether the two lines cross beyond the first node."""
    return not (found.from_first or found.no_winner_at_first or found.same_storage)


def _parts(found: Sequence[Crossing]) -> list[tuple[str, Table]]:
    """Rates for one of what carried each tier, where that was asked for."""
    rows = []
    for one in found:
        if one.per is None:
            continue
        rates = (_divided_row(one, one.per.fast, one.per), _divided_row(one, one.per.slow, one.per))
        ratio = one.per.ratio
        bounds = units.interval(ratio.low, ratio.high, units.ratio) if ratio.confidence else units.NOT_MEASURED
        rows.append((one.crossover.op, *rates[0], *rates[1], units.ratio(ratio.median), bounds))
    columns = (text_column("what"), "fast tier", "interval", "slow tier", "its interval", "ratio", "interval of that")
    return [("Divided by what carried each tier", Table.of(columns, tuple(rows)))] if rows else []


def _divided_row(found: Crossing, rate: MeasuredRate, per: Parts) -> tuple[str, str]:
    def text(value: float) -> str:
        return units.rated(value, _metric(found), per.unit)

    return text(rate.median), units.interval(rate.low, rate.high, text) if rate.confidence else units.NOT_MEASURED


def _top(found: Crossing) -> float:
    """Nodes up to which the picture of this one has something to show."""
    most = max(at.nodes for at in (*found.fast_curve, *found.slow_curve))
    return 2 * max(most, found.crossover.high, found.at.nodes if found.at else 1)


def _ends(found: Sequence[Crossing], top: float) -> tuple[float, float]:
    """The lowest and the highest rate in any of these pictures, which are of one metric."""
    lines = [rate for one in found for line in (wins(one, 1), wins(one, round(top))) for rate in (line.fast, line.slow)]
    marks = [at for one in found for at in (*one.fast_curve, *one.slow_curve)]
    rates = [rate for rate in (*(line.median for line in lines), *(at.median for at in marks)) if rate > 0]
    return min(rates) / _ROOM, max(rates) * _ROOM


def _figure(found: Crossing, top: float, ends: tuple[float, float]) -> Figure:
    """With nodes up to ``top`` and rates between ``ends``, as the others of the section have them."""
    crossover = found.crossover
    grid = sorted({round(top ** (step / _STEPS)) for step in range(_STEPS + 1)})
    lines = [wins(found, nodes) for nodes in grid]
    fast, slow = [line.fast for line in lines], [line.slow for line in lines]
    traces = [
        *_line(found.fast, "write", grid, fast, _metric(found)),
        *_line(found.slow, "read", grid, slow, _metric(found)),
        _points(found.fast_curve, LINES["write"], _metric(found)),
        _points(found.slow_curve, LINES["read"], _metric(found)),
        *([] if found.from_first else [_crossing(found, top)]),
    ]
    story = _sentence(found)
    return Figure(
        title=f"{crossover.op}: both tiers against nodes",
        caption=story,
        alt=f"The rate of both tiers against the number of nodes, on logarithmic axes. {story}",
        traces=traces,
        layout=layout(
            nodes_axis(top),
            rate_axis(*ends, _metric(found)),
            height=460,
            shapes=[] if found.from_first else [*_marks(found), *_claimed(found)],
            annotations=[] if found.from_first else [_note(found, top), *_claimed_note(found)],
            showlegend=True,
        ),
        table=_data(found),
    )


def _line(name: str, hue: str, grid: Sequence[int], rates: Sequence[MeasuredRate], metric: str) -> list[Trace]:
    bands = interval_band(list(grid), [rate.low for rate in rates], [rate.high for rate in rates], band_colour(hue))
    line: Trace = {
        "x": list(grid),
        "y": [rate.median for rate in rates],
        "mode": "lines",
        "line": {"color": LINES[hue], "width": 2.5},
        "name": legend_text(name),
        "text": [units.speed(rate.median, metric) for rate in rates],
        "hovertemplate": "%{x:,} nodes<br>%{text}<extra></extra>",
    }
    return [*(bands if any(rate.confidence for rate in rates) else ()), line]


def _points(curve: Sequence[At], colour: str, metric: str) -> Trace:
    return {
        "x": [at.nodes for at in curve],
        "y": [at.median for at in curve],
        "mode": "markers",
        "marker": {"color": colour, "size": 10, "symbol": "circle-open", "line": {"width": 2}},
        "name": "measured",
        "showlegend": False,
        "text": [_mark(at, metric) for at in curve],
        "hovertemplate": "%{text}<extra></extra>",
    }


def _crossing(found: Crossing, top: float) -> Trace:
    """Where the lines meet, with the interval of the number of nodes."""
    crossover, rate = found.crossover, wins(found, max(1, round(found.crossover.nodes))).slow.median
    mark: Trace = {
        "x": [crossover.nodes],
        "y": [rate],
        "mode": "markers",
        "marker": {"color": KNEE, "size": 12, "symbol": "diamond"},
        "name": "they cross" if crossover.levelled else "up to here it is shown",
        "text": [f"{tiers.nodes_text(crossover.nodes)} nodes{_between(found)}<br>{units.speed(rate, _metric(found))}"],
        "hovertemplate": "%{text}<extra></extra>",
    }
    if crossover.confidence and crossover.levelled:
        # Where the end is not known, the whisker goes to the end of the picture.
        above, below = min(crossover.high, top) - crossover.nodes, crossover.nodes - crossover.low
        mark["error_x"] = error_bars([above], [below], KNEE, 2.5, 8)
    return mark


def _between(found: Crossing) -> str:
    """`` [11, 22]``; nothing where there is no interval."""
    crossover = found.crossover
    if not (crossover.confidence and crossover.levelled):
        return ""
    return f" [{units.interval(crossover.low, crossover.high, tiers.nodes_text, ', ')}]"


def _mark(at: At, metric: str) -> str:
    nodes = f"{number(at.nodes)} node{'s' if at.nodes != 1 else ''}"
    interval = (
        f"<br>interval {units.interval(at.low, at.high, lambda one: units.speed(one, metric))}" if at.confidence else ""
    )
    return f"{nodes}<br>measured {units.speed(at.median, metric)}{interval}<br>{hover.records(at.records)}"


def _marks(found: Crossing) -> list[Shape]:
    crossover = found.crossover
    marks = [upright(crossover.nodes, KNEE)]
    if crossover.confidence:
        marks.append(upright_band(crossover.low, crossover.high, KNEE_BAND))
    return marks


def _is_published(found: Crossing) -> bool:
    return set(summit_tiers.TIERS) == {found.fast, found.slow} and not found.stated


def _claimed(found: Crossing) -> list[Shape]:
    """Of the published tiers the nodes that their authors name, beside what the measured ceilings say."""
    if not _is_published(found):
        return []
    low, high = map(int, summit_tiers.claimed())
    band: Shape = {"type": "rect", "yref": "paper", "x0": low, "x1": high, "y0": 0, "y1": 1, "layer": "below"}
    return [band | {"fillcolor": GRID, "line": {"color": MUTED, "width": 1, "dash": "dot"}}]


def _claimed_note(found: Crossing) -> list[Note]:
    if not _is_published(found):
        return []
    low, high = summit_tiers.claimed()
    place: Note = {"x": log10(int(low)), "y": 0.97, "yref": "paper", "xanchor": "right", "yanchor": "top", "xshift": -5}
    text = f"its authors,<br>by nominal figures:<br>{low} to {high}"
    return [
        place
        | {"showarrow": False, "font": {"color": MUTED, "size": 12}, "bgcolor": VEIL, "text": text, "align": "right"}
    ]


def _note(found: Crossing, top: float) -> Note:
    crossover = found.crossover
    right = log10(max(1.0, crossover.nodes)) > 0.6 * log10(top)
    about = "" if crossover.levelled else "more than "
    return {
        "x": log10(crossover.nodes),
        "y": 0.03,
        "yref": "paper",
        "xanchor": "right" if right else "left",
        "yanchor": "bottom",
        "xshift": -5 if right else 5,
        "showarrow": False,
        "font": {"color": KNEE if crossover.levelled else MUTED, "size": 13},
        "bgcolor": VEIL,
        "text": f"{about}{tiers.nodes_text(crossover.nodes)}{_between(found)} "
        f"{'node' if crossover.nodes == 1 and not _between(found) else 'nodes'}",
    }


def _data(found: Crossing) -> Table:
    rows = [
        (
            name,
            number(at.nodes),
            units.speed(at.median, _metric(found)),
            units.speed(at.median / at.nodes, _metric(found)),
        )
        for name, curve in ((found.fast, found.fast_curve), (found.slow, found.slow_curve))
        for at in curve
    ]
    return Table.of((text_column("tier"), "nodes", "all", "a node"), tuple(rows))
