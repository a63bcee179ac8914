"""Runs against runs: did it get faster? Equal cells are paired, and what else differs between the runs is listed.

A cell is an operation at one number of tasks with the factors that either run varied. What is constant in each run
and differs between them (the storage, say) is what is asked about: it is listed, and does not keep cells apart.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tonnage.analysis import measured_points
from tonnage.analysis.compare import UNCHANGED, ratio, repetitions_to_decide
from tonnage.analysis.normalise import Basis, unit_of
from tonnage.analysis.per import divided
from tonnage.analysis.points import NOT_FACTORS, Groups, measured
from tonnage.analysis.results import Point
from tonnage.analysis.statistics import CONFIDENCE, Noise, pooled_noise
from tonnage.records import Run

THRESHOLD = 0.02
"""A change below this is none that anybody acts on, however sure it is."""
_OF_ONE_RUN = frozenset(
    {
        *("format", "run_id", "created", "command_line", "directory", "state", "seed", "campaign_text"),
        *("summary", "seal", "search", "load_before", "load_after", "ceilings", "cost", "costs"),
        *("campaign.name", "campaign.target", "campaign.seed", "campaign.repeat", "campaign.budget.time_ns"),
        *("campaign.workloads", "target.uri", "target.path", "target.directories", "target.interrupt_cpus"),
        *("target.notes", "imported.at", "imported.files"),
    }
)
"""Keys of the manifest that differ between any two runs, or that cells and figures tell themselves."""
_TOLD_BY_PAIRS = NOT_FACTORS - {"time_limit_ns"}
"""Of a setting: what paired points have in common. How long to look is no factor, but may be why they are unlike."""
_APART = 4
"""The block that a search chooses follows from how fast the storage was, and from the room it had: that is told by
other figures. So many times another it may fit a cache where the other one does not."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Something that is not the same in both runs; None: it is not there."""

    key: str
    base: Any
    other: Any


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of both runs."""

    op: str
    tasks: int
    group: str
    """The factors that were varied, as one printable key."""
    metric: str
    base: float
    """Median rate in the metric."""
    other: float
    base_repetitions: int
    repetitions: int
    ratio: float
    """Of the rates: above 1 the other run is faster."""
    low: float
    high: float
    confidence: float
    """Of the verdicts of all cells together; 0: too few repetitions for an interval."""
    verdict: str
    """``faster``, ``slower`` or ``no change shown``."""
    repetitions_to_decide: int | None
    """So many of each would tell a ratio such as this one from 1, four times of five; None: decided, or unknown."""
    unit: str
    """Of ``base`` and ``other``: ``B/s``, ``1/s``; divided: ``B/s per disk``, ``of the link``."""
    base_records: tuple[str, ...]
    """One for each repetition, in the order they ran."""
    records: tuple[str, ...]
    """The same of the other run."""


@dataclass(frozen=True, slots=True)
class Between:
    """Another run against the base."""

    base: str
    other: str
    cells: tuple[Cell, ...]
    only_base: tuple[str, ...]
    """Cells that the other run has not."""
    only_other: tuple[str, ...]
    differences: tuple[Difference, ...]
    per: tuple[str, str] | None = None
    """What the rates of each were divided by, ``60 disks``; None: by nothing."""

    def count(self, verdict: str) -> int:
        """How many cells have this verdict."""
        return sum(cell.verdict == verdict for cell in self.cells)


def compare_runs(
    base: Run, other: Run, threshold: float = THRESHOLD, per: tuple[Basis, Basis] | None = None
) -> Between:
    """Each cell of ``other`` against the same one of ``base``. ``threshold``: the least change of a rate, as a share,
    that is called one; ``per``: what the rates of each are divided by first. RecordError where a run cannot be read."""
    groups = Groups(measured(base.trials())).together_with(Groups(measured(other.trials())))
    sides = [_cells(run, groups, basis) for run, basis in zip((base, other), per or (None, None), strict=True)]
    names = [key for key in sides[0] if key in sides[1] and sides[0][key].metric == sides[1][key].metric]
    pairs = [(sides[0][key], sides[1][key]) for key in names]
    noise = pooled_noise([_times(point) for pair in pairs for point in pair])
    confidence = 1 - (1 - CONFIDENCE) / max(len(pairs), 1)
    return Between(
        base=str(base.path),
        other=str(other.path),
        cells=tuple(
            _cell(key[1], pair, confidence, noise, threshold, per[0] if per else None)
            for key, pair in zip(names, pairs, strict=True)
        ),
        only_base=tuple(named(*key) for key in sides[0] if key not in names),
        only_other=tuple(named(*key) for key in sides[1] if key not in names),
        differences=tuple(differences(base.manifest, other.manifest, pairs)),
        per=(str(per[0]), str(per[1])) if per else None,
    )


_Key = tuple[str, str, int]


def _cells(run: Run, groups: Groups, basis: Basis | None) -> dict[_Key, Point]:
    points = measured_points(run)
    if basis is not None:
        points = [divided(point, basis) for point in points]
    return {(point.op, groups.of(point.setting), point.tasks): point for point in points}


def named(op: str, group: str, tasks: int) -> str:
    """``write, direct no, 4 tasks``."""
    return ", ".join(filter(None, (op, group, f"{tasks} task{'s' if tasks != 1 else ''}")))


def _times(point: Point) -> list[float]:
    """Of one byte or operation in each repetition: what disturbs a phase makes it longer."""
    return [1 / value for value in point.values]


def _cell(
    group: str, pair: tuple[Point, Point], confidence: float, noise: Noise, threshold: float, per: Basis | None
) -> Cell:
    base, other = pair
    seen = ratio(_times(other), _times(base), confidence, noise)
    small = abs(1 / seen.ratio - 1) < threshold
    undecided = seen.verdict == UNCHANGED and not small
    return Cell(
        op=base.op,
        tasks=base.tasks,
        group=group,
        metric=base.metric,
        base=statistics.median(base.values),
        other=statistics.median(other.values),
        base_repetitions=base.repetitions,
        repetitions=other.repetitions,
        ratio=1 / seen.ratio,
        low=1 / seen.high,
        high=1 / seen.low,
        confidence=CONFIDENCE if seen.confidence else 0.0,
        verdict=UNCHANGED if small else seen.verdict,
        repetitions_to_decide=repetitions_to_decide(seen, noise, confidence) if undecided else None,
        unit=unit_of(base.metric, per),
        base_records=base.records,
        records=other.records,
    )


def differences(
    base: Mapping[str, Any], other: Mapping[str, Any], pairs: Sequence[tuple[Point, Point]]
) -> Iterator[Difference]:
    """What two manifests, and the settings of paired points, do not say alike; but for what differs between any two
    runs."""
    yield from _of_settings(pairs, searched=bool(base.get("search") and other.get("search")))
    yield from _of_manifests(base, other)


def _of_settings(pairs: Sequence[tuple[Point, Point]], *, searched: bool) -> Iterator[Difference]:
    """Factors that are one value in each run, and not the same one; of two searches without what each chose itself."""
    seen: dict[str, tuple[list[Any], list[Any]]] = {}
    for base, other in pairs:
        for key in {**base.setting, **other.setting}:
            values = base.setting.get(key), other.setting.get(key)
            if key in _TOLD_BY_PAIRS or values[0] == values[1] or (searched and _chosen(key, *values)):
                continue
            for side, value in zip(seen.setdefault(key, ([], [])), values, strict=True):
                if value not in side:
                    side.append(value)
    for key, (bases, others) in seen.items():
        yield Difference(f"workload.{key}", _one(bases), _one(others))


def _chosen(key: str, base: Any, other: Any) -> bool:
    """Whether a search chose both of these values, and that they are two does not matter."""
    if key != "block_size":
        return key == "time_limit_ns"  # a share of the budget, which is told
    return isinstance(base, int) and isinstance(other, int) and max(base, other) < _APART * min(base, other)


def _one(values: list[Any]) -> Any:
    return values[0] if len(values) == 1 else values


def _of_manifests(base: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[Difference]:
    flat = [dict(_flat(manifest)) for manifest in (base, other)]
    for key in {**flat[0], **flat[1]}:
        if flat[0].get(key) != flat[1].get(key):
            yield Difference(key, flat[0].get(key), flat[1].get(key))


def _flat(manifest: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in manifest.items():
        key = f"{above}{name}"
        if key in _OF_ONE_RUN:
            continue
        if isinstance(value, Mapping):
            yield from _flat(value, f"{key}.")
        elif key == "imported.tools" and isinstance(value, list):
            yield from _tools([tool for tool in value if isinstance(tool, Mapping)])
        else:
            yield key, value


def _tools(tools: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Of the files of an imported run what made them, and how it was called; when is another matter in each."""
    named = [" ".join(str(tool[key]) for key in ("tool", "version") if tool.get(key)) for tool in tools]
    called = [str(tool["command"]) for tool in tools if tool.get("command")]
    for key, said in (("imported.tool", named), ("imported.command", called)):
        if said:
            yield key, "; ".join(dict.fromkeys(said))
