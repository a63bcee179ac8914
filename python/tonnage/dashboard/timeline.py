"""The timeline of a run: throughput and latency of all records and of the running phase. The files of a run may have
any content."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypedDict, cast

from tonnage import units
from tonnage.dashboard import run_text
from tonnage.dashboard.background_thread import WorkRate
from tonnage.errors import RecordError
from tonnage.records import Run, headline
from tonnage.records.line_types import TrialLine
from tonnage.records.lines import COUNTED
from tonnage.report.figures import heat, series
from tonnage.report.figures.axes import speed_scale_title
from tonnage.report.figures.colours import MUTED, line_colour
from tonnage.report.figures.figure import Figure, Table, escaped, layout
from tonnage.report.figures.plotly import Axis, Layout, Trace
from tonnage.units import BANDWIDTH, OPERATIONS

_INTERVALS = 40
"""Of a record, at most."""
_RECORDS = 60
"""Latest ones that are drawn."""
_HEAT_COLUMNS = 160
"""Intervals of all records in the heat map, at most."""
_HEAT_S = 2.0
_TAIL = 0.5
"""The sampler takes one more sample after a phase: a last interval below this share of the one before is part of it."""
_EDGE_LEFT, _EDGE_RIGHT = 80, 112
"""Margins that hold the names of any picture's axis and scale: the pictures stand below each other on one time."""
_TIME = "Time since the first of them started (s)"
_NOTHING = Table((), ())


@dataclass(frozen=True, slots=True)
class Placed:
    """A record on the time of the page: from the first that is drawn, without what lay between two sittings."""

    line: TrialLine
    begin_ns: int
    elapsed_ns: int


class Timeline:
    """Pictures of one run; what was read of a record is kept, for records do not change."""

    def __init__(self) -> None:
        self._intervals: OrderedDict[str, list[Interval]] = OrderedDict()
        self._heats: OrderedDict[str, dict[str, list[int]]] = OrderedDict()
        self._joined = 0
        """Intervals of each of these heat maps."""
        self.pace = WorkRate(_HEAT_S)
        """Of the heat map."""

    def throughput(self, run: Run, lines: Sequence[TrialLine], progress: run_text.Keys | None) -> list[Figure]:
        """A figure for what moves bytes and one for what is counted, where the run has either; the phase that runs now
        at their end."""
        placed = _placed(lines)
        step = step_now(progress, lines)
        sampled = intervals_now(progress) if step else []
        found = []
        for metric in (BANDWIDTH, OPERATIONS):
            here = [one for one in placed if _metric(one.line["setting"]) == metric]
            live = sampled if _metric(run_text.table(step, "setting")) == metric else []
            if here or live:
                found.append(self._figure(run, here, metric, run_text.text(step.get("phase")), live, _last_ns(placed)))
        return found

    def _figure(
        self, run: Run, placed: Sequence[Placed], metric: str, phase: str, live: Sequence[Interval], end_ns: int
    ) -> Figure:
        counted = 2 if metric == BANDWIDTH else 3
        curves: dict[str, list[tuple[int, int, float]]] = {}
        for one in placed:
            curve = curves.setdefault(one.line["phase"], [])
            curve += _rates(one.begin_ns, self._of(run, one.line), counted)
        going = _rates(end_ns, live, counted)
        rates = [rate for curve in (*curves.values(), going) for _, _, rate in curve]
        scale, title = speed_scale_title(max(rates, default=0.0), metric)
        traces = [_trace(op, curve, scale, "") for op, curve in curves.items() if curve]
        if going:
            traces.append(_trace(phase, going, scale, "now: "))
        last_ns = max((end for curve in (*curves.values(), going) for _, end, _ in curve), default=0)
        story = _story(len(placed), phase if going else "")
        return Figure(
            title="Throughput" if metric == BANDWIDTH else "Operations a second",
            caption=f"All tasks together, record after record: {story}.",
            alt=f"Throughput over the time of the run: {story}.",
            traces=traces,
            layout=_shape(last_ns, {"title": title, "rangemode": "tozero"}, showlegend=True),
            table=_NOTHING,
        )

    def latency(self, run: Run, lines: Sequence[TrialLine], progress: run_text.Keys | None) -> Figure | None:
        """A heat map of the latest records and the phase that runs now; None where there is none of either."""
        placed = _placed(lines)
        step = step_now(progress, lines)
        columns: dict[str, list[int]] = {name: [] for name in HEAT}
        found = [(one.begin_ns, cells) for one, cells in zip(placed, self._heats_of(run, placed), strict=True)]
        drawn = sum(bool(cells["count"]) for _, cells in found)
        going = heat_now(progress) if step else {}
        if going:
            found.append((_last_ns(placed), _coarser(going, _INTERVALS)))
        for begin_ns, cells in found:
            for name in ("start_ns", "end_ns"):
                columns[name] += [begin_ns + value for value in cells[name]]
            for name in ("low_ns", "high_ns", "count"):
                columns[name] += cells[name]
        figure = heat.figure("", columns, tabled=False)
        if figure is None:
            return None
        drawn_axis = figure.layout["yaxis"]
        y_axis = cast("Axis", {**drawn_axis, "title": drawn_axis["title"]["text"]})
        shape = _shape(max(columns["end_ns"]), y_axis)
        story = _story(drawn, run_text.text(step.get("phase")) if going else "")
        return replace(
            figure,
            caption=f"Operations that ended in each interval, by latency: {story}.",
            alt=f"Heat map of latency over the time of the run: {story}.",
            traces=[_rounded(trace) for trace in figure.traces],
            layout=shape,
        )

    def _of(self, run: Run, line: TrialLine) -> list[Interval]:
        record = line["record"]
        if record not in self._intervals:
            columns = self._read(run.series, record) or {}
            found = series.intervals(columns)
            if len(found) > 1 and found[-1][1] - found[-1][0] < _TAIL * (found[-2][1] - found[-2][0]):
                last, before = found.pop(), found.pop()
                found.append((before[0], last[1], before[2] + last[2], before[3] + last[3]))
            self._intervals[record] = series.thinned(found, _INTERVALS) if found else []
            _forget(self._intervals, _RECORDS)
        return self._intervals[record]

    def _heats_of(self, run: Run, placed: Sequence[Placed]) -> list[dict[str, list[int]]]:
        """Of each record. The more there are, the fewer intervals each has; that is halved, so that what was joined for
        one picture serves many."""
        joined = _INTERVALS
        while joined > 1 and joined * len(placed) > _HEAT_COLUMNS:
            joined //= 2
        if joined != self._joined:
            self._heats.clear()
            self._joined = joined
        for record in [one.line["record"] for one in placed]:
            if record not in self._heats:
                self._heats[record] = _coarser(self._read(run.heat, record) or {}, joined)
        found = [self._heats[one.line["record"]] for one in placed]
        _forget(self._heats, _RECORDS)
        return found

    def _read(self, read: Any, record: str) -> dict[str, list[int]] | None:
        try:
            columns: dict[str, list[int]] | None = read(record)
        except RecordError:
            # The report names the damaged file; this picture just lacks one record.
            return None
        return columns


class DrawnFigure(TypedDict):
    """A figure as the page's script draws it."""

    title: str
    caption: str
    alt: str
    traces: list[Trace]
    layout: Layout


def plain(figure: Figure) -> DrawnFigure:
    """What the page's script draws."""
    return {
        "title": figure.title,
        "caption": figure.caption,
        "alt": figure.alt,
        "traces": figure.traces,
        "layout": figure.layout,
    }


def _metric(setting: run_text.Keys) -> str:
    return OPERATIONS if setting.get("kind") in COUNTED else BANDWIDTH


def _placed(lines: Sequence[TrialLine]) -> list[Placed]:
    """The latest that ended well, on one time: a run that went on another day goes on where it stood."""
    found: list[Placed] = []
    shift = 0
    for line in [line for line in lines if line["status"] == "ok"][-_RECORDS:]:
        start, elapsed = line.get("first_start_ns"), line.get("elapsed_ns")
        if type(start) is not int or type(elapsed) is not int or elapsed <= 0 or headline(line)[0] is None:
            continue
        if not found:
            shift = -start
        last = _last_ns(found)
        if start + shift < last or start + shift - last > max(60 * 10**9, last):
            shift = last - start
        found.append(Placed(line, start + shift, elapsed))
    return found


def _last_ns(placed: Sequence[Placed]) -> int:
    """When the last of them ended; 0 where there is none."""
    return placed[-1].begin_ns + placed[-1].elapsed_ns if placed else 0


def _story(records: int, phase: str) -> str:
    """``12 records, and write now``."""
    known = [f"{units.count(records)} record{'s' if records != 1 else ''}"] if records or not phase else []
    return ", and ".join([*known, *([f"{phase} now"] if phase else [])])


def _shape(last_ns: int, y_axis: Axis, **more: Any) -> Layout:
    """A layout whose plot stands where that of the other pictures of the course stands."""
    x_axis: Axis = {"title": _TIME, "range": [0, max(last_ns, 1) / 1e9]}
    found = layout(x_axis, {**y_axis, "automargin": False}, height=300, margin_right=_EDGE_RIGHT, **more)
    return {**found, "margin": {**found["margin"], "l": _EDGE_LEFT}}


def _rates(begin_ns: int, found: Sequence[Interval], counted: int) -> list[tuple[int, int, float]]:
    """Start, end and how much a second: of bytes (``counted`` 2) or operations (3)."""
    return [(begin_ns + one[0], begin_ns + one[1], one[counted] * 1e9 / (one[1] - one[0])) for one in found]


def _trace(op: str, curve: Sequence[tuple[int, int, float]], scale: float, prefix: str) -> Trace:
    """Steps; a gap where nothing of this operation was measured."""
    x: list[float | None] = []
    y: list[float | None] = []
    last = None
    for start, end, rate in curve:
        if last is not None and start - last > end - start:
            x.append(None)
            y.append(None)
        x += [round(start / 1e9, 4), round(end / 1e9, 4)]
        y += [float(f"{rate / scale:.4g}")] * 2
        last = end
    return {
        "x": x,
        "y": y,
        "mode": "lines",
        "name": f"{prefix}{escaped(op)}",
        "line": {"color": MUTED if prefix else line_colour(op), "width": 1.8},
        "hovertemplate": f"{prefix}{escaped(op)}<br>%{{x:.3f}} s<br>%{{y:.4g}}<extra></extra>",
    }


def _rounded(trace: Trace) -> Trace:
    """Rounds the colours to visible steps: every viewer gets the map."""
    return {**trace, "z": [[None if value is None else round(value, 2) for value in row] for row in trace["z"]]}


def _coarser(columns: dict[str, list[int]], most: int) -> dict[str, list[int]]:
    """Neighbouring intervals joined until at most so many are left."""
    rows = [row for row in zip(*(columns.get(name, []) for name in HEAT), strict=True) if row[1] > row[0]]
    starts = sorted({row[0] for row in rows})
    step = -(-len(starts) // max(most, 1)) or 1
    first = {start: starts[at - at % step] for at, start in enumerate(starts)}
    ends: dict[int, int] = {}
    cells: dict[tuple[int, int, int], int] = {}
    for start, end, low, high, count in rows:
        begin = first[start]
        ends[begin] = max(end, ends.get(begin, 0))
        cells[begin, low, high] = cells.get((begin, low, high), 0) + count
    merged = [(begin, ends[begin], low, high, count) for (begin, low, high), count in sorted(cells.items())]
    return {name: [row[at] for row in merged] for at, name in enumerate(HEAT)}


def _forget(kept: OrderedDict[str, Any], most: int) -> None:
    while len(kept) > 2 * most:
        kept.popitem(last=False)


HEAT = ("start_ns", "end_ns", "low_ns", "high_ns", "count")
"""Columns of ``heat_now/*.parquet``."""
_MOST_INTERVALS = 80
_MOST_CELLS = 10_000
_LARGEST = 1 << 62

Interval = tuple[int, int, int, int]


def step_now(progress: run_text.Keys | None, lines: Sequence[TrialLine]) -> run_text.Keys:
    """Which phase it is; empty where none runs, or its record is among ``lines`` already."""
    found = run_text.table(progress or {}, "step")
    ended = ((line["trial"], line["phase"]) for line in lines if line["status"] == "ok")
    told_of = (found.get("trial"), found.get("phase"))
    return {} if any(one == told_of for one in ended) else found


def intervals_now(progress: run_text.Keys | None) -> list[Interval]:
    """Yields start, end, bytes and operations from one sample to the next."""
    samples = (progress or {}).get("samples")
    found: list[Interval] = []
    before = (0, 0, 0)
    for sample in samples if isinstance(samples, list) else ():
        if not isinstance(sample, list) or len(sample) < 3 or any(type(value) is not int for value in sample[:3]):
            return []
        elapsed, moved, operations = sample[:3]
        if elapsed > before[0]:
            found.append((before[0], elapsed, max(moved - before[1], 0), max(operations - before[2], 0)))
            before = (elapsed, moved, operations)
    return series.thinned(found, _MOST_INTERVALS) if found else []


def heat_now(progress: run_text.Keys | None) -> dict[str, list[int]]:
    """Operations by interval and latency; empty where it is missing or malformed."""
    columns = run_text.table(progress or {}, "heat")
    found: dict[str, list[int]] = {}
    for name in HEAT:
        column = columns.get(name)
        if not isinstance(column, list) or len(column) > _MOST_CELLS:
            return {}
        if any(type(value) is not int or not 0 <= value < _LARGEST for value in column):
            return {}
        found[name] = column
    if len({len(column) for column in found.values()}) > 1:
        return {}
    rows = zip(*found.values(), strict=True)
    is_table = all(start < end and low < high and count for start, end, low, high, count in rows)
    return found if is_table else {}
