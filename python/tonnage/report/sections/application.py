"""What an imported log says of an application: its calls on each file system, and their sizes."""

from __future__ import annotations

from collections.abc import Callable

from tonnage import units
from tonnage.analysis.applications import SIZES, Application
from tonnage.analysis.run_analysis import Analysis
from tonnage.report.figures.colours import line_colour
from tonnage.report.figures.figure import Exhibit, Figure, Table, Variant, layout, text_column
from tonnage.report.figures.plotly import Trace
from tonnage.report.page_data import Source
from tonnage.report.sections.section_type import Section, Titled

_MOVES = ("write", "read")
_NAMES = ("0–100", "100–1K", "1K–10K", "10K–100K", "100K–1M", "1M–4M", "4M–10M", "10M–100M", "100M–1G", "1G+")


def points(analysis: Analysis) -> list[Titled]:
    """A table for each file system, one of the calls that moved bytes and one of those on names."""
    found: list[Titled] = []
    for place, some in _places(analysis).items():
        moved = [one for one in some if one.point.op in _MOVES]
        names = [one for one in some if one.point.op not in _MOVES]
        if moved:
            found.append((f"Calls on {place}", _moved(moved)))
        if names:
            found.append((f"Calls on names on {place}", _names(names)))
    return found


def exhibits(analysis: Analysis, _: Source) -> list[Exhibit]:
    """Calls by size, with a choice for each file system."""
    variants = []
    for place, some in _places(analysis).items():
        sized = [one for one in some if one.sizes]
        moved = [one for one in some if one.point.op in _MOVES]
        if sized:
            variants.append(Variant(place, (_sizes(place, sized, _moved(moved)),)))
    introduction = (
        "What the log counts of the application's calls. Two figures are bounds: the counters prove no more. "
        "What the page cache answered is in them."
    )
    return [Exhibit("application", "The application", introduction, "File system", tuple(variants))] if variants else []


def _places(analysis: Analysis) -> dict[str, list[Application]]:
    found: dict[str, list[Application]] = {}
    for one in analysis.applications:
        found.setdefault(one.file_system, []).append(one)
    return found


def _moved(some: list[Application]) -> Table:
    columns = (
        text_column("calls"), "n", "ranks", "at once", "transfer", "bytes", "number", "sequential", "active",
        "inside calls", "imbalance", "peak",
    )  # fmt: skip
    rows = tuple(
        (
            one.point.op,
            str(one.point.repetitions),
            _bounds(one, "ranks", units.count),
            _bounds(one, "at_once", units.count),
            units.size(one.facts.get("transfer_size")),
            units.volume(round(one.point.bandwidth_bytes_per_s * one.point.elapsed_ns / 1e9)),
            units.count(round(one.point.operations_per_s * one.point.elapsed_ns / 1e9)),
            _bounds(one, "sequential_millionths", lambda value: units.share(value / 10**6)),
            _bounds(one, "active_ns", units.duration),
            units.duration(one.facts.get("busy_ns")),
            _times(one.facts.get("imbalance_thousandths")),
            units.rate(one.facts.get("peak_bytes_per_s")),
        )
        for one in some
    )
    return Table.of(columns, rows)


def _names(some: list[Application]) -> Table:
    columns = ("n", "opens", "stats", "seeks", "syncs", "inside calls", "files", "only read", "only written", "shared")
    keys = ("opens", "stats", "seeks", "syncs")
    files = ("files", "files_only_read", "files_only_written", "files_shared")
    rows = tuple(
        (
            str(one.point.repetitions),
            *(units.count(one.facts.get(key)) for key in keys),
            units.duration(one.facts.get("busy_ns")),
            *(units.count(one.facts.get(key)) for key in files),
        )
        for one in some
    )
    return Table.of(columns, rows)


def _bounds(one: Application, name: str, text: Callable[[float], str]) -> str:
    found = one.bounds(name)
    if found is None:
        return units.NOT_MEASURED
    low, high = text(found[0]), text(found[1])
    return low if low == high else f"{low} – {high}"


def _times(thousandths: int | None) -> str:
    return units.NOT_MEASURED if thousandths is None else f"{units.significant(thousandths / 1000, 2)} times"


def _sizes(place: str, some: list[Application], table: Table) -> Figure:
    used = [at for at in range(len(SIZES)) if any(one.sizes[at] for one in some)]
    traces: list[Trace] = [
        {
            "type": "bar",
            "x": [_NAMES[at] for at in used],
            "y": [one.sizes[at] for at in used],
            "name": one.point.op,
            "marker": {"color": line_colour(one.point.op)},
            "hovertemplate": f"{one.point.op}, %{{x}} bytes<br>%{{y}} calls<extra></extra>",
        }
        for one in some
    ]
    calls = "; ".join(f"{one.point.op} {units.count(sum(one.sizes))} calls" for one in some)
    return Figure(
        title=f"Sizes of calls on {place}",
        caption=f"{calls}. K, M and G are powers of two; calls of stdio have no size in a log.",
        alt=f"Number of calls by size on {place}: {calls}.",
        traces=traces,
        layout=layout(
            {"title": "Bytes of a call", "type": "category"}, {"title": "Calls", "rangemode": "tozero"}, barmode="group"
        ),
        table=table,
    )


SECTION = Section("application", exhibits, points=points)
