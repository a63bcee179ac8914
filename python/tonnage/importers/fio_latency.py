"""fio's latencies: nanoseconds where the name says so, else microseconds (version 2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tonnage.importers.figures import rounded, whole
from tonnage.importers.found import Latency, latency
from tonnage.importers.trace import LARGEST
from tonnage.records.shapes import Json

_QUANTILES = {"p50_ns": "50.000000", "p90_ns": "90.000000", "p99_ns": "99.000000", "p999_ns": "99.900000"}
_KINDS = (("lat_ns", 1), ("clat_ns", 1), ("lat", 1000), ("clat", 1000))
"""Name and nanoseconds of its unit. ``lat`` begins at submission, ``clat`` at the kernel's acceptance."""


def latency_of(tables: Sequence[Json]) -> Latency | None:
    """Of an operation over all jobs; quantiles only of a single one, for those of several cannot be added up."""
    found = [one for table in tables if (one := _one(table)) is not None]
    if len(found) < len(tables) or not found:
        return None
    if len(found) == 1:
        return found[0]
    counts = [one["count"] for one in found]
    if any(count is None for count in counts):
        return None
    total = sum(count or 0 for count in counts)
    mean = sum((one["mean_ns"] or 0) * (one["count"] or 0) for one in found) // total if total else None
    least, most = [one["min_ns"] for one in found], [one["max_ns"] for one in found]
    return latency(
        total,
        minimum=None if None in least else min(value for value in least if value is not None),
        mean=mean,
        maximum=None if None in most else max(value for value in most if value is not None),
    )


def _one(table: Json) -> Latency | None:
    """The one with percentiles: fio has them of ``clat``, or of ``lat`` where it was asked to."""
    known = [(table[name], unit) for name, unit in _KINDS if isinstance(table.get(name), dict)]
    timed = [(part, unit) for part, unit in known if _ns(part.get("max"), unit)]
    if not timed:
        return None
    part, unit = next(((p, u) for p, u in timed if isinstance(p.get("percentile"), dict)), timed[0])
    quantiles = part.get("percentile") if isinstance(part.get("percentile"), dict) else {}
    return latency(
        whole(part.get("N")) or whole(table.get("total_ios")),
        minimum=_ns(part.get("min"), unit),
        mean=_ns(part.get("mean"), unit),
        maximum=_ns(part.get("max"), unit),
        quantiles={key: _ns(quantiles.get(name), unit) for key, name in _QUANTILES.items()},
    )


def _ns(value: Any, unit: int) -> int | None:
    found = rounded(value)
    if found is None or found.middle * unit >= LARGEST:
        return None
    return round(found.high * unit) if not found.low else round(found.middle * unit)
