"""The best of a run divided by what carried it: disks, servers, nodes and a link as its campaign says, and the OSDs of
its pool, which the cluster tells."""

from __future__ import annotations

from collections.abc import Sequence

from tonnage.analysis.compare.normalise import LINK, Basis, Normalised, normalise
from tonnage.analysis.results import Divided, Point
from tonnage.records.shapes import Json
from tonnage.units import BANDWIDTH

THINGS = {"disks": "disk", "servers": "server", "nodes": "node"}
"""Key of ``[normalise]`` → what it counts."""
OSD = "OSD"


def bases_of(manifest: Json) -> tuple[Basis, ...]:
    """What ``[normalise]`` of a run's campaign names, and the OSDs that its pool's objects may be on."""
    told = (manifest.get("campaign") or {}).get("normalise") or {}
    found = [Basis(thing, told[key], None) for key, thing in THINGS.items() if told.get(key)]
    pool = (manifest.get("target") or {}).get("pool") or {}
    if osds := sum(1 for osd in pool.get("osds", ()) if osd["up"] and osd["weight"] > 0):
        found.append(Basis(OSD, osds, None))
    rate = told.get("link_bytes_per_s")
    return (*found, Basis(LINK, None, float(rate))) if rate else tuple(found)


def contradiction(bases: Sequence[Basis]) -> str | None:
    """A sentence where the campaign names another number of disks than the pool has OSDs."""
    counts = {basis.thing: basis for basis in bases if basis.count is not None}
    disks, osds = counts.get("disk"), counts.get(OSD)
    if disks is None or osds is None or disks.count == osds.count:
        return None
    return f"The campaign says {disks}, and the pool has {osds}: a rate for a disk is only right where that is meant."


def divide(points: Sequence[Point], bases: Sequence[Basis]) -> tuple[Divided, ...]:
    """Of each operation of each workload the point that did most, divided by each basis with its interval."""
    if not bases:
        return ()
    best: dict[tuple[str, str], Point] = {}
    for point in points:
        known = best.get((point.workload, point.op))
        if known is None or point.median > known.median:
            best[point.workload, point.op] = point
    return tuple(Divided(point, tuple(_part(point, basis) for basis in bases)) for point in best.values())


def _part(point: Point, basis: Basis) -> Normalised | None:
    if basis.bytes_per_s is not None and point.metric != BANDWIDTH:
        return None
    return normalise(point.median, point.metric, basis, point.low, point.high)
