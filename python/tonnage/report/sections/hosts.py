"""Several hosts: what each did, when, which held up the others, and how evenly they crossed the start line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tonnage import units
from tonnage.analysis.results import HostPart, Hosts
from tonnage.analysis.run_analysis import Analysis
from tonnage.records.line_types import HostOffset, TaskLine
from tonnage.report import phrases
from tonnage.report.figures import hover
from tonnage.report.figures.axes import speed_scale_title
from tonnage.report.figures.colours import MUTED, line_colour
from tonnage.report.figures.figure import Exhibit, Figure, Table, Variant, escaped, layout, text_column
from tonnage.report.figures.heat import EXTREMES, bundled, edges_of, extremes, map_of, sums_of
from tonnage.report.figures.plotly import Trace
from tonnage.report.page_data import Columns, Source
from tonnage.report.sections.section_type import Section, Titled
from tonnage.units import BANDWIDTH

MOST_ROWS = 20
"""Hosts that a table names; of more, those that ended last, and one row for the others."""
_MOST_ROWS_SHORT = 6
"""The same on the terminal."""
MOST_MARKS = 256
"""Marks of a figure: of more hosts, neighbours share one."""


def exhibits(analysis: Analysis, source: Source) -> list[Exhibit]:
    """Makes one section where any phase ran on several hosts: for each curve the point with most of them."""
    shown = largest(analysis.hosts)
    if not shown:
        return []
    variants = tuple(Variant(_label(found), _figures(found, source)) for found in shown)
    story = " ".join(line for found in shown for line in stories(found))
    return [Exhibit("hosts", "Hosts", story, "Phase", variants)]


def tables(analysis: Analysis) -> list[Titled]:
    """Makes a short table of each largest phase over several hosts, for the terminal."""
    return [(_label(found), table(found, _MOST_ROWS_SHORT)) for found in largest(analysis.hosts)]


def largest(hosts: Sequence[Hosts]) -> list[Hosts]:
    """Chooses, for each curve, the point with most hosts, and of equals the one with most tasks."""
    best: dict[tuple[str, str], Hosts] = {}
    for found in hosts:
        key = (found.op, found.group)
        if key not in best or _size(found) > _size(best[key]):
            best[key] = found
    return list(best.values())


def _size(found: Hosts) -> tuple[int, int]:
    return len(found.parts), found.tasks


def _label(found: Hosts) -> str:
    what = phrases.subject(found.op, found.group)
    hosts = f"{phrases.number(len(found.parts))} hosts"
    return f"{what}, {hosts}, {phrases.tasks(found.tasks)} ({found.record})"


def stories(found: Hosts) -> list[str]:
    """Says which host was last, and how the processes crossed the start line."""
    return [_last(found), *_meeting(found)]


def _last(found: Hosts) -> str:
    slowest, what = found.slowest, phrases.subject(found.op, found.group)
    on = f" on {slowest.host}" if slowest.host else ""
    many = slowest.tasks > 1
    who = f"tasks {slowest.task} to {slowest.task + slowest.tasks - 1}{on}" if many else f"task {slowest.task}{on}"
    where = f"{what} on {phrases.number(len(found.parts))} hosts: "
    if slowest.by == "end_ns":
        late = units.duration(max(0, slowest.value - slowest.median))
        return f"{where}{who} ended last, {late} after the median task ({units.duration(slowest.median)})."
    shown = units.volume if slowest.by == "bytes" else units.count
    share = units.share(slowest.value / slowest.median) if slowest.median else "none"
    least = f"did least until time was up, {shown(round(slowest.value))}{' each' if many else ''}"
    return f"{where}{who} {least}, {share} of the median task's {shown(round(slowest.median))}."


def _meeting(found: Hosts) -> list[str]:
    met = found.ensemble
    if not met:
        return []
    text = f"{met['processes']} processes crossed the start line within {units.duration(met['skew_ns'])}"
    text += f" (the barrier itself takes {units.duration(met['barrier_ns'])})"
    text += f"; their results were together {units.duration(met['gather_ns'])} after the last task's end."
    clocks = [host for host in met["hosts"][1:] if host.get("offset_ns") is not None]
    if not clocks:
        return [text]
    furthest = max(clocks, key=lambda host: abs(host["offset_ns"]))
    offset = units.duration(abs(furthest["offset_ns"]))
    side = "ahead of" if furthest["offset_ns"] > 0 else "behind"
    known = units.duration(furthest["uncertainty_ns"])
    first = met["hosts"][0]["host"]
    clock = f"The clock of {furthest['host']} was furthest from that of {first}: {offset} {side} it, known to {known}; "
    return [text, f"{clock}every duration is of one clock, so no figure depends on it."]


def table(found: Hosts, most: int = MOST_ROWS) -> Table:
    """Makes a row for each host, in their order; of very many, for those that ended last, and one row for the
    others."""
    met = {host["host"]: host for host in (found.ensemble["hosts"] if found.ensemble else ())}
    columns = (
        text_column("host"),
        "tasks",
        "moved",
        "share",
        "rate",
        "first done",
        "last done",
        *(("clock",) if met else ()),
    )
    parts = list(found.parts)
    if len(parts) > most:
        late = sorted(parts, key=lambda part: -part.last_done_ns)[: most - 1]
        names = {part.host for part in late}
        others = [part for part in parts if part.host not in names]
        rows = [_row(part, met) for part in late] + [_others(others, bool(met))]
    else:
        rows = [_row(part, met) for part in parts]
    return Table.of(columns, tuple(rows))


def _row(part: HostPart, met: Mapping[str, HostOffset]) -> tuple[str, ...]:
    clock = met.get(part.host)
    return (
        part.host,
        phrases.number(part.tasks),
        units.volume(part.bytes),
        units.share(part.share),
        units.rate(part.bytes * 1e9 / part.last_done_ns if part.last_done_ns else None),
        units.duration(part.first_done_ns),
        units.duration(part.last_done_ns),
        *((_clock(clock),) if met else ()),
    )


def _clock(met: HostOffset | None) -> str:
    if not met or met.get("offset_ns") is None:
        return units.NOT_MEASURED
    sign = "-" if met["offset_ns"] < 0 else "+"
    return f"{sign}{units.duration(abs(met['offset_ns']))} ± {units.duration(met['uncertainty_ns'])}"


def _others(parts: list[HostPart], clocks: bool) -> tuple[str, ...]:
    moved, last = sum(part.bytes for part in parts), max(part.last_done_ns for part in parts)
    return (
        f"{phrases.number(len(parts))} others",
        phrases.number(sum(part.tasks for part in parts)),
        units.volume(moved),
        units.share(sum(part.share for part in parts)),
        units.rate(moved * 1e9 / last if last else None),
        units.duration(min(part.first_done_ns for part in parts)),
        units.duration(last),
        *((units.NOT_MEASURED,) if clocks else ()),
    )


def _figures(found: Hosts, source: Source) -> tuple[Figure, ...]:
    drawn = (_ends(found), over_time(found, source.series(found.record), source.tasks_of(found.record)))
    return tuple(figure for figure in drawn if figure is not None)


def _ends(found: Hosts) -> Figure:
    """When each host's first and last task ended."""
    step = -(-len(found.parts) // MOST_MARKS)
    bundles = [found.parts[at : at + step] for at in range(0, len(found.parts), step)]
    names = [escaped(bundle_name(bundle)) for bundle in bundles]
    first = [min(part.first_done_ns for part in bundle) / 1e9 for bundle in bundles]
    last = [max(part.last_done_ns for part in bundle) / 1e9 for bundle in bundles]
    numbers = [1 + at * step for at in range(len(bundles))]
    template = "%{text}<br>%{y:.4g} s" + hover.ending(found.record)
    common: Trace = {"x": numbers, "text": names, "mode": "markers", "hovertemplate": template}
    together = f" {step} neighbours share a mark: the first and the last end among them." if step > 1 else ""
    return Figure(
        title="When each host was done",
        caption=f"{found.record}. {_last(found)}{together}",
        alt=f"First and last end of the tasks of each host. {_last(found)}",
        traces=[
            {**common, "y": first, "name": "first task done", "marker": {"color": MUTED, "size": 6}},
            {**common, "y": last, "name": "last task done", "marker": {"color": line_colour(found.op), "size": 7}},
        ],
        layout=layout(
            {"title": "Host, in the order of its tasks", "tickformat": "d"},
            {"title": "End, after the first start (s)", "range": [0, 1.15 * max(last) or 1]},
            showlegend=True,
        ),
        table=table(found),
    )


MOST_HOSTS = 64
"""Rows of the picture: of more hosts, neighbours share one."""
SLOWEST = 12
"""Hosts that then keep a row each, above the others: in a mean over many, one that lags would not be seen."""
Bundle = tuple[HostPart, ...]
"""Hosts that share a row."""


def over_time(found: Hosts, columns: Columns, tasks: list[TaskLine]) -> Figure | None:
    """Draws the throughput of each host, in intervals; None where the phase left no series."""
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
    names = [escaped(bundle_name(bundle)) for bundle in bundles]
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
        table=_intervals_table(bundles, edges, rates, found.metric),
    )


def _rate(moved: float, start_ns: int, end_ns: int, bundle: Bundle) -> float | None:
    """A host's part in an interval, a second; None where all of the row were done: a gap, unlike a rate of 0."""
    if not moved and start_ns >= max(part.last_done_ns for part in bundle):
        return None
    return moved * 1e9 / (end_ns - start_ns) / len(bundle)


def _shared(bundles: Sequence[Bundle]) -> str:
    if len(bundles[-1]) == 1:
        return ""
    return (
        f" The {SLOWEST} slowest hosts stand above; each row below them is the mean of {len(bundles[-2])} neighbours."
    )


def rows_of(found: Hosts) -> list[Bundle]:
    """Returns the hosts of each row: one, or of very many the slowest with a row each and then neighbours together."""
    return bundled(found.parts, lambda part: -_slowness(part, found.slowest.by), MOST_HOSTS, SLOWEST)


def _slowness(part: HostPart, by: str) -> float:
    """By what the phase has its slowest task: a late end, or little done until time was up."""
    if by == "end_ns":
        return part.last_done_ns
    return -(part.bytes if by == "bytes" else part.operations) / part.tasks


def bundle_name(bundle: Sequence[HostPart]) -> str:
    """Returns text such as ``node0001``, or ``node0001 to node0018``."""
    return bundle[0].host if len(bundle) == 1 else f"{bundle[0].host} to {bundle[-1].host}"


def _places(bundles: Sequence[Bundle], tasks: list[TaskLine]) -> dict[int, int]:
    """Task → row of the picture."""
    of_host = {part.host: row for row, bundle in enumerate(bundles) for part in bundle}
    return {task["task"]: of_host[task["host"]] for task in tasks if task.get("host") in of_host}


def _intervals_table(
    bundles: Sequence[Bundle], edges: list[int], rates: Sequence[Sequence[float | None]], metric: str
) -> Table:
    """Of each row of the picture its slowest and its fastest interval: all of them would be as long as the records."""
    rows = []
    for bundle, line in zip(bundles, rates, strict=True):
        rows.append((bundle_name(bundle), str(len(bundle)), *extremes(line, edges, metric)))
    return Table.of((text_column("host"), text_column("hosts"), *EXTREMES), tuple(rows))


def notes(analysis: Analysis) -> list[str]:
    """Returns the notes below the tables of the terminal."""
    return [sentence for found in largest(analysis.hosts) for sentence in stories(found)]


SECTION = Section("hosts", exhibits, tables=tables, notes=notes)
