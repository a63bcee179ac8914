"""Where the bytes of a ``stage`` were over time: written, waiting, safe; and what was left free on the fast tier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tonnage import units
from tonnage.analysis.hosts import nearest
from tonnage.analysis.results import Point
from tonnage.analysis.run_analysis import Analysis
from tonnage.records.phase_results import StageResult
from tonnage.report import phrases
from tonnage.report.figures import hover
from tonnage.report.figures.axes import rate_scale_title
from tonnage.report.figures.colours import KNEE, KNEE_BAND, LINES, MUTED
from tonnage.report.figures.figure import Column, Exhibit, Figure, Table, Variant, layout, upright_band
from tonnage.report.figures.plotly import Trace
from tonnage.report.figures.series import intervals
from tonnage.report.page_data import Source
from tonnage.report.sections.section_type import Section
from tonnage.report.sections.tiers import NAMES

Steps = list[tuple[int, float]]
"""``(nanoseconds since the first write, bytes)``, in order of time."""


@dataclass(frozen=True, slots=True)
class _Timeline:
    """One ``stage`` phase. Without samples, the waiting and free bytes are unknown."""

    record: str
    by: str
    stage: StageResult
    total: int
    end_ns: int
    written: Steps
    waiting: Steps
    arrived: Steps
    safe: Steps
    free: Steps
    is_sampled: bool


def exhibits(analysis: Analysis, source: Source) -> list[Exhibit]:
    """A choice for each way and number of tasks; none where the run has no ``stage``."""
    variants, ways = [], []
    for point in analysis.points:
        if point.kind == "stage" and point.op == "stage":
            found = _timeline(point, source)
            if found is not None:
                label = f"{NAMES[found.by]}, {phrases.tasks(point.tasks)} ({found.record})"
                variants.append(Variant(label, _figures(found)))
                ways.append(found.by)
    if not variants:
        return []
    introduction = (
        "The repetition nearest the median of each way. What lies between the line of what is written and that of what "
        "is safe would be lost with the node."
    )
    default = ways.index("mover") if "mover" in ways else 0
    return [Exhibit("staging", "Where the bytes were", introduction, "Way", tuple(variants), default)]


def _timeline(point: Point, source: Source) -> _Timeline | None:
    record = nearest(point)
    line = source.trial(record)
    stage, begin, end = line.get("stage"), line.get("first_start_ns"), line.get("last_done_ns")
    if not stage or begin is None or end is None:
        return None
    total, end_ns = int(line["bytes"]), end - begin
    samples = [one for one in stage.get("progress", ()) if one[0] is not None and one[0] >= begin]
    is_sampled = len(samples) > 1

    def column(number: int) -> Steps:
        told = [(one[0], one[number]) for one in samples]
        return [(at - begin, float(value)) for at, value in told if at is not None and value is not None]

    # What is known of every run: nothing is safe at first, all of it in the end.
    safe: Steps = [(0, 0.0), *column(3)] if is_sampled else [(0, 0.0), (end_ns, float(total))]
    if not is_sampled and stage["copied_before_end_bytes"]:
        safe.insert(1, (stage["application_ns"], float(stage["copied_before_end_bytes"])))
    return _Timeline(
        record=record,
        by=str(line["setting"]["by"]),
        stage=stage,
        total=total,
        end_ns=end_ns,
        written=_written(record, source, total, stage, end_ns),
        waiting=column(1),
        arrived=column(2) if line["setting"]["by"] == "copy" else [],
        safe=safe,
        free=column(4),
        is_sampled=is_sampled,
    )


def _written(record: str, source: Source, total: int, stage: StageResult, end_ns: int) -> Steps:
    """What the application had written, from the series of its own phase; without it a straight line to its end."""
    found, so_far = [(0, 0.0)], 0
    for _, end, moved, _ in intervals(source.series(f"{record.rpartition('-')[0]}-write")):
        so_far += moved
        found.append((end, float(so_far)))
    if len(found) == 1:
        found.append((stage["application_ns"], float(total)))
    return [*found, (max(end_ns, found[-1][0]), found[-1][1])]


def _figures(found: _Timeline) -> tuple[Figure, ...]:
    bytes_of = _bytes(found)
    return (bytes_of, _head_room(found)) if found.free else (bytes_of,)


def _bytes(found: _Timeline) -> Figure:
    scale, title = rate_scale_title(max(found.total, 1), "Bytes", "B")
    lines = [
        ("written by the application", found.written, LINES["write"], "solid"),
        ("waits on the fast tier", found.waiting, MUTED, "dot"),
        ("arrived, not yet synced", found.arrived, MUTED, "dot"),
        ("safe on the slow tier", found.safe, KNEE, "solid"),
    ]
    traces = [_line(found, name, steps, colour, dash, scale) for name, steps, colour, dash in lines if steps]
    told = _caption(found)
    return Figure(
        title="Written, waiting, safe",
        caption=f"{found.record}. {told}",
        alt=f"Bytes over time of {found.record}: what the application wrote, what waited, and what was safe. {told}",
        traces=traces,
        layout=layout(
            {"title": "Time since the first write (s)", "range": [0, 1.02 * found.end_ns / 1e9]},
            {"title": title, "range": [0, 1.08 * found.total / scale]},
            showlegend=True,
            shapes=[upright_band(0, found.stage["application_ns"] / 1e9, KNEE_BAND)],
        ),
        table=_table(found),
    )


def _caption(found: _Timeline) -> str:
    application, drain = (units.duration(found.stage[key]) for key in ("application_ns", "drain_ns"))
    early = found.stage["copied_before_end_bytes"] / found.total if found.total else 0.0
    then = f"{units.share(early)} was copied by then, and all was safe {drain} later"
    unknown = "" if found.is_sampled else " Nobody looked in between: the line of what was safe joins what is known."
    return f"The application wrote for {application} (shaded); {then}.{unknown}"


def _line(found: _Timeline, name: str, steps: Steps, colour: str, dash: str, scale: float) -> Trace:
    return {
        "x": [at / 1e9 for at, _ in steps],
        "y": [value / scale for _, value in steps],
        "mode": "lines",
        "name": name,
        "line": {"color": colour, "width": 2.2, "dash": dash},
        "text": [units.volume(round(value)) for _, value in steps],
        "hovertemplate": f"{name}<br>%{{x:.3f}} s: %{{text}}" + hover.ending(found.record),
    }


def _head_room(found: _Timeline) -> Figure:
    least, most = min(value for _, value in found.free), max(value for _, value in found.free)
    scale, title = rate_scale_title(max(most, 1.0), "Free", "B")
    told = f"At least {units.volume(round(least))} was free on the fast tier, {units.volume(round(most))} at most."
    return Figure(
        title="Head-room of the fast tier",
        caption=f"{found.record}. {told} Files stay there until the trial is over.",
        alt=f"Free bytes of the fast tier over time. {told}",
        traces=[_line(found, "free", found.free, LINES["read"], "solid", scale)],
        layout=layout(
            {"title": "Time since the first write (s)", "range": [0, 1.02 * found.end_ns / 1e9]},
            {"title": title, "range": [0, 1.08 * most / scale or 1]},
            shapes=[upright_band(0, found.stage["application_ns"] / 1e9, KNEE_BAND)],
        ),
        table=_table(found),
    )


def _table(found: _Timeline) -> Table:
    """A row for each sample, with the bytes written by then."""
    columns = (Column("time", "s"), "written", "waits", "arrived", "safe", "free")
    others = [dict(steps) for steps in (found.waiting, found.arrived, found.safe, found.free)]
    rows = tuple(
        (
            f"{at / 1e9:.3f}",
            units.volume(round(_at(found.written, at))),
            *(units.volume(round(told[at])) if at in told else units.NOT_MEASURED for told in others),
        )
        for at, _ in found.safe
    )
    return Table.of(columns, rows)


def _at(steps: Sequence[tuple[int, float]], when: int) -> float:
    """Of a count that grows, what it was."""
    return max((value for at, value in steps if at <= when), default=0.0)


SECTION = Section("staging", exhibits)
