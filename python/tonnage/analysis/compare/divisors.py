"""What rates are divided by: the best of a run by the disks, servers, nodes and link that its campaign names and by the
OSDs of its pool, which the cluster tells; with ``--per``, those of runs and tiers before they are compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tonnage.analysis.compare.normalise import (
    LINK,
    Basis,
    Normalised,
    normalise,
    parse_link,
    parse_per,
    require_like_units,
)
from tonnage.analysis.results import Divided, Point
from tonnage.errors import RequestError
from tonnage.records import Run
from tonnage.records.line_types import Json
from tonnage.units import BANDWIDTH

THINGS = {"disks": "disk", "servers": "server", "nodes": "node"}
"""Key of ``[normalise]`` → what it counts."""
OSD = "OSD"


def bases_of(manifest: Json) -> tuple[Basis, ...]:
    """What ``[normalise]`` of a run's campaign names, and the OSDs that its pool's objects may be on."""
    declared = (manifest.get("campaign") or {}).get("normalise") or {}
    found = [Basis(thing, declared[key], None) for key, thing in THINGS.items() if declared.get(key)]
    pool = (manifest.get("target") or {}).get("pool") or {}
    if osds := sum(1 for osd in pool.get("osds", ()) if osd["up"] and osd["weight"] > 0):
        found.append(Basis(OSD, osds, None))
    rate = declared.get("link_bytes_per_s")
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
    return tuple(Divided(point, tuple(_divided(point, basis) for basis in bases)) for point in best.values())


def _divided(point: Point, basis: Basis) -> Normalised | None:
    if basis.bytes_per_s is not None and point.metric != BANDWIDTH:
        return None
    return normalise(point.median, point.metric, basis, point.low, point.high)


@dataclass(frozen=True, slots=True)
class Owner:
    """Names a side whose rates are divided, and what it states about what carried them."""

    name: str
    own: tuple[Basis, ...]
    says: str
    """Where it is stated, for messages: ``[normalise] of RUN``."""


def owner_of(run: Run) -> Owner:
    """A run: the ``[normalise]`` of its campaign says what carried it, and the cluster which OSDs did."""
    return Owner(str(run.path), bases_of(run.manifest), f"[normalise] of {run.path}")


def given_to(asked: str, groups: Sequence[Sequence[Owner]], noun: str) -> list[Basis]:
    """Returns a basis for each owner of each group: ``disk`` as the owner states it, ``disk=60,84`` or
    ``link=1Gbit/s,10Gbit/s`` as given, one amount for each group; errors call a group ``noun``. RequestError where an
    owner has none, or where they are of unlike things."""
    thing, given, text = (part.strip() for part in asked.partition("="))
    thing = THINGS.get(thing.lower(), thing.lower())
    if not given:
        found = [_own(thing, owner, noun) for group in groups for owner in group]
    else:
        amounts = [part.strip() for part in text.split(",")]
        if len(amounts) != len(groups):
            raise RequestError(
                f"--per {asked} has {len(amounts)} for {len(groups)} {noun}s; hint: give one to each, in their order"
            )
        bases = [parse_link(each) if thing == LINK else parse_per(f"{thing}={each}") for each in amounts]
        found = [basis for basis, group in zip(bases, groups, strict=True) for _ in group]
    for other in found[1:]:
        require_like_units(found[0], other)
    return found


def _own(thing: str, owner: Owner, noun: str) -> Basis:
    for basis in owner.own:
        if basis.thing.lower() in (thing, thing.removesuffix("s")):
            return basis
    key = next((key for key, one in THINGS.items() if one == thing), thing)
    says = (
        f"it says {' and '.join(map(str, owner.own))}, and these are unlike things"
        if owner.own
        else "it says nothing of the kind"
    )
    amounts = "1Gbit/s,10Gbit/s" if thing == LINK else "60,84"
    raise RequestError(
        f"{owner.says} has no {key}: {says}; hint: give one to each {noun}, like --per {thing}={amounts}"
    )


def divided(point: Point, basis: Basis) -> Point:
    """Returns the same with its rates divided by the basis. RequestError for operations per second of a link."""
    whole = normalise(point.median, point.metric, basis, point.low, point.high)
    return replace(
        point,
        values=tuple(normalise(value, point.metric, basis).value for value in point.values),
        median=whole.value,
        low=whole.low,
        high=whole.high,
    )
