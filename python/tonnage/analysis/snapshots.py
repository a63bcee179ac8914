"""Checkpoints with a snapshot beside the same without: what each snapshot costs.

Of an imported run a write is a round, and its user states which files had a snapshot (``--factor snapshot=yes``).
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tonnage.analysis.statistics.fixed_cost import Change, Cost, Pair, estimate
from tonnage.records import Trials
from tonnage.records.line_types import TrialLine
from tonnage.records.phase_results import CheckpointResult

_SIZES = ("tasks", "transfer_size", "block_size")
"""Factors over which one cost is asked for."""
_OF_IMPORTS = frozenset({"path", "segments"})
"""Of an imported setting: where the files were, and what the bytes of a round say as well."""
_STATED = {True: "yes", False: "none", "no": "none", "none": "none"}
"""Of an import, as its user states it."""
_APART = frozenset({
    "kind", "workload", "snapshot", "snapshot_command", "remove_command", "snapshot_directory",
    "snapshot_timeout_ns", "restart", "verify", "cache",
})  # fmt: skip
"""Of a setting: the means, and what does not touch the time of a round."""


@dataclass(frozen=True, slots=True)
class Rounds:
    """Rounds of a ``checkpoint`` that differ in the snapshot alone; bytes are of all tasks, times means of a round."""

    tasks: int
    transfer_size: int
    bytes: int
    without_ns: float
    with_ns: float
    cost: Cost
    records: tuple[tuple[str, ...], ...] = ((), ())  # of the repetitions without, and with

    @property
    def share(self) -> float:
        """What the snapshot adds, as a share of a round without one."""
        return self.cost.cost_ns / self.without_ns


@dataclass(frozen=True, slots=True)
class SnapshotCost:
    """What a snapshot by some means costs, over all settings that were measured with it and without."""

    means: str
    group: str
    """The factors that distinguish it from others of the run, besides the means; empty where there are none."""
    cost: Cost
    """What all have in common."""
    rounds: tuple[Rounds, ...]
    curves: tuple[tuple[int, int, Cost], ...]
    """Tasks, transfer size, and the cost over all sizes of a round."""
    with_tasks: Change | None
    """For each doubling of the tasks."""
    with_bytes: Change | None
    """For each GiB more in a round."""
    from_scatter: bool
    """Whether the interval is from how far settings lie apart, because nothing was repeated."""
    call_ns: int | None = None
    """Median time of taking one, as the tasks saw it; None where it was not timed."""


def rounds_in(trials: Trials) -> list[TrialLine]:
    """Returns the lines of checkpoints and of what other tools measured."""
    return [*trials.where_set("checkpoint"), *trials.where_set("origin")]


def snapshots_of(trials: Iterable[TrialLine]) -> tuple[SnapshotCost, ...]:
    """One for each means and each setting of whatever else was varied; none without both sides of it."""
    cells: dict[tuple[str, ...], dict[tuple[int, ...], dict[str, list[TrialLine]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(list))
    )
    lines = [line for line in trials if _has_rounds(line)]
    for line in lines:
        cells[_key(line)][_size(line)][_taken(line)].append(line)
    varied = _varied(lines)
    found = []
    for by_size in cells.values():
        every = [line for by_means in by_size.values() for several in by_means.values() for line in several]
        group = ", ".join(f"{name} {every[0]['setting'].get(name)}" for name in varied)
        taken = dict.fromkeys(_taken(line) for line in every)
        for means in (means for means in taken if means != "none"):
            both = {size: by_means for size, by_means in by_size.items() if {"none", means} <= by_means.keys()}
            if both:
                found.append(_cost(means, group, both))
    return tuple(found)


def _has_rounds(line: TrialLine) -> bool:
    if line["purpose"] != "measure" or line["status"] != "ok":
        return False
    if "origin" in line:
        return line["phase"] == "write" and line["setting"].get("snapshot") is not None and bool(line["elapsed_ns"])
    rounds = line.get("checkpoint")
    return bool(line["phase"] == "checkpoint" and rounds and rounds.get("checkpoint_ns"))


def _taken(line: TrialLine) -> str:
    """By which means; ``none`` without a snapshot."""
    stated = line["setting"]["snapshot"]
    return _STATED.get(stated, str(stated)) if "origin" in line else str(stated)


def _size(line: TrialLine) -> tuple[int, ...]:
    """Tasks, transfer size, and the bytes of a round by all tasks."""
    tasks, transfer_size = line["setting"]["tasks"], line["setting"].get("transfer_size")
    return tasks, transfer_size or 0, line["bytes"] if "origin" in line else tasks * line["setting"]["block_size"]


def _factors(line: TrialLine) -> dict[str, object]:
    """What keeps rounds apart, whatever their size."""
    left_out = _APART | set(_SIZES) | (_OF_IMPORTS if "origin" in line else set())
    return {key: value for key, value in sorted(line["setting"].items()) if key not in left_out}


def _key(line: TrialLine) -> tuple[str, ...]:
    return tuple(f"{key}={value!r}" for key, value in _factors(line).items())


def _varied(lines: Sequence[TrialLine]) -> list[str]:
    """Factors besides sizes and means that have several values."""
    seen: dict[str, set[str]] = defaultdict(set)
    for line in lines:
        for key, value in _factors(line).items():
            seen[key].add(repr(value))
    return sorted(key for key, values in seen.items() if len(values) > 1)


def _rounds_of(lines: Sequence[TrialLine]) -> list[CheckpointResult]:
    return [rounds for line in lines if (rounds := line.get("checkpoint"))]


def _means_ns(lines: Sequence[TrialLine]) -> tuple[float, ...]:
    """Of each repetition how long a round took."""
    imported = [float(line["elapsed_ns"] or 0) for line in lines if "origin" in line]
    return (*imported, *(rounds["checkpoint_ns"] / rounds["rounds"] for rounds in _rounds_of(lines)))


def _cost(means: str, group: str, both: Mapping[tuple[int, ...], Mapping[str, Sequence[TrialLine]]]) -> SnapshotCost:
    sizes = sorted(both)
    pairs = [Pair(size[0], size[2], _means_ns(both[size]["none"]), _means_ns(both[size][means])) for size in sizes]
    curves: dict[tuple[int, int], list[int]] = defaultdict(list)
    for number, (tasks, transfer, _) in enumerate(sizes):
        curves[tasks, transfer].append(number)
    found = estimate(pairs, list(curves.values()))
    calls = [rounds["snapshot"] for size in sizes for rounds in _rounds_of(both[size][means])]
    return SnapshotCost(
        means=means,
        group=group,
        cost=found.cost,
        rounds=tuple(
            Rounds(
                size[0],
                size[1],
                pair.bytes,
                statistics.fmean(pair.without_ns),
                statistics.fmean(pair.with_ns),
                cost,
                tuple(tuple(line["record"] for line in both[size][side]) for side in ("none", means)),
            )
            for size, pair, cost in zip(sizes, pairs, found.each, strict=True)
        ),
        curves=tuple((*curve, cost) for curve, cost in zip(curves, found.groups, strict=True)),
        with_tasks=found.with_tasks,
        with_bytes=found.with_bytes,
        from_scatter=found.from_scatter,
        call_ns=round(statistics.median([call["p50_ns"] for call in calls if call and call["count"]] or [0])) or None,
    )
