"""Differences between two sides of a comparison: in their manifests and in the settings of equal cells, except for what
differs between any two runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tonnage.analysis.points import NOT_FACTORS
from tonnage.analysis.results import Point
from tonnage.records.line_types import Json

Pair = tuple[Sequence[Point], Sequence[Point]]
"""The points of one cell, one a run, of both sides."""
_OF_ONE_RUN = frozenset(
    {
        *("format", "run_id", "created", "command_line", "directory", "state", "seed", "campaign_text"),
        *("summary", "seal", "search", "stopped", "load_before", "load_after", "ceilings", "cost", "costs"),
        *("campaign.name", "campaign.target", "campaign.seed", "campaign.repeat", "campaign.budget.time_ns"),
        *("campaign.workloads", "target.uri", "target.path", "target.directories", "target.interrupt_cpus"),
        *("target.notes", "imported.at", "imported.files", "imported.factors"),
    }
)
"""Keys of the manifest that differ between any two runs, or that cells and figures show themselves."""
_TOLD_BY_PAIRS = NOT_FACTORS - {"time_limit_ns"}
"""Of a setting: what paired points have in common. How long to look is no factor, but may be why they are unlike."""
_APART = 4
"""A search chooses its block by the speed of the storage and the free space, which other figures show. From this ratio
on, one block may fit into a cache where the other does not."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Something that is not the same in both runs; None: it is not there."""

    key: str
    base: Any
    other: Any


def differences(base: Sequence[Json], other: Sequence[Json], pairs: Sequence[Pair]) -> Iterator[Difference]:
    """What the manifests of two sides, and the settings of paired points, do not say alike; but for what differs
    between any two runs."""
    searched = all(manifest.get("search") for manifest in (*base, *other))
    both = [(one, two) for bases, others in pairs for one in bases for two in others]
    yield from of_settings(both, searched=searched)
    yield from _of_manifests(base, other)


def of_settings(pairs: Sequence[tuple[Point, Point]], *, searched: bool) -> Iterator[Difference]:
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
        return key == "time_limit_ns"  # a share of the budget, which is listed
    return isinstance(base, int) and isinstance(other, int) and max(base, other) < _APART * min(base, other)


def _one(values: list[Any]) -> Any:
    return values[0] if len(values) == 1 else values


def _of_manifests(base: Sequence[Json], other: Sequence[Json]) -> Iterator[Difference]:
    """Keys of which the runs of one side say something else than those of the other."""
    sides = [[dict(_flat(manifest)) for manifest in side] for side in (base, other)]
    for key in dict.fromkeys(key for side in sides for flat in side for key in flat):
        base_values, other_values = (_distinct(flat.get(key) for flat in side) for side in sides)
        if any(value not in other_values for value in base_values) or any(
            value not in base_values for value in other_values
        ):
            yield Difference(key, _one(base_values), _one(other_values))


def _distinct(values: Iterable[Any]) -> list[Any]:
    """Each once; a value of a manifest may be a list, which has no hash."""
    distinct: list[Any] = []
    for value in values:
        if value not in distinct:
            distinct.append(value)
    return distinct


def _flat(manifest: Json, above: str = "") -> Iterator[tuple[str, Any]]:
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


def _tools(tools: Sequence[Json]) -> Iterator[tuple[str, Any]]:
    """Of the files of an imported run what made them, and how it was called; when is another matter in each."""
    named = [" ".join(str(tool[key]) for key in ("tool", "version") if tool.get(key)) for tool in tools]
    called = [str(tool["command"]) for tool in tools if tool.get("command")]
    for key, said in (("imported.tool", named), ("imported.command", called)):
        if said:
            yield key, "; ".join(dict.fromkeys(said))
