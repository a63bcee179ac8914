"""The best of a run divided by what its campaign says carried it: disks, servers, nodes, a link."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tonnage.analysis.normalise import LINK, Basis, Normalised, normalise
from tonnage.analysis.results import BANDWIDTH, Divided, Point

THINGS = {"disks": "disk", "servers": "server", "nodes": "node"}
"""Key of ``[normalise]`` → what it counts."""


def bases_of(campaign: Mapping[str, Any]) -> tuple[Basis, ...]:
    """What ``[normalise]`` of a campaign, as a manifest keeps it, names."""
    told = campaign.get("normalise") or {}
    found = [Basis(thing, told[key], None) for key, thing in THINGS.items() if told.get(key)]
    rate = told.get("link_bytes_per_s")
    return (*found, Basis(LINK, None, float(rate))) if rate else tuple(found)


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
