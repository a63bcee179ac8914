"""Groups the trials of a run into points: all repetitions of one setting."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tonnage.analysis.results import Point
from tonnage.analysis.statistics import Noise, median_interval, pooled_noise
from tonnage.records import Run
from tonnage.records.latency import summarise

_NOT_FACTORS = frozenset({"op", "tasks", "time_limit_ns"})
"""Of a setting: what a point names itself, and what only says how long to look."""

Line = Mapping[str, Any]


def measured(trials: Iterable[Line]) -> list[Line]:
    """The trials that give a value: measured, ended well, and moved something in some time."""
    return [
        line
        for line in trials
        if line["purpose"] == "measure" and line["status"] == "ok" and (line.get("bandwidth_bytes_per_s") or 0) > 0
    ]


def points_of(run: Run, trials: Iterable[Line]) -> list[Point]:
    """Points of ``run``, ordered by operation, group and tasks."""
    lines = measured(trials)
    factors = swept_factors(lines)
    together: dict[tuple[str, str, int, int], list[Line]] = defaultdict(list)
    for line in lines:
        setting = line["setting"]
        key = (line["phase"], group_of(setting, factors), setting["tasks"], setting["transfer_size"])
        together[key].append(line)
    order = {line["phase"]: -index for index, line in reversed(list(enumerate(lines)))}
    keys = sorted(together, key=lambda key: (-order[key[0]], *key[1:]))
    curves: dict[tuple[str, str, int], list[list[int]]] = defaultdict(list)
    for (op, group, _, transfer_size), members in together.items():
        curves[op, group, transfer_size].append([line["bandwidth_bytes_per_s"] for line in members])
    noise = {curve: pooled_noise(samples) for curve, samples in curves.items()}
    return [_point(run, key, together[key], noise[key[0], key[1], key[3]]) for key in keys]


def swept_factors(lines: Iterable[Line]) -> list[str]:
    """Factors besides op and tasks that the run varied on purpose: several values at one op and number of tasks.

    A factor that follows from the number of tasks (a block size that shrinks so that all files fit) is not one.
    """
    seen: dict[tuple[str, Any, int], set[str]] = defaultdict(set)
    for line in lines:
        for key, value in line["setting"].items():
            if key not in _NOT_FACTORS:
                seen[key, line["phase"], line["setting"]["tasks"]].add(repr(value))
    return sorted({key for (key, _, _), values in seen.items() if len(values) > 1})


def group_of(setting: Line, factors: Sequence[str]) -> str:
    """A printable key of the swept factors, empty where there are none."""
    return ", ".join(f"{name} {_text(setting.get(name))}" for name in factors)


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _point(run: Run, key: tuple[str, str, int, int], lines: Sequence[Line], noise: Noise) -> Point:
    op, group, tasks, transfer_size = key
    values = tuple(line["bandwidth_bytes_per_s"] for line in lines)
    median, low, high, confidence = median_interval(values, curve=noise)
    moved = sum(line["bytes"] for line in lines)
    elapsed_ns = sum(line["elapsed_ns"] for line in lines)
    cpu = [line["cpu_user_ns"] + line["cpu_system_ns"] for line in lines if line.get("cpu_user_ns") is not None]
    state, share = _cache(lines)
    return Point(
        op=op,
        tasks=tasks,
        transfer_size=transfer_size,
        group=group,
        values=values,
        records=tuple(line["record"] for line in lines),
        median=median,
        low=low,
        high=high,
        confidence=confidence,
        latency=_latency(run, lines),
        operations_per_s=sum(line["operations"] for line in lines) * 1e9 / elapsed_ns,
        cpu_ns_per_gib=sum(cpu) * 2**30 // moved if len(cpu) == len(lines) else None,
        cache_state=state,
        cache_device_share=share,
    )


def _cache(lines: Sequence[Line]) -> tuple[str | None, float | None]:
    """State and share over all repetitions: one that came from the cache makes the point warm."""
    caches = [line["cache"] for line in lines if line.get("cache")]
    if not caches:
        return None, None
    states = {cache["state"] for cache in caches}
    state = next(state for state in ("warm", "unknown", "cold", *states) if state in states)
    if any(cache.get("device_bytes") is None for cache in caches):
        return state, None
    moved = sum(line["bytes"] for line in lines if line.get("cache"))
    return state, min(1.0, sum(cache["device_bytes"] for cache in caches) / moved)


def _latency(run: Run, lines: Sequence[Line]) -> dict[str, int]:
    """Quantiles over all operations of all repetitions, from their histograms added up.

    Without the histograms (an imported result) they cannot be had exactly: the median repetition's quantile then.
    """
    if len(lines) == 1:
        return dict(lines[0].get("latency") or {})
    merged: dict[int, int] = defaultdict(int)
    for line in lines:
        pairs = run.histogram(line["record"])
        if pairs is None:
            return _median_latency(lines)
        for value, count in pairs:
            merged[value] += count
    return summarise(sorted(merged.items()))


def _median_latency(lines: Sequence[Line]) -> dict[str, int]:
    latencies = [line["latency"] for line in lines if line.get("latency")]
    if not latencies:
        return {}
    combined = {key: int(statistics.median(latency[key] for latency in latencies)) for key in latencies[0]}
    combined["count"] = sum(latency["count"] for latency in latencies)
    combined["min_ns"] = min(latency["min_ns"] for latency in latencies)
    combined["max_ns"] = max(latency["max_ns"] for latency in latencies)
    return combined
