"""Groups the trials of a run into points: all repetitions of one phase of one setting."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from tonnage.analysis.kinds import copies_of, follow_of, median_latency, parts_of
from tonnage.analysis.results import BANDWIDTH, OPERATIONS, Point
from tonnage.analysis.statistics import Noise, median_interval, pooled_noise
from tonnage.analysis.workflow import workflow_of
from tonnage.records import Run, headline
from tonnage.records.latency import summarise
from tonnage.units import format_size, format_time

NOT_FACTORS = frozenset({"op", "tasks", "time_limit_ns", "kind", "workload", "shift"})
"""Of a setting: what a point names itself, what follows from another factor, and what only says how long to look."""

Line = Mapping[str, Any]


class Key(NamedTuple):
    """What the repetitions of a point have in common."""

    op: str
    group: str
    tasks: int
    transfer_size: int | None


def measured(trials: Iterable[Line]) -> list[Line]:
    """The trials that give a value: measured, ended well, and did something in some time."""
    return [
        line
        for line in trials
        if line["purpose"] == "measure" and line["status"] == "ok" and (headline(line)[0] or 0) > 0
    ]


def points_of(run: Run, trials: Iterable[Line]) -> list[Point]:
    """Points of ``run``, ordered by workload, operation, group and tasks."""
    lines = measured(trials)
    alike = _alike(lines)
    groups = Groups(same[0] for same in alike.values())
    together: dict[Key, list[Line]] = defaultdict(list)
    phases: dict[str, int] = {}
    for (phase, _), same in alike.items():
        setting = same[0]["setting"]
        phases.setdefault(phase, len(phases))
        together[Key(phase, groups.of(setting), setting["tasks"], setting.get("transfer_size"))] += same
    for same in together.values():
        same.sort(key=_trial)  # those of settings that differ in no factor came one setting after the other
    workloads = _workloads(run, [same[0] for same in together.values()])

    def place(key: Key) -> tuple[Any, ...]:
        workload = workloads.index(_workload(together[key][0]["setting"]))
        return workload, phases[key.op], groups.place(together[key][0]["setting"]), key.tasks, key.transfer_size or 0

    noise = _noise(together)
    return [
        _point(run, key, together[key], noise[key.op, key.group, key.transfer_size])
        for key in sorted(together, key=place)
    ]


def _alike(lines: Iterable[Line]) -> dict[tuple[str, int], list[Line]]:
    """Lines by their phase and the object that their setting is: of a large run one object for all equal ones."""
    held: dict[int, Line] = {}
    found: dict[tuple[str, int], list[Line]] = defaultdict(list)
    for line in lines:
        setting = line["setting"]
        held[id(setting)] = setting  # so that no other gets its number
        found[line["phase"], id(setting)].append(line)
    return found


def _trial(line: Line) -> int:
    number: int = line["trial"]
    return number


def _noise(together: Mapping[Key, Sequence[Line]]) -> dict[tuple[str, str, int | None], Noise]:
    """The noise that the points of a curve have in common."""
    curves: dict[tuple[str, str, int | None], list[list[float]]] = defaultdict(list)
    for key, lines in together.items():
        curves[key.op, key.group, key.transfer_size].append([headline(line)[0] or 0 for line in lines])
    return {curve: pooled_noise(samples) for curve, samples in curves.items()}


def _workload(setting: Line) -> str:
    return str(setting.get("workload") or "")


def _workloads(run: Run, lines: Iterable[Line]) -> list[str]:
    """Names of the workloads, in the order of the campaign file as far as it says."""
    told = (run.manifest.get("campaign") or {}).get("workloads") or ()
    asked = [str(table.get("name") or "") for table in told]
    return list(dict.fromkeys([*asked, *(_workload(line["setting"]) for line in lines)]))


class Groups:
    """What tells the points of one operation apart, besides the number of tasks.

    Where a run has several workloads, a group says the workload's name first. Then come the factors that this workload
    varied on purpose: several values at one phase and number of tasks. What follows from the number of tasks (a block
    size that shrinks so that all files fit) is no factor, nor is what differs between two workloads.
    """

    def __init__(self, lines: Iterable[Line]) -> None:
        seen: dict[tuple[str, str, str, int], set[str]] = defaultdict(set)
        self._workloads: set[str] = set()
        for line in lines:
            workload = _workload(line["setting"])
            self._workloads.add(workload)
            for key, value in line["setting"].items():
                if key not in NOT_FACTORS:
                    seen[workload, key, line["phase"], line["setting"]["tasks"]].add(repr(value))
        self._factors: dict[str, set[str]] = defaultdict(set)
        for (workload, key, _, _), values in seen.items():
            if len(values) > 1:
                self._factors[workload].add(key)
        self._several = len(self._workloads) > 1

    def together_with(self, other: Groups) -> Groups:
        """What tells the points of two runs apart: what either varied, and not the name of the only workload."""
        found = Groups(())
        found._workloads = self._workloads | other._workloads
        found._several = self._several or other._several
        for workload in found._workloads:
            same = {workload} if found._several else found._workloads
            found._factors[workload] = {key for one in (self, other) for name in same for key in one._factors[name]}
        return found

    def of(self, setting: Line) -> str:
        """A printable key, empty where there is nothing to tell apart."""
        workload = _workload(setting)
        factors = [_text(name, setting.get(name)) for name in sorted(self._factors[workload])]
        return ", ".join([*([workload] if self._several else []), *factors])

    def place(self, setting: Line) -> tuple[tuple[bool, Any], ...]:
        """Where it stands among the others of its workload: numbers by their size."""
        values = (setting.get(name) for name in sorted(self._factors[_workload(setting)]))
        return tuple((True, value) if isinstance(value, int | float) else (False, str(value)) for value in values)


def _text(name: str, value: object) -> str:
    """``transfer_size 64KiB``, ``think 100ms``, ``direct no``: numbers as a campaign file may have them."""
    if isinstance(value, bool):
        return f"{name} {'yes' if value else 'no'}"
    if isinstance(value, int) and name.endswith("_size"):
        return f"{name} {format_size(value)}"
    if isinstance(value, int) and name.endswith("_ns"):
        return f"{name.removesuffix('_ns')} {format_time(value)}"
    return f"{name} {' '.join(map(str, value)) if isinstance(value, list | tuple) else value}"


def _point(run: Run, key: Key, lines: Sequence[Line], noise: Noise) -> Point:
    values = tuple(headline(line)[0] or 0 for line in lines)
    median, low, high, confidence = median_interval(values, curve=noise)
    moved = sum(line["bytes"] for line in lines)
    elapsed_ns = sum(line["elapsed_ns"] for line in lines)
    cpu = [line["cpu_user_ns"] + line["cpu_system_ns"] for line in lines if line.get("cpu_user_ns") is not None]
    state, share = _cache(lines)
    return Point(
        op=key.op,
        tasks=key.tasks,
        transfer_size=key.transfer_size,
        group=key.group,
        values=values,
        records=tuple(line["record"] for line in lines),
        median=median,
        low=low,
        high=high,
        confidence=confidence,
        latency=_latency(run, lines),
        operations_per_s=sum(line["operations"] for line in lines) * 1e9 / elapsed_ns,
        cpu_ns_per_gib=sum(cpu) * 2**30 // moved if moved and len(cpu) == len(lines) else None,
        cache_state=state,
        cache_device_share=share,
        kind=str(lines[0]["setting"].get("kind") or "stream"),
        metric=OPERATIONS if headline(lines[0])[1] == "1/s" else BANDWIDTH,
        workload=_workload(lines[0]["setting"]),
        setting=lines[0]["setting"],
        bandwidth_bytes_per_s=moved * 1e9 / elapsed_ns,
        elapsed_ns=int(statistics.median(line["elapsed_ns"] for line in lines)),
        parts=parts_of(lines),
        follow=follow_of(run, lines),
        copies=copies_of(run, lines),
        workflow=workflow_of(run, lines),
    )


def _cache(lines: Sequence[Line]) -> tuple[str | None, float | None]:
    """State and share over all repetitions: one that came from the cache makes the point warm."""
    caches = [line["cache"] for line in lines if line.get("cache")]
    if not caches:
        return None, None
    states = {cache["state"] for cache in caches}
    state = next(state for state in ("warm", "unknown", "cold", *states) if state in states)
    # An older record has no mixes, so that all it moved was read.
    moved = sum(line["cache"].get("read_bytes", line["bytes"]) for line in lines if line.get("cache"))
    if not moved or any(cache.get("device_bytes") is None for cache in caches):
        return state, None
    return state, min(1.0, sum(cache["device_bytes"] for cache in caches) / moved)


def _latency(run: Run, lines: Sequence[Line]) -> dict[str, int]:
    """Quantiles over all operations of all repetitions, from their histograms added up.

    Without the histograms (an imported result) they cannot be had exactly: the median repetition's quantile then.
    """
    if len(lines) == 1:
        return median_latency([lines[0].get("latency") or {}])
    if not run.kept("latency").issuperset(line["record"] for line in lines):
        return _without_histograms(lines)
    merged: dict[int, int] = defaultdict(int)
    for line in lines:
        pairs = run.histogram(line["record"])
        if pairs is None:
            return _without_histograms(lines)
        for value, count in pairs:
            merged[value] += count
    return summarise(sorted(merged.items()))


def _without_histograms(lines: Sequence[Line]) -> dict[str, int]:
    return median_latency([latency for line in lines if (latency := line.get("latency"))])
