"""What a mounted export's client counted during a phase: calls, and where their time went."""

from __future__ import annotations

from collections.abc import Mapping

from tonnage import units
from tonnage.analysis.hosts import nearest
from tonnage.analysis.results import Point
from tonnage.analysis.run_analysis import Analysis
from tonnage.records.line_types import NfsMount
from tonnage.report import phrases
from tonnage.report.figures.colours import line_colour
from tonnage.report.figures.figure import Exhibit, Figure, Table, Variant, layout
from tonnage.report.figures.plotly import Trace
from tonnage.report.page_data import Source
from tonnage.report.sections.section_type import Section

_MOST = 12
"""Kinds of call that are shown: those that took most time."""
_INTRODUCTION = (
    "Calls to the server as this host's kernel counted them (/proc/self/mountstats), of all programs that used the "
    "mount meanwhile. A call waits in the client's queue until it is sent; from then until its answer is a round trip."
)


def exhibits(analysis: Analysis, source: Source) -> list[Exhibit]:
    """One section where a target was a mounted NFS export: of each curve the point with most tasks."""
    best: dict[tuple[str, str], Point] = {}
    for point in sorted(analysis.points, key=lambda point: point.tasks):
        best[point.op, point.group] = point
    variants = [
        Variant(f"{phrases.subject(point.op, point.group)}, {phrases.tasks(point.tasks)}", (_figure(mount),))
        for point in best.values()
        for mount in (source.trial(nearest(point)).get("nfs") or ())
        if mount["operations"]
    ]
    return [Exhibit("nfs", "Calls to the NFS server", _INTRODUCTION, "Phase", tuple(variants))] if variants else []


def table(mount: NfsMount) -> Table:
    """Makes a row for each kind of call, the one that took most time first."""
    columns = ("call", "calls", "sent again", "timeouts", "errors", "sent", "received", "mean queue", "mean round trip")
    rows = tuple(
        (
            name,
            phrases.number(row["operations"]),
            phrases.number(row["retransmissions"]),
            phrases.number(row["timeouts"]),
            phrases.number(row["errors"]) if "errors" in row else units.NOT_MEASURED,
            units.volume(row["sent_bytes"]),
            units.volume(row["received_bytes"]),
            units.duration(_mean(row, "queue_ns")),
            units.duration(_mean(row, "rtt_ns")),
        )
        for name, row in _busiest(mount)
    )
    return Table.of(columns, rows)


def story(mount: NfsMount) -> str:
    """How many calls there were, and how many had to be sent again."""
    calls = sum(row["operations"] for row in mount["operations"].values())
    again = sum(row["retransmissions"] for row in mount["operations"].values())
    text = f"{phrases.number(calls)} calls to {mount['device']}, {phrases.number(again)} of them sent again"
    sends, waited = mount["transport"].get("sends"), mount["transport"].get("backlog")
    if sends and waited:
        text += f"; when a call was sent {waited / sends:.1f} others waited for a slot, in the mean"
    return text + "."


def _figure(mount: NfsMount) -> Figure:
    busiest = _busiest(mount)
    names = [name for name, _ in busiest]
    text = story(mount)
    traces = [
        _bars(title, names, [_mean(row, key) / 1e6 for _, row in busiest], op)
        for title, key, op in (("in the queue", "queue_ns", "read"), ("round trip", "rtt_ns", "write"))
    ]
    highest = max(sum(pair) for pair in zip(*(trace["y"] for trace in traces), strict=True))
    return Figure(
        title="Mean time of a call",
        caption=f"{text} The kernel counts whole milliseconds.",
        alt=f"Mean time of a call in the queue and on its way, by kind of call. {text}",
        traces=traces,
        layout=layout(
            {"title": "Call", "type": "category"},
            {"title": "Mean time (ms)", "range": [0, 1.15 * highest or 1]},
            barmode="stack",
            showlegend=True,
        ),
        table=table(mount),
    )


def _busiest(mount: NfsMount) -> list[tuple[str, dict[str, int]]]:
    rows = [(name, row) for name, row in mount["operations"].items() if row["operations"]]
    return sorted(rows, key=lambda pair: (-pair[1]["execute_ns"], -pair[1]["operations"]))[:_MOST]


def _mean(row: Mapping[str, int], key: str) -> float:
    return float(row[key] / max(row["operations"], 1))


def _bars(name: str, calls: list[str], values: list[float], op: str) -> Trace:
    return {
        "type": "bar",
        "name": name,
        "x": calls,
        "y": values,
        "marker": {"color": line_colour(op)},
        "hovertemplate": f"%{{x}}<br>{name} %{{y:.4g}} ms<extra></extra>",
    }


SECTION = Section("nfs", exhibits)
