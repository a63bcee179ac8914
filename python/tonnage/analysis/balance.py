"""How evenly the objects of a phase were spread over the OSDs of a pool, and whether chance alone spreads them so.

An object belongs to a placement group by the hash of its name, and the cluster's map gives each group its OSDs by what
looks like a draw. So the busiest OSD of even a perfect pool has more than its share: how much more, as many draws of
the same groups tell. Only what lies beyond them is called uneven.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tonnage.analysis.hosts import nearest
from tonnage.analysis.results import Point
from tonnage.records.line_types import Json, ObjectLine, TrialLine
from tonnage.records.trial_columns import by_record

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]


DRAWS = 999
_CHOICES_MOST = 20_000_000
"""Of OSDs, in all draws together: of very many groups there are fewer draws."""
_DRAWS_LEAST = 199
_CHOICES_AT_ONCE = 1_000_000
_SEED = 20_260_101
LEVEL = 0.05
"""So seldom may chance alone be called uneven."""
UNEVEN = "uneven"


@dataclass(frozen=True, slots=True)
class OsdPart:
    """What one OSD of a pool had to do with the objects of a phase."""

    osd: int
    host: str
    first_objects: int
    """For which it is asked first…"""
    objects: int
    """…and all of which it holds a copy or a part."""
    operations: int
    bytes: int
    """That were sent to it."""
    copy_operations: int
    copy_bytes: int
    """That other OSDs handed on to it."""
    share: float
    """Of the bytes that all OSDs had to take, copies included."""
    fair_share: float
    """By its weight in the cluster's map."""
    low: float
    high: float
    """Between these its share is in 95 of 100 random draws."""


@dataclass(frozen=True, slots=True)
class Balance:
    """How evenly the objects of a point were spread; of its repetition nearest the median."""

    op: str
    group: str
    tasks: int
    record: str
    objects: int
    unplaced_objects: int
    """The number of objects that were not looked up."""
    groups: int
    """Placement groups that they are in…"""
    groups_of_pool: int
    """…of so many."""
    copies: int
    parts: tuple[OsdPart, ...]
    busiest: float
    """The largest share of an OSD, as a multiple of its fair one."""
    typical: float
    """The same where the groups are drawn at random: the median…"""
    most: float
    """…and what 95 of 100 draws stay below."""
    chance: float
    """How likely random draws are at least as uneven."""
    verdict: str
    """``uneven``, or ``as chance has it``."""


def balances_of(
    points: Sequence[Point], trials: Sequence[TrialLine], objects: Sequence[ObjectLine], pool: Json | None
) -> tuple[Balance, ...]:
    """Of each point whose objects were looked up: its repetition nearest the median. ``pool``: of the manifest."""
    placed: dict[str, list[ObjectLine]] = defaultdict(list)
    for group in objects:
        placed[group["record"]].append(group)
    if not placed:
        return ()
    lines = by_record(trials)
    return tuple(
        _balance(point, lines[record], placed[record], pool or {})
        for point in points
        if placed.get(record := nearest(point))
    )


def largest(balances: Sequence[Balance]) -> list[Balance]:
    """Of each operation the point with the most objects, whatever else its setting is: objects of all have the same
    names, so each point of fewer is on a part of the same OSDs."""
    best: dict[str, Balance] = {}
    for found in balances:
        known = best.get(found.op)
        if known is None or (found.objects, found.tasks) > (known.objects, known.tasks):
            best[found.op] = found
    return list(best.values())


def _balance(point: Point, line: TrialLine, groups: Sequence[ObjectLine], pool: Json) -> Balance:
    weights = _weights(groups, pool)
    numbers = {osd: number for number, osd in enumerate(weights)}
    written, read = _amounts(groups)
    loads = [0.0] * len(weights)
    for group, writes, reads in zip(groups, written, read, strict=True):
        for osd in group["osds"]:
            loads[numbers[osd]] += writes
        if group["osds"]:
            loads[numbers[group["osds"][0]]] += reads
    total = sum(loads)
    fair = [weight / sum(weights.values()) for weight in weights.values()]
    copies = [len(group["osds"]) for group in groups]
    drawn = _drawn(fair, copies, written, read)
    shares = [load / total if total else 0.0 for load in loads]
    busiest = max(_ratios(shares, fair), default=0.0)
    typical, most, chance = _against(busiest, [max(_ratios(draw, fair)) for draw in drawn.tolist()])
    known: Json = line.get("objects") or {}
    return Balance(
        op=point.op,
        group=point.group,
        tasks=point.tasks,
        record=line["record"],
        objects=sum(group["objects"] for group in groups),
        unplaced_objects=known.get("unplaced_objects", 0),
        groups=len(groups),
        groups_of_pool=known.get("groups", 0),
        copies=max(copies, default=0),
        parts=tuple(_parts(weights, shares, fair, drawn, groups, pool)),
        busiest=busiest,
        typical=typical,
        most=most,
        chance=chance,
        verdict=UNEVEN if chance < LEVEL else "as chance has it",
    )


def _weights(groups: Sequence[ObjectLine], pool: Json) -> dict[int, float]:
    """OSDs that may hold objects of the pool, by number; those that do, all alike, where the pool is not known."""
    known: dict[int, float] = {
        osd["osd"]: float(osd["weight"]) for osd in pool.get("osds", ()) if osd["weight"] > 0 and osd["up"]
    }
    used = {osd for group in groups for osd in group["osds"]}
    if not known:
        return dict.fromkeys(sorted(used), 1.0)
    # One that came up after the manifest was written.
    usual = sum(known.values()) / len(known)
    return {osd: known.get(osd, usual) for osd in sorted(used | set(known))}


def _amounts(groups: Sequence[ObjectLine]) -> tuple[list[float], list[float]]:
    """What each group's OSDs had to take: all of them what was written, the first one what was read. Bytes."""
    return [float(group["written_bytes"]) for group in groups], [float(group["read_bytes"]) for group in groups]


def _ratios(shares: Sequence[float], fair: Sequence[float]) -> list[float]:
    return [share / part for share, part in zip(shares, fair, strict=True) if part > 0]


def _drawn(fair: Sequence[float], copies: Sequence[int], written: list[float], read: list[float]) -> Floats:
    """Shares of the OSDs, a row for each draw, had the same groups been drawn on them at random: as many OSDs as each
    has, none twice. No rows where there is nothing to draw."""
    import numpy as np

    most = min(max(copies, default=0), sum(1 for part in fair if part > 0))
    if not most or len(fair) < 2:
        return np.empty((0, len(fair)))
    random = np.random.default_rng(_SEED)
    draws = max(_DRAWS_LEAST, min(DRAWS, _CHOICES_MOST // (len(copies) * most)))
    at_once = max(1, _CHOICES_AT_ONCE // (len(copies) * most))
    sums, held = np.cumsum(fair), np.minimum(np.array(copies), most)
    found = []
    while draws > 0:
        rows = min(draws, at_once)
        draws -= rows
        chosen = _choose(random, sums, rows * len(copies), most)
        # Each row counts in bins of its own.
        chosen += np.repeat(np.arange(rows), len(copies))[:, None] * len(fair)
        loads = np.bincount(chosen[:, 0], weights=np.tile(read, rows), minlength=rows * len(fair))
        for copy in range(most):
            weights = np.tile(np.where(held > copy, written, 0.0), rows)
            loads += np.bincount(chosen[:, copy], weights=weights, minlength=rows * len(fair))
        found.append(loads.reshape(rows, len(fair)))
    loads = np.concatenate(found)
    shares: Floats = loads / np.maximum(loads.sum(axis=1, keepdims=True), 1.0)
    return shares


def _choose(random: np.random.Generator, sums: Floats, groups: int, copies: int) -> npt.NDArray[np.int64]:
    """An OSD for each copy of each group, by weight; who would hold two copies of one is drawn again."""
    import numpy as np

    chosen = np.empty((groups, copies), dtype=np.int64)
    for copy in range(copies):
        missing = np.arange(groups)
        while len(missing):
            drawn = np.searchsorted(sums, random.random(len(missing)) * sums[-1], side="right")
            chosen[missing, copy] = np.minimum(drawn, len(sums) - 1)
            twice = (chosen[missing, :copy] == chosen[missing, copy, None]).any(axis=1)
            missing = missing[twice]
    return chosen


def _against(busiest: float, drawn: Sequence[float]) -> tuple[float, float, float]:
    """The draws' median and their 95th of 100, and how many are as uneven as this: 1 where nothing could be drawn."""
    if not drawn:
        return busiest, busiest, 1.0
    ordered = sorted(drawn)
    beyond = sum(1 for ratio in ordered if ratio >= busiest * (1 - 1e-9))
    at = int((1 - LEVEL) * (len(ordered) - 1))
    return ordered[len(ordered) // 2], ordered[at], (beyond + 1) / (len(ordered) + 1)


def _parts(
    weights: Mapping[int, float],
    shares: Sequence[float],
    fair: Sequence[float],
    drawn: Floats,
    groups: Sequence[ObjectLine],
    pool: Json,
) -> Iterator[OsdPart]:
    hosts = {osd["osd"]: osd["host"] for osd in pool.get("osds", ())}
    for number, osd in enumerate(weights):
        mine = [group for group in groups if osd in group["osds"]]
        first = [group for group in mine if group["osds"][0] == osd]
        others = sorted(drawn[:, number].tolist())
        yield OsdPart(
            osd=osd,
            host=hosts.get(osd, ""),
            first_objects=sum(group["objects"] for group in first),
            objects=sum(group["objects"] for group in mine),
            operations=sum(group["writes"] + group["reads"] for group in first),
            bytes=sum(group["written_bytes"] + group["read_bytes"] for group in first),
            copy_operations=sum(group["writes"] for group in mine if group["osds"][0] != osd),
            copy_bytes=sum(group["written_bytes"] for group in mine if group["osds"][0] != osd),
            share=shares[number],
            fair_share=fair[number],
            low=others[len(others) // 40] if others else fair[number],
            high=others[-1 - len(others) // 40] if others else fair[number],
        )
