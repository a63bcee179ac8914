"""One trial of a writer and its readers, closely: the writer's rate, and how far each reader is behind, over time."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace
from typing import Any

from tonnage import units
from tonnage.report.figures import hover, series
from tonnage.report.figures.figure import Figure, Table, layout, rate_scale_title, step_colour
from tonnage.report.figures.stalls import marks, said, standstills
from tonnage.report.source import Columns, Source

_MOST_TIMES = 400

Track = list[tuple[int, int]]
"""(end of an interval in ns, bytes moved until then), ascending."""


def figures(record: str, source: Source) -> tuple[Figure, ...]:
    """Rate of the writer, then lag in bytes and in seconds; none where the trial left no series."""
    columns, trial = source.series(record), source.trial(record)
    followers = {row["task"] for row in source.tasks_of(record) if row.get("role") == "follow"}
    tracks = tracks_of(columns)
    writer = next((track for task, track in tracks.items() if task not in followers), None)
    if not writer:
        return ()
    stalls = source.stalls_of(record)
    mine = _rows(columns, set(tracks) - followers)
    wrote = series.figure("write", record, mine, trial, stalls)
    found = [replace(wrote, title="Write rate over time", caption=f"{record}, the writer alone.")] if wrote else []
    if followers:
        share = len(followers) if trial.get("setting", {}).get("follow") == "share" else 1
        behind = {task: lag_of(writer, tracks.get(task, []), share) for task in sorted(followers)}
        shapes, notes = marks(standstills(stalls, trial.get("first_start_ns") or 0))
        story = said(stalls, standstills(stalls, trial.get("first_start_ns") or 0))
        found += [_figure(record, behind, which, shapes, notes, story) for which in ("bytes", "time")]
    return tuple(found)


def _rows(columns: Columns, chosen: set[int]) -> Columns:
    kept = [row for row, task in enumerate(columns["task"]) if task in chosen]
    return {name: [column[row] for row in kept] for name, column in columns.items()}


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


def _figure(
    record: str,
    behind: dict[int, Lag],
    which: str,
    shapes: list[dict[str, Any]],
    notes: list[dict[str, Any]],
    story: str,
) -> Figure:
    column = 1 if which == "bytes" else 2
    furthest = max((lag[column] for lags in behind.values() for lag in lags), default=0)
    if which == "bytes":
        scale, title = rate_scale_title(furthest, "Behind the writer", "B")
        worst = units.volume(furthest)
    else:
        scale, title, worst = 1e9, "Behind the writer (s)", units.duration(furthest)
    traces: list[dict[str, Any]] = []
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
        table=_table(behind),
    )


def _thinned(lags: Lag) -> Lag:
    """Of each stretch of time the furthest: nothing that a reader fell behind is lost."""
    step = -(-len(lags) // _MOST_TIMES)
    return [max(lags[at : at + step], key=lambda lag: lag[1]) for at in range(0, len(lags), step)] if lags else []


def _table(behind: dict[int, Lag]) -> Table:
    rows = tuple(
        (str(task), f"{time / 1e9:.3f}", str(lag_bytes), units.duration(lag_ns))
        for task, lags in behind.items()
        for time, lag_bytes, lag_ns in _thinned(lags)
    )
    return Table(("reader", "time (s)", "behind (bytes)", "behind"), rows)
