"""Hosts over time: a picture in which a host that lags or stands still, or a wave through all, is seen at once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from tonnage.analysis.results import BANDWIDTH, HostPart, Hosts
from tonnage.report import units
from tonnage.report.figure import MUTED, Figure, Table, layout, speed_scale_title, words
from tonnage.report.source import Columns, Row

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
    edges = _edges(rows)
    bundles = rows_of(found)
    place = _places(bundles, tasks)
    sums = _sums(rows, edges, place, len(bundles))
    rates = [
        [_rate(moved, edges[x], edges[x + 1], bundle) for x, moved in enumerate(line)]
        for bundle, line in zip(bundles, sums, strict=True)
    ]
    scale, title = speed_scale_title(max((rate for line in rates for rate in line if rate), default=1.0), found.metric)
    names = [words(bundle_name(bundle)) for bundle in bundles]
    trace: dict[str, Any] = {
        "type": "heatmap",
        "x": [edge / 1e9 for edge in edges],
        "y": names,
        "z": [[None if rate is None else float(f"{rate / scale:.4g}") for rate in line] for line in rates],
        "colorscale": _SCALE,
        "zmin": 0,
        "hoverongaps": False,
        "hovertemplate": f"%{{y}}<br>%{{x:.3f}} s<br>%{{z:.4g}} {title}<br>record {words(found.record)}<extra></extra>",
        "colorbar": {"title": {"text": title, "side": "right", "font": {"size": 12}}, "thickness": 12,
                     "outlinewidth": 0, "tickfont": {"color": MUTED}},
    }  # fmt: skip
    return Figure(
        title="Hosts over time",
        caption=f"{found.record}: throughput of each host in each interval, until it was done.{_shared(bundles)}",
        alt=f"Heat map of the throughput of {len(found.parts)} hosts over the time of {found.record}.",
        traces=[trace],
        layout=layout(
            {"title": "Time since the first task started (s)", "range": [0, edges[-1] / 1e9], "showgrid": False},
            {"title": "", "showgrid": False, "automargin": True, "autorange": "reversed", "type": "category"},
            height=160 + 14 * max(6, len(bundles)),
        ),
        table=_table(bundles, edges, rates, found.metric),
    )


def _rate(moved: int, start_ns: int, end_ns: int, bundle: Bundle) -> float | None:
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


def _edges(rows: list[tuple[int, ...]]) -> list[int]:
    edges = sorted({edge for row in rows for edge in row[:2]})
    step = -(-(len(edges) - 1) // MOST_COLUMNS)
    return [*edges[:-1:step], edges[-1]]


def rows_of(found: Hosts) -> list[Bundle]:
    """The hosts of each row: one, or of very many the slowest with a row each and then neighbours together."""
    parts = found.parts
    if len(parts) <= MOST_HOSTS:
        return [(part,) for part in parts]
    slowest = sorted(parts, key=lambda part: _slowness(part, found.slowest.by), reverse=True)[:SLOWEST]
    names = {part.host for part in slowest}
    others = [part for part in parts if part.host not in names]
    step = -(-len(others) // (MOST_HOSTS - SLOWEST))
    return [(part,) for part in slowest] + [tuple(others[at : at + step]) for at in range(0, len(others), step)]


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


def _sums(rows: list[tuple[int, ...]], edges: list[int], place: dict[int, int], height: int) -> list[list[int]]:
    sums = [[0] * (len(edges) - 1) for _ in range(height)]
    for start, _, task, moved in rows:
        if task in place:
            sums[place[task]][min(bisect_right(edges, start) - 1, len(edges) - 2)] += moved
    return sums


def _table(bundles: Sequence[Bundle], edges: list[int], rates: Sequence[Sequence[float | None]], metric: str) -> Table:
    """Of each row of the picture its slowest and its fastest interval: all of them would be as long as the records."""
    rows = []
    for bundle, line in zip(bundles, rates, strict=True):
        known = [(rate, edge) for rate, edge in zip(line, edges, strict=False) if rate is not None]
        (slow, since), (fast, at) = min(known, default=(0.0, 0)), max(known, default=(0.0, 0))
        told = (units.speed(slow, metric), f"{since / 1e9:.3f}", units.speed(fast, metric), f"{at / 1e9:.3f}")
        rows.append((bundle_name(bundle), str(len(bundle)), *told))
    return Table(("host", "hosts", "slowest interval", "from (s)", "fastest interval", "from (s)"), tuple(rows))
