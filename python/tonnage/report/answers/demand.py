"""What a program asks of a storage: a table for each file system, what of it is not known, bytes over time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tonnage import units
from tonnage.demand.deviation import Deviation
from tonnage.demand.job_use import BIN_NAMES, Bounds, FileSystemUse, JobUse, Transfers
from tonnage.demand.profile import FileSystemProfile, Flow, Over, Profile
from tonnage.report.answer import Answer, Statement
from tonnage.report.figures.axes import rate_scale_title
from tonnage.report.figures.colours import line_colour
from tonnage.report.figures.figure import Exhibit, Figure, Table, Variant, layout, text_column
from tonnage.report.figures.plotly import Trace

_NOTES = (
    (
        "at once: calls in progress in the fullest moment. Two figures are what first and last calls and the time "
        "inside calls prove; one figure is known, of ranks in turn or from traced calls (DXT)."
    ),
    "while active: bytes over the time in which a call was in progress. Two figures are its bounds.",
    "waiting: tasks inside calls, on average over the whole time of the job.",
    "peak: the mean over the time beside it, the fullest of its length.",
    "Darshan leaves out mounts of tmpfs: files there (/dev/shm) count as of the mount point above them.",
    "Counters are of calls: what the page cache answered is in them. Threads of a process count as one without DXT.",
)


def answer(given: Sequence[str], profile: Profile, told: Sequence[Statement], uses: Sequence[JobUse]) -> Answer:
    """Makes the answer; ``told``: the sentences about load lines."""
    if lacking := sorted({part for use in uses for part in use.lacking}):
        text = f"Records of {' and '.join(lacking)} are missing: the figures lack their calls, and are too low."
        told = (Statement("", text, (), False), *told)
    unknown = [Statement("", f"{problem[0].upper()}{problem[1:]}.", (), False) for problem in profile.problems]
    for place in profile.places:
        if place.mapped:
            unknown.append(
                Statement(
                    "", f"Files on {place.mount} were mapped into memory: what went that way is not counted.", (), False
                )
            )
    runs = units.plural(profile.runs, "run")
    facts = (
        ("program", profile.program or units.NOT_MEASURED),
        ("processes", str(profile.processes)),
        ("lasted", over(profile.run_s, _seconds)),
        ("counted by", f"{profile.source}, {runs}"),
        ("from", ", ".join(given[:4]) + (f" and {len(given) - 4} more" if len(given) > 4 else "")),
    )
    tables = []
    for place in profile.places:
        tables.append((f"{place.mount} ({place.type})", _flows(place)))
        if sizes := _sizes(place):
            tables.append((f"Sizes of calls on {place.mount}", sizes))
    exhibits = _exhibits(uses[0], profile.places[0].mount)
    return Answer("Demand", facts, (*told, *unknown), exhibits, tuple(tables), _NOTES)


def replayed(job: FileSystemUse, found: Sequence[Deviation]) -> tuple[str, Table]:
    """Returns the table of a replay beside its job."""
    rows = tuple(
        (
            one.counter,
            bounds(one.job, lambda value, unit=one.unit: _value(value, unit)),  # type: ignore[misc]
            units.NOT_KNOWN if one.replay is None else _value(one.replay, one.unit),
            _deviation(one),
        )
        for one in found
    )
    columns = (text_column("counter"), "the job", "the replay", "deviation")
    return f"The replay beside the job on {job.mount}", Table.of(columns, rows)


def _value(value: float, unit: str) -> str:
    if unit == "bytes":
        return units.volume(round(value))
    if unit == "s":
        return units.duration(value * 1e9)
    return units.share(value) if unit == "share" else units.count(value)


def _deviation(one: Deviation) -> str:
    if one.replay is None:
        return units.NOT_MEASURED
    apart = one.apart
    if apart is None:
        return "not in the job"
    if apart == 0:
        return "none" if one.job.is_exact else "within the bounds"
    return f"{100 * apart:+.0f} points" if one.unit == "share" else f"{100 * apart:+.1f} %"


def _flows(place: FileSystemProfile) -> Table:
    columns = (
        text_column("calls"), "at once", "ranks", "transfer", "bytes", "number", "order", "sequential", "while active",
        "peak", "over the job", "active", "waiting",
    )  # fmt: skip
    rows = [_flow(flow) for flow in place.flows]
    if place.opens.median or place.stats.median or place.names_waiting.median:
        number = f"{over(place.opens, units.count)} opens, {over(place.stats, units.count)} stats"
        rows.append(("names", *[""] * 4, number, *[""] * 6, over(place.names_waiting, _tasks)))
    return Table.of(columns, tuple(rows))


def _flow(flow: Flow) -> tuple[str, ...]:
    return (
        flow.operation,
        bounds(flow.at_once, units.count),
        bounds(flow.ranks, units.count),
        units.NOT_KNOWN if flow.transfer_size is None else over(flow.transfer_size, _size),
        over(flow.bytes, lambda value: units.volume(round(value))),
        over(flow.operations, units.count),
        flow.order,
        bounds(flow.sequential, units.share),
        units.NOT_KNOWN if flow.rate_bytes_per_s is None else bounds(flow.rate_bytes_per_s, units.rate),
        _peak(flow),
        over(flow.job_bytes_per_s, units.rate),
        bounds(flow.active_s, _seconds),
        over(flow.waiting, _tasks),
    )


def bounds(value: Bounds, text: Callable[[float], str]) -> str:
    """``4``, or ``2 – 4`` where it is only bounded."""
    low, high = text(value.low), text(value.high)
    return low if low == high else f"{low} – {high}"


def _peak(flow: Flow) -> str:
    if flow.peak_bytes_per_s is None or flow.peak_over_s is None:
        return units.NOT_MEASURED
    return f"{over(flow.peak_bytes_per_s, units.rate)} over {bounds(flow.peak_over_s, _seconds)}"


def over(value: Over, text: Callable[[float], str]) -> str:
    """``4``; ``4 [3, 5]`` of several runs; ``3 – 5``, or ``at least 3``, where it is only bounded."""
    if value.low is None:
        return text(value.median)
    if value.high is None:
        return f"at least {text(value.low)}"
    if value.bounded:
        return bounds(Bounds(value.low, value.high), text)
    if text(value.low) == text(value.high):
        return text(value.median)
    return f"{text(value.median)} [{units.interval(value.low, value.high, text, to=', ')}]"


def _size(value: float) -> str:
    return units.size(round(value))


def _seconds(value: float) -> str:
    return units.duration(value * 1e9)


def _tasks(value: float) -> str:
    return units.significant(value, 2)


def _sizes(place: FileSystemProfile) -> Table | None:
    """Calls of one run by size."""
    used = [
        at for at in range(len(BIN_NAMES)) if any(flow.sizes[at].high or flow.sizes[at].median for flow in place.flows)
    ]
    if not used:
        return None
    rows = tuple((flow.operation, *(over(flow.sizes[at], units.count) for at in used)) for flow in place.flows)
    return Table.of((text_column("calls of bytes"), *(BIN_NAMES[at] for at in used)), rows)


def _exhibits(use: JobUse, mount: str) -> tuple[Exhibit, ...]:
    place = next((one for one in use.file_systems if one.mount == mount), None)
    drawn = [one for one in (place.transfers if place else ()) if one.heat]
    if not drawn:
        return ()
    introduction = "The first log's bytes over time, as its heat map or its traced calls have them."
    return (Exhibit("over-time", "Over time", introduction, "", (Variant(mount, (_heat(drawn),)),)),)


def _heat(drawn: Sequence[Transfers]) -> Figure:
    rates = {one.operation: [part.bytes_per_s for part in one.heat] for one in drawn}
    scale, title = rate_scale_title(max(max(values) for values in rates.values()) or 1.0)
    traces: list[Trace] = [
        {
            "x": [part.start_s for part in one.heat],
            "y": [value / scale for value in rates[one.operation]],
            "mode": "lines",
            "line": {"color": line_colour(one.operation), "width": 2, "shape": "hv"},
            "name": one.operation,
            "hovertemplate": f"{one.operation}<br>%{{x:.3g}} s, %{{y:.3g}}<extra></extra>",
        }
        for one in drawn
    ]
    rows = tuple(
        (one.operation, f"{part.start_s:.3g}", f"{part.end_s:.3g}", units.volume(part.bytes))
        for one in drawn
        for part in one.heat
        if part.bytes
    )
    told = "; ".join(
        f"{one.operation}: {units.count(one.bursts)} burst{'' if one.bursts == 1 else 's'}, "
        f"{units.rate(fullest.bytes_per_s)} over the fullest {_seconds(fullest.length_s)}"
        for one in drawn
        for fullest in [max(one.heat, key=lambda part: part.bytes_per_s)]
    )
    return Figure(
        title="Bytes over time",
        caption=f"{told}.",
        alt=f"Rate of reads and writes since the job's start. {told}.",
        traces=traces,
        layout=layout(
            {"title": "Time since the job's start (s)", "rangemode": "tozero"}, {"title": title, "rangemode": "tozero"}
        ),
        table=Table.of((text_column("calls"), "from (s)", "to (s)", "bytes"), rows),
    )
