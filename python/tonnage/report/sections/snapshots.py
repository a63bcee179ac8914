"""What a snapshot costs: time of a round against its bytes, with it and without, and the cost by setting."""

from __future__ import annotations

from math import ceil, floor, log2, log10

from tonnage import units
from tonnage.analysis.results import Point
from tonnage.analysis.run_analysis import Analysis
from tonnage.analysis.snapshots import Rounds, SnapshotCost
from tonnage.analysis.statistics.fixed_cost import COSTS, NOT_SHOWN, SAVES, UNCHANGED, Change, Cost
from tonnage.report import phrases
from tonnage.report.answer import Statement
from tonnage.report.figures import hover
from tonnage.report.figures.axes import latency_axis, tasks_axis
from tonnage.report.figures.colours import KNEE_BAND, LINES, MUTED, step_colour
from tonnage.report.figures.figure import (
    Exhibit,
    Figure,
    Table,
    Variant,
    error_bars,
    escaped,
    layout,
    level,
    text_column,
)
from tonnage.report.figures.plotly import Axis, Shape, Trace
from tonnage.report.page_data import Source
from tonnage.report.sections.point_table import groups_of
from tonnage.report.sections.section_type import Section, Titled
from tonnage.units import size_text

_TIMES = 2.0
"""Of a round, from which per cents become unreadable."""
_MOST_TICKS = 8
_SIDES = (("without", LINES["write"], "circle"), ("with a snapshot", LINES["read"], "diamond"))


def points(analysis: Analysis) -> list[Titled]:
    """What each phase of a checkpoint did, a table for each of its settings, for the terminal."""
    return [
        (phrases.subject(op, group), _points(found))
        for op in ("checkpoint", "restart", "drop")
        for group, found in groups_of([point for point in analysis.points if point.op == op], "checkpoint")
    ]


def _points(points: list[Point]) -> Table:
    columns = ("tasks", "median", "interval", "n", "p50", "p99", "max")
    rows = tuple(
        (
            str(point.tasks),
            units.speed(point.median, point.metric),
            phrases.bounds(point),
            str(point.repetitions),
            *phrases.waits(point),
        )
        for point in points
    )
    return Table.of(columns, rows)


def tables(analysis: Analysis) -> list[Titled]:
    """What each means costs, for the terminal."""
    return [(f"What a snapshot costs: {name(cost)}", table(cost)) for cost in analysis.snapshots]


def sentences(analysis: Analysis) -> list[Statement]:
    """The same as what the run says; sure where a cost is shown."""
    found = []
    for cost in analysis.snapshots:
        first, *more = cost_sentences(cost)
        found.append(Statement("", first, tuple(more), bool(cost.cost.confidence) and cost.cost.verdict != NOT_SHOWN))
    return found


def name(found: SnapshotCost) -> str:
    """Returns text such as ``btrfs``, ``rados, coordination each``."""
    return ", ".join(filter(None, (found.means, found.group)))


def cost_sentences(found: SnapshotCost) -> list[str]:
    """The cost, what share of which round it is, and whether it changes."""
    least = min(found.rounds, key=lambda rounds: rounds.without_ns)
    most = max(found.rounds, key=lambda rounds: rounds.without_ns)
    told = [f"{_verdict(found)}."]
    if found.cost.verdict in (COSTS, SAVES):
        parts = [f"{_of(found.cost.cost_ns / rounds.without_ns)} {_round(rounds)}" for rounds in (least, most)]
        told.append(f"That is {' and '.join(dict.fromkeys(parts))}.")
    if found.call_ns:
        told.append(f"Taking one takes {units.duration(found.call_ns)} by itself (median).")
    changes = [
        _change(change, each, what)
        for change, each, what in (
            (found.with_tasks, "each doubling of the tasks", "the number of tasks"),
            (found.with_bytes, "each GiB more in a round", "the size of a round"),
        )
        if change is not None
    ]
    return told + changes


def _verdict(found: SnapshotCost) -> str:
    cost = found.cost
    if not cost.confidence:
        return f"A snapshot ({name(found)}) added {time(cost.cost_ns)} to a round, once: repeat it to know"
    bounds = f"{units.share(cost.confidence)} interval {time(cost.low_ns)} to {time(cost.high_ns)}"
    scatter = "; nothing was repeated: from how far settings lie apart" if found.from_scatter else ""
    if cost.verdict == COSTS:
        return f"Each snapshot ({name(found)}) adds {time(cost.cost_ns)} to its round ({bounds}{scatter})"
    if cost.verdict == SAVES:
        return f"With a snapshot ({name(found)}) a round is {time(-cost.cost_ns)} shorter ({bounds}{scatter})"
    text = f"A cost of a snapshot ({name(found)}) is not shown: {time(cost.cost_ns)} a round ({bounds}{scatter})"
    if cost.shown_from_ns is not None:
        text += f"; {time(cost.shown_from_ns)} or more would have been shown four times of five"
    if cost.repetitions_to_show is not None:
        text += f", and {cost.repetitions_to_show} repetitions would show one such as this"
    return text


def _change(change: Change, each: str, what: str) -> str:
    bounds = f"{units.share(change.confidence)} interval {time(change.low_ns)} to {time(change.high_ns)}"
    if change.verdict == UNCHANGED:
        return f"No change shown with {what} ({time(change.per_unit_ns)} for {each}, {bounds})."
    return f"It {change.verdict} by {time(abs(change.per_unit_ns))} for {each} ({bounds})."


def time(ns: float) -> str:
    """A duration that may be below 0."""
    return units.duration(ns).replace("-", "\N{MINUS SIGN}")


def _round(rounds: Rounds) -> str:
    return f"of {size_text(rounds.bytes)} by {phrases.tasks(rounds.tasks)}"


def round_share(share: float) -> str:
    """A share of a round: ``3.8 times`` where per cents become unreadable, ``−9 %`` where it is below 0."""
    share_text = f"{units.significant(abs(share), 2)} times" if abs(share) >= _TIMES else units.share(abs(share))
    return f"\N{MINUS SIGN}{share_text}" if share < 0 else share_text


def _of(share: float) -> str:
    return f"{round_share(share)}{'' if share >= _TIMES else ' of'} a round"


def table(found: SnapshotCost) -> Table:
    """A row for each setting that was measured with the snapshot and without, then all together."""
    columns = (
        "tasks",
        "transfer",
        "a round",
        "without",
        "with",
        "adds",
        "interval",
        "of a round",
        text_column("verdict"),
    )
    rows = [
        (
            str(rounds.tasks),
            units.size(rounds.transfer_size),
            size_text(rounds.bytes),
            units.duration(rounds.without_ns),
            units.duration(rounds.with_ns),
            *_cost(rounds.cost),
            round_share(rounds.share),
            rounds.cost.verdict,
        )
        for rounds in found.rounds
    ]
    rows.append(("all", "", "", "", "", *_cost(found.cost), "", found.cost.verdict))
    return Table.of(columns, tuple(rows))


def _cost(cost: Cost) -> tuple[str, str]:
    bounds = f"{time(cost.low_ns)} – {time(cost.high_ns)}" if cost.confidence else units.NOT_MEASURED
    return time(cost.cost_ns), bounds


def exhibits(analysis: Analysis, _: Source) -> list[Exhibit]:
    """Two pictures for each means: both lines of time against bytes, and the cost by tasks and transfer size."""
    variants = [
        Variant(label, (lines(found, transfer), by_tasks(found)))
        for found in analysis.snapshots
        for transfer in dict.fromkeys(rounds.transfer_size for rounds in found.rounds)
        for label in (f"{name(found)}, transfers of {units.size(transfer)}",)
    ]
    if not variants:
        return []
    # What it costs stands in the answer above, once.
    introduction = "Rounds with a snapshot beside rounds without one."
    return [Exhibit("snapshots", "What a snapshot costs", introduction, "Snapshot", tuple(variants))]


def lines(found: SnapshotCost, transfer: int) -> Figure:
    """Draws the time of a round against its bytes, with the snapshot and without."""
    shown = [rounds for rounds in found.rounds if rounds.transfer_size == transfer]
    traces = [
        _line([rounds for rounds in shown if rounds.tasks == tasks], tasks, side, first=number == 0)
        for number, tasks in enumerate(sorted({rounds.tasks for rounds in shown}))
        for side in range(2)
    ]
    times = [spent for rounds in shown for spent in (rounds.without_ns, rounds.with_ns)]
    cost = found.cost
    shapes: list[Shape] = []
    if cost.verdict == COSTS:
        shapes = [_band(cost.low_ns, cost.high_ns), {**level(cost.cost_ns, MUTED, "dash"), "x1": 1e18}]
        times += [cost.low_ns, cost.high_ns]
    text = f"{_verdict(found)}."
    beside = "Both axes are logarithmic: a constant cost is a floor that short rounds cannot get below"
    return Figure(
        title="Time of a round against its bytes",
        caption=f"{beside}{' (dashed, with its interval)' if shapes else ''}. A line for each number of tasks.",
        alt=f"Time against bytes of a round: a line without and one with a snapshot for each number of tasks. {text}",
        traces=traces,
        layout=layout(
            _bytes_axis([rounds.bytes for rounds in shown]),
            latency_axis(min(times), max(times), "Time of a round"),
            showlegend=True,
            shapes=shapes,
        ),
        table=table(found),
    )


def _bytes_axis(sizes: list[int]) -> Axis:
    """Powers of two on a logarithmic axis, as many as fit."""
    low, high = log2(min(sizes)), log2(max(sizes))
    step = max(1, ceil((high - low) / _MOST_TICKS))
    ticks = [1 << power for power in range(floor(low), ceil(high) + 1, step)]
    pad = 0.04 * max(1.0, high - low)
    return {
        "title": "Bytes in a round (of all tasks)",
        "type": "log",
        # Said, for the kit would make room for the band, which is drawn across everything.
        "range": [(low - pad) * log10(2), (high + pad) * log10(2)],
        "tickvals": ticks,
        "ticktext": [size_text(tick) for tick in ticks],
    }


def _line(shown: list[Rounds], tasks: int, side: int, *, first: bool) -> Trace:
    label, colour, symbol = _SIDES[side]
    shown = sorted(shown, key=lambda rounds: rounds.bytes)
    times = [rounds.with_ns if side else rounds.without_ns for rounds in shown]
    return {
        "x": [rounds.bytes for rounds in shown],
        "y": times,
        "mode": "lines+markers",
        "line": {"color": colour, "width": 1.2},
        "marker": {"color": colour, "size": 8, "symbol": symbol},
        "name": label,
        "legendgroup": label,
        "showlegend": first,
        "text": [
            f"{escaped(label)}, {phrases.tasks(tasks)}<br>{size_text(rounds.bytes)} in {units.duration(spent)}<br>"
            f"{hover.records(rounds.records[side])}"
            for rounds, spent in zip(shown, times, strict=True)
        ],
        "hovertemplate": "%{text}<extra></extra>",
    }


def _band(low: float, high: float) -> Shape:
    return {
        "type": "rect",
        "x0": 1e-6,
        "x1": 1e18,
        "y0": max(low, 1),
        "y1": high,
        "fillcolor": KNEE_BAND,
        "line": {"width": 0},
        "layer": "below",
    }


def by_tasks(found: SnapshotCost) -> Figure:
    """Draws the cost with its interval, for each number of tasks and transfer size, over all sizes of a round."""
    sizes = sorted({transfer for _, transfer, _ in found.curves})
    traces: list[Trace] = []
    for number, size in enumerate(sizes):
        curve = [(tasks, cost) for tasks, transfer, cost in found.curves if transfer == size]
        colour = step_colour(number, max(len(sizes), 2))
        traces.append(
            {
                # Side by side, or the intervals would hide each other.
                "x": [tasks * 1.05 ** (number - (len(sizes) - 1) / 2) for tasks, _ in curve],
                "y": [cost.cost_ns / 1e9 for _, cost in curve],
                "error_y": error_bars(
                    [(cost.high_ns - cost.cost_ns) / 1e9 for _, cost in curve],
                    [(cost.cost_ns - cost.low_ns) / 1e9 for _, cost in curve],
                    colour,
                    1.2,
                ),
                "mode": "markers",
                "marker": {"color": colour, "size": 9},
                "name": f"transfers of {units.size(size)}",
                "text": [
                    f"{phrases.tasks(tasks)}: {', '.join(_cost(cost))}<br>{_records(found, tasks, size)}"
                    for tasks, cost in curve
                ],
                "hovertemplate": "%{text}<extra></extra>",
            }
        )
    costs = " ".join(cost_sentences(found)[1:])
    return Figure(
        title="What a snapshot adds, by tasks",
        caption="With 95 % intervals; the band is that of all together.",
        alt=f"Seconds that a snapshot adds to a round against the number of tasks, with intervals. {costs}",
        traces=traces,
        layout=layout(
            tasks_axis([tasks for tasks, _, _ in found.curves]),
            {"title": "Added to a round (s)", "zeroline": True, "zerolinecolor": MUTED},
            showlegend=True,
            shapes=[
                *(
                    [{**_band(1, 1), "y0": found.cost.low_ns / 1e9, "y1": found.cost.high_ns / 1e9}]
                    if found.cost.confidence
                    else []
                ),
                level(found.cost.cost_ns / 1e9, MUTED, "dash"),
            ],
        ),
        table=table(found),
    )


def _records(found: SnapshotCost, tasks: int, transfer: int) -> str:
    """Of all rounds of so many tasks, whatever their size."""
    mine = [rounds for rounds in found.rounds if (rounds.tasks, rounds.transfer_size) == (tasks, transfer)]
    return hover.records([name for rounds in mine for name in sum(rounds.records, ())])


SECTION = Section(
    "snapshots",
    exhibits,
    points=points,
    tables=tables,
    sentences=sentences,
    kinds=frozenset({"checkpoint"}),
    tells=frozenset({"fixed-cost"}),
)
