"""Every trial when it ran: drift, two speeds and other load are seen in the order of time, and in no average."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from statistics import median

from tonnage import units
from tonnage.analysis.results import Finding, Point
from tonnage.analysis.run_analysis import Analysis
from tonnage.records import Trials
from tonnage.records.line_types import is_simulated
from tonnage.report import phrases
from tonnage.report.figures import hover
from tonnage.report.figures.axes import ratio_axis, speed_scale_title
from tonnage.report.figures.colours import ALERT, INK, line_colour, step_colour
from tonnage.report.figures.figure import Exhibit, Figure, Table, Variant, escaped, layout, legend_text, text_column
from tonnage.report.figures.plotly import Axis, Trace
from tonnage.report.page_data import Source
from tonnage.report.sections.section_type import Section

LEAST_TRIALS = 3
"""Of settings that were repeated: with fewer there is no order to see."""
_TOLD_BY = ("unsteady", "two-speeds")
"""Findings whose cause the order of time may show."""
_MOST_TOLD = 2
_SECONDS_WITHIN_S = 3600
"""Ticks of a shorter time have seconds."""
_MOST_MARKS = 600
"""Of one picture: of more trials each stretch keeps its slowest, its middle and its fastest."""
_MOST_CURVES = 24
"""Settings with a choice of their own."""
_STRETCHES = 12
_LEAST_IN_STRETCH = 3
_PAUSE = 3.0
"""A gap that is so many times as long as the stretches beside it is a pause, through which no line is drawn."""
_SYMBOLS = ("circle", "diamond", "square", "triangle-up", "triangle-down", "star")


@dataclass(frozen=True, slots=True)
class _Mark:
    """A trial: when, of which point, how fast, and how fast for its setting."""

    at: float
    """Seconds since 1970, or of a model since its first trial."""
    point: Point
    value: float
    record: str

    @property
    def ratio(self) -> float:
        return self.value / self.point.median


def exhibits(analysis: Analysis, source: Source) -> list[Exhibit]:
    """The section, or none where no setting was repeated over time."""
    is_model = is_simulated(source.manifest)
    marks = _marks(analysis.points, source, is_model=is_model)
    if len(marks) < LEAST_TRIALS or marks[0].at == marks[-1].at:
        return []
    found = [one for one in analysis.findings if one.code in _TOLD_BY]
    troubled = {str(row.get("record")) for row in source.events if row["kind"] in ("stall", "retry")}
    curves: dict[tuple[str, str], list[_Mark]] = {}
    for mark in marks:
        curves.setdefault((mark.point.op, mark.point.group), []).append(mark)
    variants = [Variant("all settings", _figures(marks, _by_operation(marks), troubled, is_model=is_model))]
    if 1 < len(curves) <= _MOST_CURVES:
        variants += [
            Variant(phrases.subject(*name), _figures(own, _by_tasks(own), troubled, is_model=is_model))
            for name, own in curves.items()
            if own[0].at < own[-1].at
        ]
    elif len(curves) == 1:
        variants = [Variant("all settings", _figures(marks, _by_tasks(marks), troubled, is_model=is_model))]
    return [Exhibit("over-time", "Trials in order of time", _introduction(found), "Setting", tuple(variants))]


def _introduction(found: Sequence[Finding]) -> str:
    said = (
        "A mark is a trial, beside the others of its own setting: a slope is drift, a step or a group of slow marks is "
        "other load."
    )
    if len(found) > _MOST_TOLD:
        codes = " and ".join(dict.fromkeys(one.code for one in found))
        return f"{said} {phrases.number(len(found))} findings are of such trials: see {codes} under Findings."
    return said + "".join(f" Found: {one.subject}: {one.evidence}." for one in found)


def _marks(points: Sequence[Point], source: Source, *, is_model: bool) -> list[_Mark]:
    """Of every point that was repeated, in order of time; none where it is not known when any of them ran."""
    trials = Trials.of(source.trials)
    found: list[_Mark] = []
    numbers: dict[str, int] = {}
    for point in points:
        if point.repetitions < 2 or not point.median > 0:
            continue
        try:
            lines = trials.named(point.records)
        except KeyError:
            return []
        starts = lines.column("first_start_ns" if is_model else "started")
        times = [time / 1e9 if is_model and time is not None else _seconds(time) for time in starts]
        order = lines.numbers("trial")
        if order is None:
            return []
        numbers |= dict(zip(point.records, order.tolist(), strict=True))
        for at, value, record in zip(times, point.values, point.records, strict=True):
            if at is None:
                return []
            if value > 0:
                found.append(_Mark(at, point, value, record))
    found.sort(key=lambda mark: mark.at)
    ran = [numbers[mark.record] for mark in found]
    # Models of several devices have a clock each: there is no order among them.
    return [] if is_model and ran != sorted(ran) else found


def _seconds(started: str | None) -> float | None:
    """None where another writer's record does not say it as the format has it."""
    try:
        return datetime.fromisoformat((started or "").replace("Z", "+00:00")).timestamp()
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class _Series:
    """Marks of one style."""

    name: str
    colour: str
    symbol: str
    marks: Sequence[_Mark]


def _by_operation(marks: Sequence[_Mark]) -> list[_Series]:
    ops = list(dict.fromkeys(mark.point.op for mark in marks))
    plain = {"write", "read", "mixed"}
    return [
        _Series(
            op,
            line_colour(op) if set(ops) <= plain else step_colour(number, len(ops)),
            _SYMBOLS[number % len(_SYMBOLS)],
            [mark for mark in marks if mark.point.op == op],
        )
        for number, op in enumerate(ops)
    ]


def _by_tasks(marks: Sequence[_Mark]) -> list[_Series]:
    tasks = sorted({mark.point.tasks for mark in marks})
    return [
        _Series(
            phrases.tasks(number),
            step_colour(place, len(tasks)) if len(tasks) > 1 else line_colour(marks[0].point.op),
            _SYMBOLS[place % len(_SYMBOLS)],
            [mark for mark in marks if mark.point.tasks == number],
        )
        for place, number in enumerate(tasks)
    ]


def _figures(
    marks: Sequence[_Mark], series: Sequence[_Series], troubled: set[str], *, is_model: bool
) -> tuple[Figure, ...]:
    kept = _thinned(marks)
    if len(kept) < len(marks):
        chosen = {mark.record for mark in kept}
        series = [
            _Series(one.name, one.colour, one.symbol, [mark for mark in one.marks if mark.record in chosen])
            for one in series
        ]
    drawn = [one for one in series if one.marks]
    fewer = (
        "" if len(kept) == len(marks) else f" {phrases.number(len(kept))} of {phrases.number(len(marks))} are drawn."
    )
    table = _table(kept, troubled, is_model=is_model)
    found = [_relative(kept, drawn, troubled, fewer, table, is_model=is_model)]
    if len({mark.point.metric for mark in marks}) == 1:
        found.append(_absolute(kept, drawn, troubled, fewer, table, is_model=is_model))
    return tuple(found)


def _thinned(marks: Sequence[_Mark]) -> Sequence[_Mark]:
    """Of very many the slowest, the middle and the fastest of each stretch, in order of time."""
    if len(marks) <= _MOST_MARKS:
        return marks
    step = -(-3 * len(marks) // _MOST_MARKS)
    kept: list[_Mark] = []
    for at in range(0, len(marks), step):
        stretch = sorted(marks[at : at + step], key=lambda mark: mark.ratio)
        chosen = {place: stretch[place] for place in (0, len(stretch) // 2, len(stretch) - 1)}
        kept += sorted(chosen.values(), key=lambda mark: mark.at)
    return kept


def _relative(
    marks: Sequence[_Mark], series: Sequence[_Series], troubled: set[str], fewer: str, table: Table, *, is_model: bool
) -> Figure:
    ratios = [mark.ratio for mark in marks]
    traces = [
        _trace(one, [mark.ratio for mark in one.marks], troubled, marks[0].at, is_model=is_model) for one in series
    ]
    level = _level(marks, is_model=is_model)
    traces += [] if level is None else [level]
    slowest, fastest = units.ratio(min(ratios)), units.ratio(max(ratios))
    extremes = f"The slowest had {slowest} times the median of its setting, the fastest {fastest} times."
    many = phrases.number(len(marks))
    about = f"1 is the median of all trials of the same setting.{_line_sentence(level)}"
    return Figure(
        title="Each trial against the median of its setting",
        caption=f"{about}{_trouble_sentence(marks, troubled)}{fewer}",
        alt=f"Throughput of {many} trials over time, divided by the median of their settings. {extremes}",
        traces=traces,
        layout=layout(
            _time_axis(marks, is_model=is_model),
            ratio_axis("Throughput ÷ its setting's median", min(ratios), max(ratios)),
            showlegend=True,
        ),
        table=table,
    )


def _absolute(
    marks: Sequence[_Mark], series: Sequence[_Series], troubled: set[str], fewer: str, table: Table, *, is_model: bool
) -> Figure:
    most, metric = max(mark.value for mark in marks), marks[0].point.metric
    scale, title = speed_scale_title(most, metric, phrases.done(marks[0].point.kind))
    return Figure(
        title="Throughput of each trial",
        caption=f"In the same colours.{_trouble_sentence(marks, troubled)}{fewer}",
        alt=f"Throughput of {phrases.number(len(marks))} trials over time, up to {units.speed(most, metric)}.",
        traces=[
            _trace(one, [mark.value / scale for mark in one.marks], troubled, marks[0].at, is_model=is_model)
            for one in series
        ],
        layout=layout(
            _time_axis(marks, is_model=is_model), {"title": title, "range": [0, 1.08 * most / scale]}, showlegend=True
        ),
        table=table,
    )


def _trace(one: _Series, values: Sequence[float], troubled: set[str], since: float, *, is_model: bool) -> Trace:
    ill = [mark.record in troubled for mark in one.marks]
    return {
        "x": _times(one.marks, since, is_model=is_model),
        "y": [float(f"{value:.4g}") for value in values],
        "mode": "markers",
        "name": legend_text(one.name),
        "marker": {
            "size": 7,
            "opacity": 0.8,
            "color": [ALERT if bad else one.colour for bad in ill] if any(ill) else one.colour,
            "symbol": ["x" if bad else one.symbol for bad in ill] if any(ill) else one.symbol,
            "line": {"width": 0},
        },
        "text": [_hover_text(mark) for mark in one.marks],
        "hovertemplate": "%{text}<extra></extra>",
    }


def _hover_text(mark: _Mark) -> str:
    what = escaped(phrases.subject(mark.point.op, mark.point.group))
    return (
        f"{what}, {phrases.tasks(mark.point.tasks)}<br>{units.speed(mark.value, mark.point.metric)}, "
        f"{units.ratio(mark.ratio)} × the median<br>{hover.records((mark.record,))}"
    )


def _level(marks: Sequence[_Mark], *, is_model: bool) -> Trace | None:
    """Medians of stretches with as many trials each: they show a slope or a step without the noise."""
    stretches = min(_STRETCHES, len(marks) // _LEAST_IN_STRETCH)
    if stretches < 2:
        return None
    parts = [marks[len(marks) * n // stretches : len(marks) * (n + 1) // stretches] for n in range(stretches)]
    x: list[float | str | None] = []
    y: list[float | None] = []
    for part, before in zip(parts, [None, *parts[:-1]], strict=True):
        if before is not None and part[0].at - before[-1].at > _PAUSE * max(_lasted(part), _lasted(before)):
            x, y = [*x, None], [*y, None]
        x += _times([part[len(part) // 2]], marks[0].at, is_model=is_model)
        y.append(float(f"{median(mark.ratio for mark in part):.4g}"))
    return {
        "x": x,
        "y": y,
        "mode": "lines",
        "name": "median of neighbours",
        "line": {"color": INK, "width": 2},
        "hoverinfo": "skip",
    }


def _lasted(part: Sequence[_Mark]) -> float:
    return part[-1].at - part[0].at


def _line_sentence(level: Trace | None) -> str:
    return " The line is the median of trials that ran one after the other." if level is not None else ""


def _trouble_sentence(marks: Sequence[_Mark], troubled: set[str]) -> str:
    many = sum(mark.record in troubled for mark in marks)
    return f" A cross: a task stood still, or tried again ({phrases.number(many)})." if many else ""


def _time_axis(marks: Sequence[_Mark], *, is_model: bool) -> Axis:
    if is_model:
        return {"title": "Time of the model since the first trial (s)"}
    days = {datetime.fromtimestamp(mark.at, timezone.utc).date() for mark in (marks[0], marks[-1])}
    axis: Axis = {"title": f"Time of day (UTC), {' to '.join(map(str, sorted(days)))}", "nticks": 6}
    if len(days) == 1:
        # The day stands in the title; below a tick it would take the room of the next one.
        axis["tickformat"] = "%H:%M:%S" if marks[-1].at - marks[0].at < _SECONDS_WITHIN_S else "%H:%M"
    return axis


def _times(marks: Sequence[_Mark], since: float, *, is_model: bool) -> list[float | str]:
    if is_model:
        return [round(mark.at - since, 3) for mark in marks]
    return [_clock(mark.at, "milliseconds") for mark in marks]


def _clock(at: float, precision: str) -> str:
    return datetime.fromtimestamp(at, timezone.utc).replace(tzinfo=None).isoformat(" ", precision)


def _table(marks: Sequence[_Mark], troubled: set[str], *, is_model: bool) -> Table:
    has_groups = any(mark.point.group for mark in marks)
    columns = (
        "time (s)" if is_model else "time (UTC)",
        text_column("operation"),
        *((text_column("setting"),) if has_groups else ()),
        "tasks",
        "throughput",
        "of its median",
        text_column("trouble"),
        text_column("record"),
    )
    rows = tuple(
        (
            f"{mark.at - marks[0].at:.3f}" if is_model else _clock(mark.at, "seconds"),
            mark.point.op,
            *((mark.point.group,) if has_groups else ()),
            str(mark.point.tasks),
            units.speed(mark.value, mark.point.metric),
            units.ratio(mark.ratio),
            "yes" if mark.record in troubled else "",
            mark.record,
        )
        for mark in marks
    )
    return Table.of(columns, rows)


SECTION = Section("over time", exhibits, is_closer_look=True)
