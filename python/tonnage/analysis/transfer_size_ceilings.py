"""Which ceilings bound a transfer size. Memory and the generator were measured at sizes, and do otherwise at others:
small buffers are copied in a cache, and what an operation costs grows with what it carries. A link bounds every size.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import log

from tonnage.records.line_types import CeilingEntry

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


def size_of(entry: CeilingEntry) -> int | None:
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
    """The ceiling at this size, and and how far its own size is from this one."""
    name, moved, size = str(entry.get("name", "ceiling")), float(entry["bytes_per_s"]), size_of(entry)
    if transfer_size is None or size is None or size == transfer_size:
        return 0.0, Ceiling(name, moved, None, stated=str(entry.get("source") or "").startswith("stated"))
    # Of larger transfers the generator makes no more, but each carries more bytes.
    grown = transfer_size / size if name == _GENERATOR and transfer_size > size else 1.0
    return abs(log(transfer_size / size)), Ceiling(name, moved * grown, size)
