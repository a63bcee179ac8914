"""From how many nodes on node-local tiers together are faster than a shared tier: from two runs, or from given figures.

The rule is that of :mod:`tonnage.analysis.tiers.crossover`. Here the two tiers may come from different runs, and the
user may state what no run has measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tonnage.analysis import LoadLine, analyse, measured_points
from tonnage.analysis.compare.comparable import UNKNOWN, storage_of
from tonnage.analysis.compare.differences import of_settings
from tonnage.analysis.compare.normalise import Basis, normalise, unit_of
from tonnage.analysis.findings.finding_rules import asked_rate
from tonnage.analysis.findings.undoing import Undone, undone_answers
from tonnage.analysis.hosts import hosts_of
from tonnage.analysis.results import Point
from tonnage.analysis.tiers.crossover import (
    METRICS,
    Crossover,
    MeasuredRate,
    by_group,
    crossover,
    crossover_of_curve,
    exact,
    grows_more,
    of_a_node,
    plateau_of,
    quotient,
    seen_on_both_sides,
    shared_rate,
)
from tonnage.errors import RequestError
from tonnage.records import Run

NODE, SHARED = "node", "shared"
"""What a tier is: every node has its own, or all share it."""
_OF_A_NODE = frozenset({"ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs", "tmpfs", "ramfs", "overlay"})
_OF_ALL = frozenset(
    {
        *("nfs", "nfs3", "nfs4", "cifs", "smb3", "lustre", "beegfs", "ceph", "fuse.ceph", "fuse.ceph-fuse", "gpfs"),
        *("fuse.glusterfs", "fuse.mfs", "fuse.sshfs", "9p"),
    }
)
_KINDS_OF_ALL = frozenset({"rados", "nfs", "s3"})
"""Kinds of target that no node has for itself."""


@dataclass(frozen=True, slots=True)
class At:
    """What a tier gave to so many nodes together."""

    nodes: int
    values: tuple[float, ...]
    median: float
    low: float
    high: float
    confidence: float
    records: tuple[str, ...] = ()
    """One for each of the values; none where the figures are published ones."""


@dataclass(frozen=True, slots=True)
class Tier:
    """Holds what is known of a tier."""

    name: str
    kind: str | None
    """``node``, ``shared``, or None where its records do not tell."""
    curves: Mapping[str, Mapping[int, At]]
    """Operation → nodes → rate of all of them, in B/s (operations/s for ``open-write-close``)."""
    ceilings: Mapping[str, MeasuredRate] = field(default_factory=dict)
    """What a shared one is known not to exceed, by operation, where more is known than its curve shows."""
    source: str = "measured"
    storage: str = ""
    """The storage's identity, or name; empty where it is not known."""
    undone_by: Mapping[str, tuple[Undone, ...]] = field(default_factory=dict)
    """By operation what undoes an answer that rests on its curve."""
    points: Mapping[str, Mapping[int, Point]] = field(default_factory=dict)
    """Those that its curves are of; none of a published one."""
    limited: frozenset[str] = frozenset()
    """Operations that were measured at a rate that was asked for, and not otherwise: it says nothing of what a tier
    gives."""
    searched: bool = False
    """A search chose the blocks itself."""


@dataclass(frozen=True, slots=True)
class Unlike:
    """A factor of the workload that the two tiers were not measured alike with."""

    key: str
    fast: Any
    slow: Any


@dataclass(frozen=True, slots=True)
class Wins:
    """Which tier wins at one number of nodes."""

    nodes: int
    fast: MeasuredRate
    """Rate of all nodes on the tier of their own."""
    slow: MeasuredRate
    """… and on the shared one."""
    ahead: str
    """Name of the tier that is ahead; empty where the intervals overlap."""
    beyond: bool
    """More nodes than either was measured with."""


@dataclass(frozen=True, slots=True)
class Parts:
    """Both rates divided: a disk of each against one of the other, say."""

    fast_of: str
    """What the rate of one node's own was divided by, ``2 disks``."""
    slow_of: str
    """… and what that of the shared tier."""
    unit: str
    """``B/s per disk``, ``of the link``."""
    fast: MeasuredRate
    slow: MeasuredRate
    ratio: MeasuredRate
    """``fast`` ÷ ``slow``."""


@dataclass(frozen=True, slots=True)
class Crossing:
    """A crossover, and the two lines that cross."""

    fast: str
    slow: str
    crossover: Crossover
    fast_curve: tuple[At, ...]
    slow_curve: tuple[At, ...]
    slow_one: MeasuredRate
    """What a node gets out of the shared tier where the fewest share it."""
    from_first: bool
    """A node's own tier gives it more than the shared one does even alone, which the intervals show."""
    stated: tuple[str, ...]
    """Which of ``fast`` and ``slow`` was stated, not measured."""
    ceiling: MeasuredRate | None = None
    """What the shared tier does not exceed, where that was stated or published; else its curve tells."""
    at: Wins | None = None
    per: Parts | None = None
    no_winner_at_first: bool = False
    """It gives more there, and the intervals do not show it, or a tier that was measured once has none."""
    same_storage: bool = False
    """Both tiers were measured on one storage, so that neither is a tier beside the other."""
    undone_by: tuple[Undone, ...] = ()
    """What undoes it: findings of the runs that it rests on, and runs that are not complete."""
    unlike: tuple[Unlike, ...] = ()
    """What else than the tier is not the same: then the lines are of two workloads."""
    measured_once: tuple[str, ...] = ()
    """Which of ``fast`` and ``slow`` was measured without repetitions, so that it has no interval."""


def tier_of_run(run: Run, name: str) -> Tier:
    """Of ``run`` the plateau at each number of nodes. RequestError where its records do not tell on how many
    nodes they were measured, or it has several devices: tiers of its own."""
    trials, tasks = run.each_trial(), run.each_task()
    measured = measured_points(run)
    points = [point for point in measured if point.op in METRICS and point.kind in ("stream", "files")]
    if len({point.setting.get("device") for point in points}) > 1:
        raise RequestError(
            f"{name} has several devices, whose crossover its own report tells; hint: tonnage report {name}"
        )
    asked = {point.op for point in points if asked_rate(point.setting)}
    points = [point for point in points if not asked_rate(point.setting)]
    hosts = {(found.op, found.group, found.tasks): len(found.parts) for found in hosts_of(points, trials, tasks)}
    found: dict[str, dict[int, list[Point]]] = {}
    for point in points:
        nodes = hosts.get((point.op, point.group, point.tasks), 1)
        if run.manifest.get("imported") and all(task.get("host") is None for task in tasks.get(point.records[0], ())):
            nodes = _said_nodes(point, name)
        found.setdefault(point.op, {}).setdefault(nodes, []).append(point)
    several = any(len(together) > 1 for by_nodes in found.values() for together in by_nodes.values())
    lines = [line for line in analyse(run).load_lines if line.reached] if several else []
    best = {
        op: {nodes: at for nodes, together in by_nodes.items() if (at := _at(nodes, together, lines))}
        for op, by_nodes in found.items()
    }
    curves = {op: {nodes: at for nodes, (at, _) in by_nodes.items()} for op, by_nodes in best.items()}
    storage_text, identity = storage_of(run)
    storage = identity or ("" if storage_text == UNKNOWN else storage_text)
    curves = {op: curve for op, curve in curves.items() if curve}
    undone_by = {
        op: undone_answers(run, measured, [(point.op, point.group) for point in points if point.op == op], [op])
        for op in curves
    }
    return Tier(
        name,
        _kind(run),
        curves,
        storage=storage,
        undone_by=undone_by,
        points={op: {nodes: point for nodes, (_, point) in by_nodes.items()} for op, by_nodes in best.items()},
        limited=frozenset(asked - curves.keys()),
        searched=bool(run.manifest.get("search")),
    )


def _at(nodes: int, points: Sequence[Point], lines: Sequence[LoadLine]) -> tuple[At, Point] | None:
    """What so many nodes gave with any number of tasks, of the settings that gave most, and the point that this is of;
    None where it is nothing."""
    found = []
    for curve in by_group(points):
        line = next((one for one in lines if (one.op, one.group) == (curve[0].op, curve[0].group)), None)
        whole = line is not None and line.max_tasks_tried in {point.tasks for point in curve} and len(curve) > 1
        rate = plateau_of(curve)
        if whole and line is not None and line.plateau is not None and line.plateau_low and line.plateau_high:
            rate = MeasuredRate(line.plateau, line.plateau_low, line.plateau_high, line.confidence)
        # The point that the rate is of, to find it again: of several the one nearest to it.
        near = min(curve, key=lambda point: abs(point.median - rate.median))
        found.append((At(nodes, near.values, rate.median, rate.low, rate.high, rate.confidence, near.records), near))
    return max(found, key=lambda pair: pair[0].median, default=None)


def _said_nodes(point: Point, name: str) -> int:
    """Of an imported run whose tasks have no hosts, but say how many a node had, as IOR does."""
    each = point.setting.get("tasks_per_node")
    if not isinstance(each, int) or each < 1:
        why = "is imported and does not say on how many nodes it was measured"
        raise RequestError(f"{name} {why}; hint: import what says how many tasks each node had, as IOR's output does")
    return -(-point.tasks // each)


def _kind(run: Run) -> str | None:
    target = run.manifest.get("target") or {}
    systems = set(str(target.get("file_system") or "").split(", "))
    if target.get("kind") in _KINDS_OF_ALL or systems & _OF_ALL:
        return SHARED
    return NODE if systems & _OF_A_NODE else None


def crossings(
    one: Tier,
    other: Tier,
    ops: Sequence[str] = (),
    *,
    shared: str | None = None,
    per_node: float | None = None,
    ceiling: float | None = None,
    nodes: int | None = None,
) -> list[Crossing]:
    """The crossings of two tiers, one for each operation that both were measured with, or of ``ops``.

    ``shared``: the name of the tier that all nodes share, where the records do not tell. ``per_node``, ``ceiling``:
    rates that are stated in place of what a node of the fast tier, and all nodes on the shared one, were measured with.
    RequestError where it cannot be told which tier is which, or nothing is common.
    """
    common = [op for op in METRICS if op in one.curves and op in other.curves and (not ops or op in ops)]
    for tier in (one, other):
        limited = [op for op in METRICS if op in tier.limited and (op in ops or not (ops or common))]
        if limited:
            why = f"{tier.name} was asked for a rate of {' and '.join(limited)}, which is not what a tier gives"
            raise RequestError(f"{why}; hint: measure it without rate and operations_rate")
    if not common:
        asked = " and ".join(ops) or " or ".join(METRICS)
        raise RequestError(f"{one.name} and {other.name} have no {asked} in common; hint: measure it on both")
    found = []
    for op in common:
        fast, slow = _sides(one, other, op, shared)
        found.append(_crossing(op, fast, slow, per_node, ceiling, nodes))
    return found


def _sides(one: Tier, other: Tier, op: str, shared: str | None) -> tuple[Tier, Tier]:
    """The tier that nodes have of their own, and the one that they share."""
    if shared is not None:
        if shared not in (one.name, other.name):
            raise RequestError(f"--shared {shared} is none of {one.name} and {other.name}; hint: name one of them")
        return (other, one) if shared == one.name else (one, other)
    kinds = {one.kind, other.kind}
    if kinds == {NODE, SHARED}:
        return (one, other) if one.kind == NODE else (other, one)
    if len(one.curves[op].keys() & other.curves[op].keys()) > 1 and kinds != {NODE}:
        return (one, other) if grows_more(one.curves[op], other.curves[op]) else (other, one)
    why = f"it cannot be told which of {one.name} and {other.name} all nodes share"
    raise RequestError(f"{why}; hint: say --shared {other.name}")


def _crossing(
    op: str, fast: Tier, slow: Tier, per_node: float | None, ceiling: float | None, nodes: int | None
) -> Crossing:
    stated = tuple(side for side, rate in (("fast", per_node), ("slow", ceiling)) if rate is not None)
    each = of_a_node(fast.curves[op]) if per_node is None else exact(per_node)
    curve = slow.curves[op]
    known = slow.ceilings.get(op)
    of_all = known if ceiling is None else exact(ceiling)
    alone = _times(curve[min(curve)], 1 / min(curve))
    found = crossover_of_curve(op, each, curve) if of_all is None else crossover(op, each, of_all)
    if not stated:
        found = seen_on_both_sides(found, fast.curves[op], curve)
    same = bool(fast.storage) and fast.storage == slow.storage
    if same:
        found = replace(found, levelled=False, behind=None, ahead=None, measure_at=None)
    ahead = not same and each.median >= alone.median
    sure = each.low > alone.high and _is_known(each, fast, per_node) and _is_known(alone, slow, None)
    crossing = Crossing(
        fast=fast.name,
        slow=slow.name,
        crossover=found,
        fast_curve=tuple(fast.curves[op][n] for n in sorted(fast.curves[op])),
        slow_curve=tuple(curve[n] for n in sorted(curve)),
        slow_one=alone,
        from_first=ahead and sure,
        stated=stated,
        ceiling=of_all,
        no_winner_at_first=ahead and not sure,
        same_storage=same,
        undone_by=(*fast.undone_by.get(op, ()), *slow.undone_by.get(op, ())),
        unlike=_unlike(fast, slow, op),
        measured_once=tuple(
            side
            for side, rate, tier, told in (
                ("fast", each, fast, per_node),
                ("slow", alone if of_all is None else of_all, slow, ceiling),
            )
            if not _is_known(rate, tier, told)
        ),
    )
    if nodes is None:
        return crossing
    at = wins(crossing, nodes)
    # Of a ceiling that is stated it is the curve that tells where the shared tier is below it.
    below = at.slow != of_all and slow.source == "measured" and not at.slow.confidence
    return replace(crossing, at=replace(at, ahead="") if crossing.measured_once or below else at)


_OF_THE_TIER = frozenset({"tasks_per_node", "partition", "hosts", "device", "devices"})
"""Of a setting: where its tasks ran and which tier it was, which is what is asked about."""
_ENGINES = frozenset({"posix", "uring", "mmap", "mpiio"})
"""Ways to touch the files of a directory; any other belongs to its kind of target."""


def _unlike(fast: Tier, slow: Tier, op: str) -> tuple[Unlike, ...]:
    """By what the workloads of both tiers differ, at the numbers of nodes that both have, or at any."""
    own, shared = (tier.points.get(op, {}) for tier in (fast, slow))
    common = own.keys() & shared.keys()
    pairs = [
        (own[one], shared[two]) for one in sorted(own) for two in sorted(shared) if (one == two if common else True)
    ]
    found = of_settings(pairs, searched=fast.searched and slow.searched)
    kinds = {(one.kind, two.kind) for one, two in pairs if one.kind != two.kind}
    unlike = [Unlike("kind", *pair) for pair in sorted(kinds)]
    for one in found:
        key = one.key.removeprefix("workload.")
        of_targets = key == "storage" and not {one.base, one.other} <= _ENGINES
        if key not in _OF_THE_TIER and key != "time_limit_ns" and not of_targets:
            unlike.append(Unlike(key, one.base, one.other))
    return tuple(unlike)


def _is_known(rate: MeasuredRate, tier: Tier, stated: float | None) -> bool:
    """Whether a rate has an interval, or needs none: it is stated, or a published one."""
    return stated is not None or tier.source != "measured" or rate.confidence > 0


def wins(crossing: Crossing, nodes: int) -> Wins:
    """Which tier is ahead at so many nodes: the fast one grows with them, the shared one as it was measured to, up to a
    ceiling that is known."""
    fast = _times(crossing.crossover.fast, nodes)
    if crossing.ceiling is None:
        slow = shared_rate({at.nodes: at for at in crossing.slow_curve}, nodes)
    else:
        slow = min(_times(crossing.slow_one, nodes), crossing.ceiling, key=lambda rate: rate.median)
    sure = fast.low > slow.high or fast.high < slow.low
    sure = sure and not crossing.same_storage
    ahead = (crossing.fast if fast.median > slow.median else crossing.slow) if sure else ""
    most = max(at.nodes for at in (*crossing.fast_curve, *crossing.slow_curve))
    return Wins(nodes, fast, slow, ahead, nodes > most)


def _times(rate: MeasuredRate | At, nodes: float) -> MeasuredRate:
    return MeasuredRate(rate.median * nodes, rate.low * nodes, rate.high * nodes, rate.confidence)


def parts_of(crossing: Crossing, asked: str, bases: Mapping[str, Basis]) -> Parts:
    """Both rates of ``crossing`` divided by the basis of each tier's name, as ``--per`` ``asked`` for it.

    RequestError where that is nodes, which a crossover counts already, where a run that swept over nodes does not say
    whether it means one node's or all, or a rate has no part in it.
    """
    fast, slow = bases[crossing.fast], bases[crossing.slow]
    if fast.thing == "node":
        raise RequestError("a crossover counts nodes already; hint: divide by what carried each tier, like disk=2,600")
    if "=" not in asked and fast.count is not None and crossing.fast_curve[-1].nodes > 1:
        raise RequestError(
            f"{crossing.fast} was measured on several nodes, and its [normalise] does not tell whether {fast} are of "
            f"one or of all; hint: say how many each node has and how many all share, like --per {fast.thing}=2,600"
        )
    metric = METRICS[crossing.crossover.op]
    one, of_all = (
        _divided_rate(rate, metric, basis)
        for rate, basis in ((crossing.crossover.fast, fast), (crossing.crossover.slow, slow))
    )
    return Parts(str(fast), str(slow), unit_of(metric, fast), one, of_all, quotient(one, of_all))


def _divided_rate(rate: MeasuredRate, metric: str, basis: Basis) -> MeasuredRate:
    part = normalise(rate.median, metric, basis, rate.low, rate.high)
    return MeasuredRate(part.value, part.low, part.high, rate.confidence)
