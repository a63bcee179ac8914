"""Checkpoints with a snapshot beside the same without: what each snapshot costs."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tonnage.analysis.statistics.fixed_cost import Change, Cost, Pair, estimate
from tonnage.records.line_types import SettingValues, TrialLine
from tonnage.records.results import CheckpointResult

_SIZES = ("tasks", "transfer_size", "block_size")
"""Factors over which one cost is asked for."""
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
    """What tells it from others of the run, besides the means; empty where nothing does."""
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
    """Median time of taking one, as the tasks saw it; None where nobody timed it."""


def snapshots_of(trials: Iterable[TrialLine]) -> tuple[SnapshotCost, ...]:
    """One for each means and each setting of whatever else was varied; none without both sides of it."""
    cells: dict[tuple[str, ...], dict[tuple[int, ...], dict[str, list[TrialLine]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(list))
    )
    lines = [line for line in trials if _told(line)]
    for line in lines:
        setting = line["setting"]
        size = tuple(setting[key] for key in _SIZES)
        cells[_key(setting)][size][setting["snapshot"]].append(line)
    varied = _varied([line["setting"] for line in lines])
    found = []
    for by_size in cells.values():
        every = [line for by_means in by_size.values() for several in by_means.values() for line in several]
        group = ", ".join(f"{name} {every[0]['setting'].get(name)}" for name in varied)
        taken = dict.fromkeys(line["setting"]["snapshot"] for line in every)
        for means in (means for means in taken if means != "none"):
            both = {size: by_means for size, by_means in by_size.items() if {"none", means} <= by_means.keys()}
            if both:
                found.append(_cost(means, group, both))
    return tuple(found)


def _told(line: TrialLine) -> bool:
    rounds = line.get("checkpoint")
    measured = line["phase"] == "checkpoint" and line["purpose"] == "measure" and line["status"] == "ok"
    return bool(measured and rounds and rounds.get("checkpoint_ns"))


def _key(setting: SettingValues) -> tuple[str, ...]:
    return tuple(
        f"{key}={value!r}" for key, value in sorted(setting.items()) if key not in _APART and key not in _SIZES
    )


def _varied(settings: Sequence[SettingValues]) -> list[str]:
    """Factors besides sizes and means that have several values."""
    seen: dict[str, set[str]] = defaultdict(set)
    for setting in settings:
        for key, value in setting.items():
            if key not in _APART and key not in _SIZES:
                seen[key].add(repr(value))
    return sorted(key for key, values in seen.items() if len(values) > 1)


def _rounds_of(lines: Sequence[TrialLine]) -> list[CheckpointResult]:
    return [rounds for line in lines if (rounds := line["checkpoint"])]


def _means_ns(lines: Sequence[TrialLine]) -> tuple[float, ...]:
    """Of each repetition how long a round took."""
    return tuple(rounds["checkpoint_ns"] / rounds["rounds"] for rounds in _rounds_of(lines))


def _cost(means: str, group: str, both: Mapping[tuple[int, ...], Mapping[str, Sequence[TrialLine]]]) -> SnapshotCost:
    sizes = sorted(both)
    pairs = [
        Pair(size[0], size[0] * size[2], _means_ns(both[size]["none"]), _means_ns(both[size][means])) for size in sizes
    ]
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
