"""Points over transfer sizes: which belong together, and what bounds the rate at each size.

The roofs are those of a roofline model (Williams, Waterman and Patterson 2009), with the transfer size in the place of
the arithmetic intensity: a rate of bytes is flat, a rate of operations rises with the size.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import log

from tonnage.analysis.points import Groups
from tonnage.analysis.results import LoadLine, Point
from tonnage.records.line_types import CeilingEntry, TrialLine
from tonnage.units import BANDWIDTH

_GENERATOR = "null-storage"


@dataclass(frozen=True, slots=True)
class Ceiling:
    """The most bytes per second of transfers of one size."""

    name: str
    """As in the manifest: ``memory-copy``."""
    bytes_per_s: float
    other_transfer_size: int | None
    """The transfer size at which it was measured, where that is not the one it is asked of."""
    stated: bool = False
    """Whether the user stated it instead of measuring it."""


def measured_at(entry: CeilingEntry) -> int | None:
    """The transfer size in bytes at which an entry of the manifest was measured; None where it bounds every size."""
    if entry.get("transfer_size"):
        return int(entry["transfer_size"])
    # As older runs have it.
    moved, operations = entry.get("bytes_per_s"), entry.get("operations_per_s")
    return round(moved / operations) if moved and operations else None


def ceilings_at(entries: Iterable[CeilingEntry], transfer_size: int | None) -> list[Ceiling]:
    """Of each name the ceiling that was measured nearest to ``transfer_size``, and the highest of these; of no size
    (None: names, programs) the highest of all."""
    nearest: dict[str, tuple[float, Ceiling]] = {}
    for entry in entries:
        if entry.get("bytes_per_s"):
            distance, found = _asked(entry, transfer_size)
            known = nearest.get(found.name)
            if known is None or (distance, -found.bytes_per_s) < (known[0], -known[1].bytes_per_s):
                nearest[found.name] = distance, found
    return [found for _, found in nearest.values()]


def _asked(entry: CeilingEntry, transfer_size: int | None) -> tuple[float, Ceiling]:
    """The ceiling at this size, and how far its own size is from this one."""
    name, moved, size = str(entry.get("name", "ceiling")), float(entry["bytes_per_s"]), measured_at(entry)
    if transfer_size is None or size is None or size == transfer_size:
        return 0.0, Ceiling(name, moved, None, stated=str(entry.get("source") or "").startswith("stated"))
    # Of larger transfers the generator makes no more, but each carries more bytes.
    grown = transfer_size / size if name == _GENERATOR and transfer_size > size else 1.0
    return abs(log(transfer_size / size)), Ceiling(name, moved * grown, size)


_KINDS = ("stream", "checkpoint")
"""Kinds of workload whose operations are transfers of one size to or from the storage."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """The points of one operation that differ in transfer size and tasks alone; two sizes at least."""

    op: str
    group: str
    """The factors that distinguish it from other sweeps of the run; empty where there are none."""
    points: tuple[Point, ...]

    @property
    def sizes(self) -> list[int]:
        """Bytes, ascending."""
        return sorted({size_of(point) for point in self.points})

    @property
    def tasks(self) -> list[int]:
        """Ascending."""
        return sorted({point.tasks for point in self.points})

    @property
    def best(self) -> list[Point]:
        """Of each size the point with the highest median, by size."""
        return [
            max((point for point in self.points if point.transfer_size == size), key=lambda point: point.median)
            for size in self.sizes
        ]


@dataclass(frozen=True, slots=True)
class Roof:
    """Most bytes, or most operations, in a second; one of the two is None."""

    name: str
    bytes_per_s: float | None
    operations_per_s: float | None
    point: Point | None = None
    """The point of the run that it is; None for a ceiling of the hosts or of a link."""
    size_bytes: int | None = None
    """The transfer size at which alone it was measured; None where it bounds every size."""
    source: str = ""
    """How it was measured, where that was not the point."""

    def at(self, size_bytes: float) -> float:
        """Bytes per second that it leaves to transfers of a size."""
        return self.bytes_per_s if self.bytes_per_s is not None else (self.operations_per_s or 0.0) * size_bytes


def size_of(point: Point) -> int:
    """The transfer size of a point that has one, in bytes."""
    return point.transfer_size or 0


def sweeps_of(points: Sequence[Point]) -> list[Sweep]:
    """In the order of the points. What follows from transfer size and tasks (a block size of so many transfers) tells
    no points apart."""
    sized = [point for point in points if point.kind in _KINDS and point.metric == BANDWIDTH and point.transfer_size]
    lines = [_line(point) for point in sized]
    groups = Groups(lines)
    together: dict[tuple[str, str], list[Point]] = defaultdict(list)
    for point, line in zip(sized, lines, strict=True):
        together[point.op, groups.of(line["setting"])].append(point)
    found = [Sweep(op, group, tuple(members)) for (op, group), members in together.items()]
    return [sweep for sweep in found if len(sweep.sizes) > 1]


def _line(point: Point) -> TrialLine:
    """As a trial whose place is its size and its tasks: what else varies at that place is a factor."""
    others = {key: value for key, value in point.setting.items() if key != "transfer_size"}
    place = {"workload": point.workload, "tasks": (point.transfer_size, point.tasks)}
    return {"phase": point.op, "setting": {**others, **place}}


def roofs_of(sweep: Sweep, ceilings: Sequence[CeilingEntry]) -> list[Roof]:
    """Returns the most bytes and the most operations that the sweep itself reached, then the run's ceilings."""
    most = max(sweep.points, key=lambda point: point.median)
    quickest = max(sweep.points, key=lambda point: point.median / size_of(point))
    measured = [
        Roof("most bytes", most.median, None, most),
        Roof("most operations", None, quickest.median / size_of(quickest), quickest),
    ]
    return [*measured, *(roof for entry in ceilings if (roof := _ceiling(entry)) is not None)]


def _ceiling(entry: CeilingEntry) -> Roof | None:
    """A link bounds bytes of any size; memory and generator were measured at sizes, and do otherwise at others."""
    moved = entry.get("bytes_per_s")
    if not moved:
        return None
    name, source = str(entry.get("name", "ceiling")).replace("-", " "), str(entry.get("source") or "")
    return Roof(name, float(moved), None, size_bytes=measured_at(entry), source=source)


def ridge_bytes(roofs: Sequence[Roof]) -> float:
    """The size at which the sweep's two roofs meet: operations bound smaller transfers, bytes larger ones."""
    (flat,) = [roof.bytes_per_s for roof in roofs if roof.point is not None and roof.bytes_per_s]
    (slope,) = [roof.operations_per_s for roof in roofs if roof.point is not None and roof.operations_per_s]
    return flat / slope


def line_of(size: int, sweep: Sweep, lines: Sequence[LoadLine]) -> LoadLine | None:
    """The load line of the sweep's curve at one size; None where none was searched."""
    groups = {point.group for point in sweep.points if point.transfer_size == size}
    return next((line for line in lines if line.op == sweep.op and {line.group} == groups), None)
