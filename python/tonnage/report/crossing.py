"""Two tiers against nodes: where their lines cross, and what that stands on."""

from __future__ import annotations

from collections.abc import Sequence
from math import log10
from typing import Any

from tonnage.analysis.crossing import At, Crossing, Wins, wins
from tonnage.analysis.results import BANDWIDTH, OPERATIONS, Measured
from tonnage.report import published_tiers, tiers, units
from tonnage.report.answer import Answer, Told
from tonnage.report.figure import (
    KNEE,
    KNEE_BAND,
    LINES,
    MUTED,
    VEIL,
    Exhibit,
    Figure,
    Table,
    Variant,
    band_colour,
    layout,
    speed_scale_title,
    words,
)
from tonnage.report.sentences import number

_NOTES = (
    "The fast tier grows with the nodes, each of which has its own; the shared one grows until its ceiling.",
    "They cross at the ceiling of the shared tier ÷ what a node has on its own; the interval is that of the ratio.",
    "A circle is a measurement. A line is what follows from the single-node figure and the ceiling.",
)
_STEPS = 48


def answer(found: Sequence[Crossing]) -> Answer:
    """A sentence for each operation, the table, the picture."""
    first = found[0]
    facts = (("fast tier", first.fast), ("shared tier", first.slow))
    told = tuple(told for one in found for told in _told(one))
    variants = tuple(Variant(one.crossover.op, (_figure(one),)) for one in found)
    introduction = "Rate of all nodes together on either tier, by number of nodes."
    exhibit = Exhibit("crossing", "Where the lines cross", introduction, "Operation", variants)
    return Answer("Crossover", facts, told, (exhibit,), (("From how many nodes on", _table(found)),), _NOTES)


def _told(found: Crossing) -> list[Told]:
    crossover = found.crossover
    told = [Told(crossover.op, _sentence(found), tuple(_why(found)), crossover.levelled or found.from_first)]
    if found.at is not None:
        told.append(
            Told(f"{crossover.op}, {number(found.at.nodes)} nodes", _at(found, found.at), (), bool(found.at.ahead))
        )
    return told


def _sentence(found: Crossing) -> str:
    if found.from_first:
        each, alone = _speed(found, found.crossover.fast), _speed(found, found.slow_one)
        rates = f"{each} of its own against {alone} of the shared one, even where few share it"
        return f"The fast tier wins from the first node on: a node has {rates}."
    if len(found.slow_curve) > 1:
        return tiers.sentence(found.crossover)
    return tiers.sentence(found.crossover, "with more nodes the shared tier was not measured")


def _why(found: Crossing) -> list[str]:
    """What the figures are, where that changes how far they can be believed."""
    crossover, told = found.crossover, []
    if set(published_tiers.TIERS) == {found.fast, found.slow} and not found.stated:
        low, high = published_tiers.claimed()
        told.append(f"Its authors name {low} to {high} nodes. {published_tiers.nominal(crossover)}")
    for side, name in (("fast", "of a node"), ("slow", "of the shared tier")):
        if side in found.stated:
            told.append(f"The rate {name} was stated, not measured.")
    if not crossover.levelled:
        most = found.slow_curve[-1].nodes
        got = "one node" if most == 1 else f"{number(most)} nodes"
        more = "more may get more, and a ceiling that is known can be stated (--ceiling)"
        told.append(f"What {found.slow} does not exceed is taken from what {got} got out of it: {more}.")
    if not crossover.confidence:
        told.append("There is no interval: of a side that was measured once, or stated, none is known.")
    return told


def _at(found: Crossing, at: Wins) -> str:
    rates = f"{_speed(found, at.fast)} on nodes' own against {_speed(found, at.slow)} on the shared tier"
    who = f"{at.ahead} is ahead" if at.ahead else "no winner is shown"
    beyond = "; more nodes than were measured" if at.beyond else ""
    return f"{who}: {rates}{beyond}."


def _metric(found: Crossing) -> str:
    return OPERATIONS if found.crossover.op == "open-write-close" else BANDWIDTH


def _speed(found: Crossing, rate: Measured) -> str:
    return units.speed(rate.median, _metric(found))


def _table(found: Sequence[Crossing]) -> Table:
    columns = ("whose", "what", "fast tier, a node", "slow tier, all nodes", "fast tier wins from", "interval")
    named = [(f"{one.fast} against {one.slow}", one.crossover) for one in found if not one.from_first]
    rows = [
        (f"{one.fast} against {one.slow}", one.crossover.op, _speed(one, one.crossover.fast), _speed(one, one.slow_one))
        for one in found
        if one.from_first
    ]
    firsts = tuple((*row, "the first node", units.NOT_MEASURED) for row in rows)
    return Table(columns, (*tiers.crossover_rows(named), *firsts))


def _figure(found: Crossing) -> Figure:
    crossover = found.crossover
    most = max(at.nodes for at in (*found.fast_curve, *found.slow_curve))
    top = 2 * max(most, crossover.high, found.at.nodes if found.at else 1)
    grid = sorted({round(top ** (step / _STEPS)) for step in range(_STEPS + 1)})
    lines = [wins(found, nodes) for nodes in grid]
    highest = max(max(line.fast.median, line.slow.median) for line in lines)
    scale, title = speed_scale_title(highest, _metric(found))
    fast, slow = [line.fast for line in lines], [line.slow for line in lines]
    traces = [
        *_line(found.fast, LINES["write"], band_colour("write"), grid, fast, scale),
        *_line(found.slow, LINES["read"], band_colour("read"), grid, slow, scale),
        _points(found.fast_curve, LINES["write"], scale),
        _points(found.slow_curve, LINES["read"], scale),
    ]
    story = _sentence(found)
    return Figure(
        title=f"{crossover.op}: both tiers against nodes",
        caption=story,
        alt=f"The rate of both tiers against the number of nodes, on logarithmic axes. {story}",
        traces=traces,
        layout=layout(
            {"title": "Nodes", "type": "log", "tickformat": ",d", "dtick": 1},
            {"title": title, "type": "log", "dtick": "D2"},
            height=460,
            shapes=[] if found.from_first else _marks(found),
            annotations=[] if found.from_first else [_note(found, top)],
            showlegend=True,
        ),
        table=_data(found),
    )


def _line(
    name: str, colour: str, band: str, grid: Sequence[int], rates: Sequence[Measured], scale: float
) -> list[dict[str, Any]]:
    edge: dict[str, Any] = {
        "x": list(grid),
        "mode": "lines",
        "line": {"width": 0},
        "hoverinfo": "skip",
        "showlegend": False,
    }
    bands = [
        {**edge, "y": [rate.low / scale for rate in rates]},
        {**edge, "y": [rate.high / scale for rate in rates], "fill": "tonexty", "fillcolor": band},
    ]
    line = {
        "x": list(grid),
        "y": [rate.median / scale for rate in rates],
        "mode": "lines",
        "line": {"color": colour, "width": 2.5},
        "name": words(name),
        "hovertemplate": "%{x:,} nodes<br>%{y:.4g}<extra></extra>",
    }
    return [*(bands if any(rate.confidence for rate in rates) else ()), line]


def _points(curve: Sequence[At], colour: str, scale: float) -> dict[str, Any]:
    return {
        "x": [at.nodes for at in curve],
        "y": [at.median / scale for at in curve],
        "mode": "markers",
        "marker": {"color": colour, "size": 10, "symbol": "circle-open", "line": {"width": 2}},
        "name": "measured",
        "showlegend": False,
        "hovertemplate": "%{x:,} nodes<br>measured %{y:.4g}<extra></extra>",
    }


def _marks(found: Crossing) -> list[dict[str, Any]]:
    crossover = found.crossover
    line = {"type": "line", "x0": crossover.nodes, "x1": crossover.nodes, "yref": "paper", "y0": 0, "y1": 1}
    marks = [line | {"line": {"color": KNEE, "width": 1.5}, "layer": "below"}]
    if crossover.confidence:
        band = {"type": "rect", "yref": "paper", "x0": crossover.low, "x1": crossover.high, "y0": 0, "y1": 1}
        marks.append(band | {"fillcolor": KNEE_BAND, "line": {"width": 0}, "layer": "below"})
    return marks


def _note(found: Crossing, top: float) -> dict[str, Any]:
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
        "text": f"{about}{tiers.nodes_text(crossover.nodes)} nodes",
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
    return Table(("tier", "nodes", "all", "a node"), tuple(rows))
