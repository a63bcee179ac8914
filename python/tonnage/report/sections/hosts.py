"""Several hosts: what each did, when, which held up the others, and how evenly they crossed the start line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tonnage import units
from tonnage.analysis.results import Analysis, HostPart, Hosts
from tonnage.report import sentences
from tonnage.report.figures import hover
from tonnage.report.figures.figure import MUTED, Exhibit, Figure, Table, Variant, layout, line_colour, words
from tonnage.report.sections import host_times
from tonnage.report.source import Source

MOST_ROWS = 20
"""Hosts that a table names; of more, those that ended last, and one row for the others."""
_MOST_ROWS_SHORT = 6
"""The same on the terminal."""
MOST_MARKS = 256
"""Marks of a figure: of more hosts, neighbours share one."""


def exhibits(analysis: Analysis, source: Source) -> list[Exhibit]:
    """One section where any phase ran on several hosts: of each curve the point with most of them."""
    shown = largest(analysis.hosts)
    if not shown:
        return []
    variants = tuple(Variant(_label(found), _figures(found, source)) for found in shown)
    story = " ".join(line for found in shown for line in stories(found))
    return [Exhibit("hosts", "Hosts", story, "Phase", variants)]


def tables(analysis: Analysis) -> list[tuple[str, Table]]:
    """Each largest phase over several hosts, short, for the terminal."""
    return [(_label(found), table(found, _MOST_ROWS_SHORT)) for found in largest(analysis.hosts)]


def largest(hosts: Sequence[Hosts]) -> list[Hosts]:
    """Of each curve the point with most hosts, and of equals the one with most tasks."""
    best: dict[tuple[str, str], Hosts] = {}
    for found in hosts:
        key = (found.op, found.group)
        if key not in best or _size(found) > _size(best[key]):
            best[key] = found
    return list(best.values())


def _size(found: Hosts) -> tuple[int, int]:
    return len(found.parts), found.tasks


def _label(found: Hosts) -> str:
    what = sentences.subject(found.op, found.group)
    hosts = f"{sentences.number(len(found.parts))} hosts"
    return f"{what}, {hosts}, {sentences.tasks(found.tasks)} ({found.record})"


def stories(found: Hosts) -> list[str]:
    """Who was last, and how the start line was crossed."""
    return [_last(found), *_meeting(found)]


def _last(found: Hosts) -> str:
    slowest, what = found.slowest, sentences.subject(found.op, found.group)
    on = f" on {slowest.host}" if slowest.host else ""
    many = slowest.tasks > 1
    who = f"tasks {slowest.task} to {slowest.task + slowest.tasks - 1}{on}" if many else f"task {slowest.task}{on}"
    where = f"{what} on {sentences.number(len(found.parts))} hosts: "
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
    """Hosts in their order; of very many those that ended last, and the others in one row."""
    met = {host["host"]: host for host in (found.ensemble or {}).get("hosts", ())}
    columns = ("host", "tasks", "moved", "share", "rate", "first done", "last done", *(("clock",) if met else ()))
    parts = list(found.parts)
    if len(parts) > most:
        late = sorted(parts, key=lambda part: -part.last_done_ns)[: most - 1]
        names = {part.host for part in late}
        others = [part for part in parts if part.host not in names]
        rows = [_row(part, met) for part in late] + [_others(others, bool(met))]
    else:
        rows = [_row(part, met) for part in parts]
    return Table(columns, tuple(rows))


def _row(part: HostPart, met: dict[str, Any]) -> tuple[str, ...]:
    clock = met.get(part.host)
    return (
        part.host,
        sentences.number(part.tasks),
        units.volume(part.bytes),
        units.share(part.share),
        units.rate(part.bytes * 1e9 / part.last_done_ns if part.last_done_ns else None),
        units.duration(part.first_done_ns),
        units.duration(part.last_done_ns),
        *((_clock(clock),) if met else ()),
    )


def _clock(met: dict[str, Any] | None) -> str:
    if not met or met.get("offset_ns") is None:
        return units.NOT_MEASURED
    sign = "-" if met["offset_ns"] < 0 else "+"
    return f"{sign}{units.duration(abs(met['offset_ns']))} ± {units.duration(met['uncertainty_ns'])}"


def _others(parts: list[HostPart], clocks: bool) -> tuple[str, ...]:
    moved, last = sum(part.bytes for part in parts), max(part.last_done_ns for part in parts)
    return (
        f"{sentences.number(len(parts))} others",
        sentences.number(sum(part.tasks for part in parts)),
        units.volume(moved),
        units.share(sum(part.share for part in parts)),
        units.rate(moved * 1e9 / last if last else None),
        units.duration(min(part.first_done_ns for part in parts)),
        units.duration(last),
        *((units.NOT_MEASURED,) if clocks else ()),
    )


def _figures(found: Hosts, source: Source) -> tuple[Figure, ...]:
    drawn = (_ends(found), host_times.figure(found, source.series(found.record), source.tasks_of(found.record)))
    return tuple(figure for figure in drawn if figure is not None)


def _ends(found: Hosts) -> Figure:
    """When each host's first and last task ended."""
    step = -(-len(found.parts) // MOST_MARKS)
    bundles = [found.parts[at : at + step] for at in range(0, len(found.parts), step)]
    names = [words(host_times.bundle_name(bundle)) for bundle in bundles]
    first = [min(part.first_done_ns for part in bundle) / 1e9 for bundle in bundles]
    last = [max(part.last_done_ns for part in bundle) / 1e9 for bundle in bundles]
    numbers = [1 + at * step for at in range(len(bundles))]
    told = "%{text}<br>%{y:.4g} s" + hover.ending(found.record)
    common = {"x": numbers, "text": names, "mode": "markers", "hovertemplate": told}
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
