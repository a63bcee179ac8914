"""Hosts over time: a picture in which a host that lags or stands still, or a wave through all, is seen at once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from tonnage import units
from tonnage.analysis.results import HostPart, Hosts
from tonnage.report.figures import hover
from tonnage.report.figures.figure import MUTED, Figure, Table, layout, speed_scale_title, words
from tonnage.report.source import Columns, Row
from tonnage.units import BANDWIDTH

T = TypeVar("T")
MOST_HOSTS = 64
"""Rows of the picture: of more hosts, neighbours share one."""
SLOWEST = 12
"""Hosts that then keep a row each, above the others: in a mean over many, one that lags would not be seen."""
MOST_COLUMNS = 96
Bundle = tuple[HostPart, ...]
"""Hosts that share a row."""
_SCALE = [[0.0, "@#eef3f8|#12202e"], [0.5, "@#5b9bd0|#2f6da3"], [1.0, "@#08306b|#eaf4fd"]]


def figure(found: Hosts, columns: Columns, tasks: list[Row]) -> Figure | None:
    """Throughput of each host, in intervals; None where the phase left no series."""
    counted = "bytes" if found.metric == BANDWIDTH else "operations"
    rows = list(zip(*(columns.get(k, []) for k in ("start_ns", "end_ns", "task", counted)), strict=True))
    if not rows:
        return None
    edges = edges_of(rows)
    bundles = rows_of(found)
    place = _places(bundles, tasks)
    sums = sums_of(rows, edges, place, len(bundles))
    rates = [
        [_rate(moved, edges[x], edges[x + 1], bundle) for x, moved in enumerate(line)]
        for bundle, line in zip(bundles, sums, strict=True)
    ]
    scale, title = speed_scale_title(max((rate for line in rates for rate in line if rate), default=1.0), found.metric)
    names = [words(bundle_name(bundle)) for bundle in bundles]
    return Figure(
        title="Hosts over time",
        caption=f"{found.record}: throughput of each host in each interval, until it was done.{_shared(bundles)}",
        alt=f"Heat map of the throughput of {len(found.parts)} hosts over the time of {found.record}.",
        traces=[map_of(edges, names, rates, scale, title, found.record)],
        layout=layout(
            {"title": "Time since the first task started (s)", "range": [0, edges[-1] / 1e9], "showgrid": False},
            {"title": "", "showgrid": False, "automargin": True, "autorange": "reversed", "type": "category"},
            height=max(320, 160 + 14 * len(bundles)),
        ),
        table=_table(bundles, edges, rates, found.metric),
    )


def map_of(
    edges: Sequence[int],
    names: list[str],
    rates: Sequence[Sequence[float | None]],
    scale: float,
    title: str,
    record: str,
) -> dict[str, Any]:
    """A row for each of the names, which are safe as markup, and a column for each interval."""
    return {
        "type": "heatmap",
        "x": [edge / 1e9 for edge in edges],
        "y": names,
        "z": [[None if rate is None else float(f"{rate / scale:.3g}") for rate in line] for line in rates],
        "colorscale": _SCALE,
        "zmin": 0,
        # Without this the kit would spread its colours over what noise there is.
        "zmax": max((rate for line in rates for rate in line if rate), default=scale) / scale,
        "hoverongaps": False,
        "hovertemplate": f"%{{y}}<br>%{{x:.3f}} s<br>%{{z:.3g}} {title}" + hover.ending(record),
        "colorbar": {"title": {"text": title, "side": "right", "font": {"size": 12}}, "thickness": 12,
                     "outlinewidth": 0, "tickfont": {"color": MUTED}},
    }  # fmt: skip


def _rate(moved: float, start_ns: int, end_ns: int, bundle: Bundle) -> float | None:
    """A host's part in an interval, a second; None where all of the row were done: a gap, told from standing still."""
    if not moved and start_ns >= max(part.last_done_ns for part in bundle):
        return None
    return moved * 1e9 / (end_ns - start_ns) / len(bundle)


def _shared(bundles: Sequence[Bundle]) -> str:
    if len(bundles[-1]) == 1:
        return ""
    return (
        f" The {SLOWEST} slowest hosts stand above; each row below them is the mean of {len(bundles[-2])} neighbours."
    )


def edges_of(rows: Sequence[tuple[int, ...]]) -> list[int]:
    """Bounds of the columns, in nanoseconds."""
    edges = sorted({edge for row in rows for edge in row[:2]})
    step = -(-(len(edges) - 1) // MOST_COLUMNS)
    return [*edges[:-1:step], edges[-1]]


def rows_of(found: Hosts) -> list[Bundle]:
    """The hosts of each row: one, or of very many the slowest with a row each and then neighbours together."""
    return bundled(found.parts, lambda part: -_slowness(part, found.slowest.by), MOST_HOSTS, SLOWEST)


def bundled(parts: Sequence[T], speed: Callable[[T], float], most: int, apart: int) -> list[tuple[T, ...]]:
    """At most so many rows: one a part, or one for each of the slowest ``apart`` and then neighbours together."""
    if len(parts) <= most:
        return [(part,) for part in parts]
    slowest = sorted(range(len(parts)), key=lambda number: speed(parts[number]))[:apart]
    others = [part for number, part in enumerate(parts) if number not in slowest]
    step = -(-len(others) // (most - apart))
    return [(parts[number],) for number in slowest] + [
        tuple(others[at : at + step]) for at in range(0, len(others), step)
    ]


def _slowness(part: HostPart, by: str) -> float:
    """By what the phase has its slowest task: a late end, or little done until time was up."""
    if by == "end_ns":
        return part.last_done_ns
    return -(part.bytes if by == "bytes" else part.operations) / part.tasks


def bundle_name(bundle: Sequence[HostPart]) -> str:
    """``node0001``, or ``node0001 to node0018``."""
    return bundle[0].host if len(bundle) == 1 else f"{bundle[0].host} to {bundle[-1].host}"


def _places(bundles: Sequence[Bundle], tasks: list[Row]) -> dict[int, int]:
    """Task → row of the picture."""
    of_host = {part.host: row for row, bundle in enumerate(bundles) for part in bundle}
    return {task["task"]: of_host[task["host"]] for task in tasks if task.get("host") in of_host}


def sums_of(
    rows: Sequence[tuple[int, ...]], edges: list[int], place: Mapping[int, int], height: int
) -> list[list[float]]:
    """What was moved in each row and column; ``place``: task → row.

    Processes are not sampled at the same instants: what an interval has is shared out, by time, over its columns.
    """
    sums = [[0.0] * (len(edges) - 1) for _ in range(height)]
    for since, end, task, counted in rows:
        if task not in place:
            continue
        line, column = sums[place[task]], min(bisect_right(edges, since) - 1, len(edges) - 2)
        start, moved = since, float(counted)
        while end > edges[column + 1]:
            part = moved * (edges[column + 1] - start) / (end - start)
            line[column] += part
            start, moved, column = edges[column + 1], moved - part, column + 1
        line[column] += moved
    return sums


def _table(bundles: Sequence[Bundle], edges: list[int], rates: Sequence[Sequence[float | None]], metric: str) -> Table:
    """Of each row of the picture its slowest and its fastest interval: all of them would be as long as the records."""
    rows = []
    for bundle, line in zip(bundles, rates, strict=True):
        rows.append((bundle_name(bundle), str(len(bundle)), *extremes(line, edges, metric)))
    return Table(("host", "hosts", *EXTREMES), tuple(rows))


EXTREMES = ("slowest interval", "from (s)", "fastest interval", "from (s)")


def extremes(line: Sequence[float | None], edges: Sequence[int], metric: str) -> tuple[str, ...]:
    """Cells under ``EXTREMES`` for the rates of one row of the picture."""
    known = [(rate, edge) for rate, edge in zip(line, edges, strict=False) if rate is not None]
    (slow, since), (fast, at) = min(known, default=(0.0, 0)), max(known, default=(0.0, 0))
    return units.speed(slow, metric), f"{since / 1e9:.3f}", units.speed(fast, metric), f"{at / 1e9:.3f}"
