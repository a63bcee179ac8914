"""Hosts over time: a picture in which a host that stands still, or a wave that goes through all, is seen at once."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

from tonnage.analysis.results import BANDWIDTH, HostPart, Hosts
from tonnage.report import units
from tonnage.report.figure import MUTED, Figure, Table, layout, speed_scale_title, words
from tonnage.report.source import Columns, Row

MOST_HOSTS = 64
"""Rows of the picture: of more hosts, neighbours share one."""
MOST_COLUMNS = 96
_SCALE = [[0.0, "@#eef3f8|#12202e"], [0.5, "@#5b9bd0|#2f6da3"], [1.0, "@#08306b|#eaf4fd"]]


def figure(found: Hosts, columns: Columns, tasks: list[Row]) -> Figure | None:
    """Throughput of each host, in intervals; None where the phase left no series."""
    counted = "bytes" if found.metric == BANDWIDTH else "operations"
    rows = list(zip(*(columns.get(k, []) for k in ("start_ns", "end_ns", "task", counted)), strict=True))
    if not rows:
        return None
    edges = _edges(rows)
    bundles = _bundles(found.parts)
    place = _places(bundles, tasks)
    sums = _sums(rows, edges, place, len(bundles))
    rates = [
        [moved * 1e9 / (edges[x + 1] - edges[x]) / len(bundle) for x, moved in enumerate(line)]
        for bundle, line in zip(bundles, sums, strict=True)
    ]
    scale, title = speed_scale_title(max(map(max, rates)) or 1.0, found.metric)
    names = [words(bundle[0].host) for bundle in bundles]
    shared = f" Each row is the mean of {len(bundles[0])} neighbouring hosts." if len(found.parts) > MOST_HOSTS else ""
    trace: dict[str, Any] = {
        "type": "heatmap",
        "x": [edge / 1e9 for edge in edges],
        "y": names,
        "z": [[float(f"{rate / scale:.4g}") for rate in line] for line in rates],
        "colorscale": _SCALE,
        "zmin": 0,
        "hovertemplate": "%{y}<br>%{x:.3f} s<br>%{z:.4g}<extra></extra>",
        "colorbar": {"title": {"text": title, "side": "right", "font": {"size": 12}}, "thickness": 12,
                     "outlinewidth": 0, "tickfont": {"color": MUTED}},
    }  # fmt: skip
    return Figure(
        title="Hosts over time",
        caption=f"{found.record}: throughput of each host in each interval.{shared}",
        alt=f"Heat map of the throughput of {len(found.parts)} hosts over the time of {found.record}.",
        traces=[trace],
        layout=layout(
            {"title": "Time since the first task started (s)", "range": [0, edges[-1] / 1e9]},
            {"title": "", "automargin": True, "autorange": "reversed", "type": "category"},
            height=160 + 14 * max(6, len(bundles)),
        ),
        table=_table(bundles, edges, rates, found.metric),
    )


def _edges(rows: list[tuple[int, ...]]) -> list[int]:
    edges = sorted({edge for row in rows for edge in row[:2]})
    step = -(-(len(edges) - 1) // MOST_COLUMNS)
    return [*edges[:-1:step], edges[-1]]


def _bundles(parts: tuple[HostPart, ...]) -> list[tuple[HostPart, ...]]:
    step = -(-len(parts) // MOST_HOSTS)
    return [parts[at : at + step] for at in range(0, len(parts), step)]


def _places(bundles: list[tuple[HostPart, ...]], tasks: list[Row]) -> dict[int, int]:
    """Task → row of the picture."""
    of_host = {part.host: row for row, bundle in enumerate(bundles) for part in bundle}
    return {task["task"]: of_host[task["host"]] for task in tasks if task.get("host") in of_host}


def _sums(rows: list[tuple[int, ...]], edges: list[int], place: dict[int, int], height: int) -> list[list[int]]:
    sums = [[0] * (len(edges) - 1) for _ in range(height)]
    for start, _, task, moved in rows:
        if task in place:
            sums[place[task]][min(bisect_right(edges, start) - 1, len(edges) - 2)] += moved
    return sums


def _table(bundles: list[tuple[HostPart, ...]], edges: list[int], rates: list[list[float]], metric: str) -> Table:
    """Of each row of the picture its slowest and its fastest interval: all of them would be as long as the records."""
    rows = []
    for bundle, line in zip(bundles, rates, strict=True):
        slow, fast = line.index(min(line)), line.index(max(line))
        rows.append(
            (
                bundle[0].host,
                str(len(bundle)),
                units.speed(line[slow], metric),
                f"{edges[slow] / 1e9:.3f}",
                units.speed(line[fast], metric),
                f"{edges[fast] / 1e9:.3f}",
            )
        )
    return Table(("host", "hosts", "slowest interval", "from (s)", "fastest interval", "from (s)"), tuple(rows))
