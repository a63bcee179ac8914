"""A writer and the readers that follow it: what they cost the writer, and how far behind they are over time."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace

from tonnage import units
from tonnage.analysis.load_line.trial_checks import of_tasks
from tonnage.analysis.results import Point
from tonnage.analysis.run_analysis import Analysis
from tonnage.report import phrases
from tonnage.report.answer import Statement
from tonnage.report.figures import hover, series
from tonnage.report.figures.axes import latency_axis, rate_scale_title
from tonnage.report.figures.colours import band_colour, line_colour, step_colour
from tonnage.report.figures.figure import Column, Exhibit, Figure, Table, Variant, escaped, interval_band, layout
from tonnage.report.figures.plotly import Axis, Note, Shape, Trace
from tonnage.report.figures.series import stall_marks, stalls_sentence, standstills
from tonnage.report.page_data import Columns, Source
from tonnage.report.sections.point_table import groups_of, notable_points
from tonnage.report.sections.section_type import Section, Titled

MOST_TRIALS = 24
"""Trials whose lag a page offers."""


def readers(point: Point) -> int:
    """Returns the number of tasks without the writer."""
    return point.tasks - 1


def points(analysis: Analysis) -> list[Titled]:
    """Returns a table for each setting."""
    return [(phrases.subject("tail", group), _table(found)) for group, found in groups_of(analysis.points, "tail")]


def story(points: Sequence[Point]) -> list[str]:
    """What the most readers of each setting cost the writer, where it was also measured alone."""
    mine = [point for point in points if point.kind == "tail"]
    alone = {(point.workload, point.transfer_size): point for point in mine if not readers(point)}
    found = []
    for group, followed in groups_of(mine, "tail"):
        busiest = max(followed, key=readers)
        base = alone.get((busiest.workload, busiest.transfer_size))
        if base and readers(busiest):
            found.append(f"{phrases.subject('tail', group)}: {_against(busiest, base)}.")
    return found


def _against(busiest: Point, alone: Point) -> str:
    beside = units.plural(readers(busiest), "reader")
    rates = f"{units.rate(busiest.median)} with {beside}, {units.rate(alone.median)} alone"
    waits = [phrases.waits(point)[1] for point in (busiest, alone)]
    return f"{_changed(busiest, alone)} ({rates}); one write of a hundred takes {waits[0]} or more, alone {waits[1]}"


def _changed(busiest: Point, alone: Point) -> str:
    """A change is shown where the intervals leave each other out."""
    if not (busiest.confidence and alone.confidence):
        return "repeat it to know whether the writer is slower"
    if busiest.high < alone.low:
        return f"readers leave the writer {units.share(busiest.median / alone.median)} of its rate"
    return "the writer is faster with readers" if busiest.low > alone.high else "no change shown of the writer's rate"


def exhibits(analysis: Analysis, source: Source) -> list[Exhibit]:
    """Draws the writer against the number of readers, and one trial closely."""
    variants = [
        Variant(group or "tail", (_rates(found), _latencies(found)))
        for group, found in groups_of(analysis.points, "tail")
    ]
    if not variants:
        return []
    introduction = "One writer, and readers that follow the growing file: what they cost the writer."
    found = [Exhibit("tail", "Write while others read", introduction, "Setting", tuple(variants))]
    points = [point for point in analysis.points if point.kind == "tail"]
    close: list[Variant] = []
    busiest, most = 0, -1
    for point, record in notable_points(points, source)[:MOST_TRIALS]:
        figures = lag_figures(record, source)
        label = f"{phrases.subject('tail', point.group)}, {units.plural(readers(point), 'reader')} ({record})"
        if figures:
            if readers(point) > most:
                busiest, most = len(close), readers(point)
            close.append(Variant(label, figures))
    if close:
        words_of = "The repetition nearest the median of each setting, and every one with a stall."
        found.append(Exhibit("lag", "How far readers are behind", words_of, "Trial", tuple(close), busiest))
    return found


def _table(points: list[Point]) -> Table:
    head = ("readers", "write rate", "interval", "n", "write p50", "p99", "max", "read rate, all")
    rows = []
    for point in points:
        behind = point.follow
        lag, intervals = (behind.lag, behind.lag_intervals) if behind else ({}, {})
        rows.append(
            (
                str(readers(point)),
                units.rate(point.median),
                phrases.bounds(point),
                str(point.repetitions),
                *phrases.waits(point),
                units.rate(behind.bandwidth_bytes_per_s if behind else None),
                *(phrases.wait(lag, intervals, key) for key in ("p50_ns", "p99_ns", "max_ns")),
                units.volume(behind.max_lag_bytes if behind else None),
            )
        )
    return Table.of((*head, "lag p50", "lag p99", "lag max", "furthest"), tuple(rows))


def _rates(points: list[Point]) -> Figure:
    points = sorted(points, key=readers)
    fastest = max(value for point in points for value in point.values)
    highest = min(max(point.high for point in points), 1.3 * fastest) or 1.0
    scale, title = rate_scale_title(highest, "Write rate")
    x, colour = [readers(point) for point in points], line_colour("write")
    traces: list[Trace] = [
        *interval_band(
            x,
            [point.low / scale for point in points],
            [point.high / scale for point in points],
            band_colour("write"),
        ),
        {
            "x": x,
            "y": [point.median / scale for point in points],
            "mode": "lines",
            "line": {"color": colour, "width": 2.5},
            "name": "median",
            "text": [hover.of_point(point, units.plural(readers(point), "reader")) for point in points],
            "hovertemplate": "%{text}<extra></extra>",
        },
        {
            "x": [readers(point) for point in points for _ in point.values],
            "y": [value / scale for point in points for value in point.values],
            "text": [escaped(record) for point in points for record in point.records],
            "mode": "markers",
            "marker": {"color": colour, "size": 7, "opacity": 0.65, "line": {"width": 0}},
            "name": "repetition",
            "hovertemplate": "%{x} readers<br>%{y:.4g}<br>record %{text}<extra></extra>",
        },
    ]
    return Figure(
        title="Write rate by number of readers",
        caption="The writer alone: bytes that readers read are in no figure of it.",
        alt="Rate of the writer against the number of readers that follow it.",
        traces=traces,
        layout=layout(_readers_axis(x), {"title": title, "range": [0, 1.12 * highest / scale]}),
        table=_table(points),
    )


def _latencies(points: list[Point]) -> Figure:
    points = sorted((point for point in points if point.latency), key=readers)
    x, colour = [readers(point) for point in points], line_colour("write")
    traces: list[Trace] = [
        {
            "x": x,
            "y": [max(1, point.latency[f"{name}_ns"]) for point in points],
            "mode": "lines+markers",
            "name": name,
            "line": {"color": colour, "width": 2, "dash": dash},
            "marker": {"color": colour, "size": 8, "symbol": symbol},
            "text": [units.duration(point.latency[f"{name}_ns"]) for point in points],
            "customdata": [hover.of_point(point, units.plural(readers(point), "reader")) for point in points],
            "hovertemplate": f"{name} %{{text}}<br>%{{customdata}}<extra></extra>",
        }
        for name, dash, symbol in (("p50", "solid", "circle"), ("p99", "dot", "diamond"), ("max", "dash", "square"))
    ]
    values = [y for trace in traces for y in trace["y"]] or [1]
    return Figure(
        title="Write latency by number of readers",
        caption="One write of the writer, over all repetitions.",
        alt="Median, 99th percentile and slowest write against the number of readers.",
        traces=traces,
        layout=layout(_readers_axis(x), latency_axis(min(values), max(values))),
        table=_table(points),
    )


def _readers_axis(tried: list[int]) -> Axis:
    pad = 0.04 * max(1, max(tried, default=1))
    return {"title": "Readers", "tickvals": sorted(set(tried)), "range": [-pad, max([*tried, 1]) + pad]}


_MOST_TIMES = 400

Track = list[tuple[int, int]]
"""(end of an interval in ns, bytes moved until then), ascending."""


def lag_figures(record: str, source: Source) -> tuple[Figure, ...]:
    """Draws the rate of the writer, then the lag in bytes and in seconds; nothing where the trial left no series."""
    columns, trial = source.series(record), source.trial(record)
    followers = {row["task"] for row in source.tasks_of(record) if row.get("role") == "follow"}
    tracks = tracks_of(columns)
    writer = next((track for task, track in tracks.items() if task not in followers), None)
    if not writer:
        return ()
    stalls = source.stalls_of(record)
    mine = of_tasks(columns, set(tracks) - followers)
    wrote = series.figure("write", record, mine, trial, stalls)
    found = [replace(wrote, title="Write rate over time", caption=f"{record}, the writer alone.")] if wrote else []
    if followers:
        share = len(followers) if trial.get("setting", {}).get("follow") == "share" else 1
        behind = {task: lag_of(writer, tracks.get(task, []), share) for task in sorted(followers)}
        shapes, notes = stall_marks(standstills(stalls, trial.get("first_start_ns") or 0))
        story = stalls_sentence(stalls, standstills(stalls, trial.get("first_start_ns") or 0))
        found += [_lag_figure(record, behind, which, shapes, notes, story) for which in ("bytes", "time")]
    return tuple(found)


def tracks_of(columns: Columns) -> dict[int, Track]:
    """Bytes that each task had moved at the end of each interval."""
    tracks: dict[int, Track] = {}
    rows = zip(*(columns.get(name, []) for name in ("end_ns", "task", "bytes")), strict=True)
    for end, task, moved in sorted(rows):
        track = tracks.setdefault(task, [(0, 0)])
        track.append((end, track[-1][1] + moved))
    return tracks


Lag = list[tuple[int, int, int]]
"""(time, bytes behind, nanoseconds behind)."""


def lag_of(writer: Track, reader: Track, share: int = 1) -> Lag:
    """How far ``reader`` is behind at the end of each interval: bytes that were written and that it has not read, and
    the time since the writer had written as much as it has read. With ``share`` N it has 1/N of the bytes to read."""
    lags: Lag = []
    for time, done in reader[1:]:
        written = _at(writer, time) // share
        behind = max(0, written - done)
        lags.append((time, behind, max(0, time - _when(writer, done * share)) if behind else 0))
    return lags


def _at(track: Track, time: int) -> int:
    """Bytes at ``time``, between samples in proportion."""
    place = bisect_left(track, (time, -1))
    if place >= len(track):
        return track[-1][1]
    (before, low), (after, high) = track[max(0, place - 1)], track[place]
    return high if after <= time or after == before else low + (high - low) * (time - before) // (after - before)


def _when(track: Track, moved: int) -> int:
    """The earliest time at which ``moved`` bytes were reached, between samples in proportion."""
    amounts = [bytes_then for _, bytes_then in track]
    place = bisect_left(amounts, moved)
    if place >= len(track):
        return track[-1][0]
    if place == 0:
        return track[0][0]
    (before, low), (after, high) = track[place - 1], track[place]
    return before + (after - before) * (moved - low) // (high - low)


def _lag_figure(
    record: str,
    behind: dict[int, Lag],
    which: str,
    shapes: list[Shape],
    notes: list[Note],
    story: str,
) -> Figure:
    column = 1 if which == "bytes" else 2
    furthest = max((lag[column] for lags in behind.values() for lag in lags), default=0)
    if which == "bytes":
        scale, title = rate_scale_title(furthest, "Behind the writer", "B")
        worst = units.volume(furthest)
    else:
        scale, title, worst = 1e9, "Behind the writer (s)", units.duration(furthest)
    traces: list[Trace] = []
    for position, (task, lags) in enumerate(behind.items()):
        drawn = _thinned(lags)
        traces.append(
            {
                "x": [lag[0] / 1e9 for lag in drawn],
                "y": [lag[column] / scale for lag in drawn],
                "mode": "lines",
                "line": {"color": step_colour(position, len(behind)), "width": 1.8},
                "name": f"reader {task}",
                "hovertemplate": f"reader {task}<br>%{{x:.3f}} s<br>%{{y:.4g}}" + hover.ending(record),
            }
        )
    top = furthest / scale or 1.0
    times = [trace["x"] for trace in traces if trace["x"]] or [[1.0]]
    resolution = "" if which == "bytes" else " Not finer than an interval of the series."
    return Figure(
        title=f"Lag in {'bytes' if which == 'bytes' else 'seconds'}",
        caption=f"{record}. The furthest was {worst}.{resolution} {story}",
        alt=f"Lag of {len(behind)} readers of {record} over time, in {which}. The furthest was {worst}.",
        traces=traces,
        layout=layout(
            {"title": "Time since the writer started (s)", "range": [0, max(x[-1] for x in times)]},
            {"title": title, "range": [0, 1.15 * top]},
            shapes=shapes,
            annotations=notes,
            showlegend=len(behind) > 1,
        ),
        table=_lag_table(behind),
    )


def _thinned(lags: Lag) -> Lag:
    """Of each stretch of time the furthest: nothing that a reader fell behind is lost."""
    step = -(-len(lags) // _MOST_TIMES)
    return [max(lags[at : at + step], key=lambda lag: lag[1]) for at in range(0, len(lags), step)] if lags else []


def _lag_table(behind: dict[int, Lag]) -> Table:
    rows = tuple(
        (str(task), f"{time / 1e9:.3f}", str(lag_bytes), units.duration(lag_ns))
        for task, lags in behind.items()
        for time, lag_bytes, lag_ns in _thinned(lags)
    )
    return Table.of(("reader", Column("time", "s"), Column("behind", "bytes"), "behind"), rows)


def sentences(analysis: Analysis) -> list[Statement]:
    """What readers cost the writer, as what the run says."""
    return [Statement("", sentence) for sentence in story(analysis.points)]


SECTION = Section("tail", exhibits, points=points, sentences=sentences, kinds=frozenset({"tail"}))
