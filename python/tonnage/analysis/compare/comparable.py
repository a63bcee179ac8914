"""Which points of several runs can be compared: the same storage, the same kind of workload, and equal values of every
factor that changes what is measured.

Runs are given in lots: all runs of a history are one lot, the runs of each side of a comparison another. Within a lot a
factor that any two trials of one phase and number of tasks do not have alike keeps points apart; what is constant in
each lot and differs between them does not, for that is what a comparison asks about.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from typing import NamedTuple

from tonnage.analysis.points import Groups, valid_trials
from tonnage.analysis.results import Point
from tonnage.records import Run, Trials
from tonnage.records.line_types import SettingValues, TrialLine

UNKNOWN = "a storage that is not known"
"""What an imported run was measured on: its files do not say."""
_SEED = re.compile(r",seed=[0-9]+|(?<=:)seed=[0-9]+,?")
_NAME = re.compile(r"(?<=[:,])name=([\w.-]+)")
_CHOSEN = "block_size"
"""What a search chooses itself, by how fast the storage was."""


class Storages:
    """What storage each run was measured on, as a user sees it.

    Directories are known by the file system they are in, so that two directories of one are one storage, and a path
    that two hosts have on disks of their own is two. All other targets are known by their name.
    """

    def __init__(self, runs: Sequence[Run]) -> None:
        storages = [storage_of(run) for run in runs]
        # Older records have no identities: the same name is then the same storage.
        known = {name: identity for name, identity in storages if identity}
        self._keys = {
            id(run): identity or known.get(name, name) for run, (name, identity) in zip(runs, storages, strict=True)
        }
        names: dict[str, str] = {}
        for run, (name, _) in zip(runs, storages, strict=True):
            names.setdefault(self._keys[id(run)], name)
        twice = {name for name in names.values() if list(names.values()).count(name) > 1}
        self._names = {key: f"{name} ({key})" if name in twice and name != key else name for key, name in names.items()}

    def name_of(self, run: Run) -> str:
        """Returns the name that the first run on a storage gave it: one name for each storage."""
        return self._names[self._keys[id(run)]]

    @property
    def names(self) -> tuple[str, ...]:
        """Each once, in the order of the runs."""
        return tuple(self._names.values())


def storage_of(run: Run) -> tuple[str, str]:
    """Name and identity of the target; the latter is empty where only the name is known."""
    target = run.manifest.get("target") or {}
    if run.manifest.get("imported") and not target.get("directories"):
        return UNKNOWN, ""
    identities = [directory.get("identity") for directory in target.get("directories") or ()]
    identity = ", ".join(sorted(set(map(str, identities)))) if identities and all(identities) else ""
    name = str(target.get("name") or UNKNOWN)
    return (_model(name) if target.get("kind") == "sim" else name), identity


def _model(target: str) -> str:
    """A model that has a name is known by it. What one draws its noise from makes it no other storage."""
    named = _NAME.search(target)
    return f"sim:{named[1]}" if named else _SEED.sub("", target)


class Sort(NamedTuple):
    """Properties that separate points whatever their factors: points of two sorts are never mixed."""

    storage: str
    """Empty where storages are what is compared."""
    kind: str
    workload: str
    """Its name, where a run has several of its kind; else empty."""
    company: str
    """What ran beside it; else empty. The last part, which a group names itself."""


class Lost(NamedTuple):
    """A setting of a run that has no figure, for its trials failed."""

    sort: Sort
    op: str
    group: str
    tasks: int


class Comparable:
    """What the points of several runs have in common and what keeps them apart."""

    def __init__(self, lots: Sequence[Sequence[Run]], storages: Storages | None = None) -> None:
        """``storages``: keeps those apart too."""
        self._storages = storages
        runs = [run for lot in lots for run in lot]
        trials = {id(run): Trials.of(run.trials()) for run in runs}
        self._failed = {of: _one_each(_failed(found)) for of, found in trials.items()}
        lines = {of: [*_one_each(valid_trials(found)), *self._failed[of]] for of, found in trials.items()}
        self._searched = {id(run) for run in runs if run.manifest.get("search") and _chose(lines[id(run)])}
        self._named = _named(list(lines.values()))
        sorts = {self._sort(run, line["setting"]): None for run in runs for line in lines[id(run)]}
        self.kinds = tuple(dict.fromkeys(sort.kind for sort in sorts))
        """Of workloads, each once."""
        self._several = [len(set(parts)) > 1 for parts in zip(*(sort[:-1] for sort in sorts), strict=True)]
        own = {id(run): Groups(self._lines(run, lines[id(run)])) for run in runs}
        of_lots = [Groups(line for run in lot for line in self._lines(run, lines[id(run)])) for lot in lots]
        self._groups = reduce(Groups.together_with, of_lots)
        varied = {name for groups in own.values() for name in groups.factors}
        self.between = tuple(sorted({name for groups in of_lots for name in groups.factors} - varied))
        """Factors that are one value in each run, and not the same one in all runs of a lot."""

    def sort_of(self, run: Run, point: Point) -> Sort:
        """What ``point`` of ``run`` is never mixed with."""
        return self._sort(run, point.setting)

    def group_of(self, run: Run, point: Point) -> str:
        """The factors that distinguish it from other points of its operation and number of tasks, as one printable key;
        empty where there are none."""
        return self._group(run, point.setting)

    def _group(self, run: Run, setting: SettingValues) -> str:
        # Also where all of one side had one company, and all of the other none: that is no factor of either.
        return ", ".join(filter(None, (self._sort(run, setting).company, self._groups.of(self._keyed(run, setting)))))

    def lost_of(self, run: Run, points: Sequence[Point]) -> list[Lost]:
        """The settings of ``run``, of which ``points`` are all points, whose trials failed without any that ended
        well."""
        told = {
            Lost(self.sort_of(run, point), point.op, self.group_of(run, point), point.tasks)
            for point in points
            if min(point.values) > 0
        }
        failed = (
            Lost(
                self._sort(run, line["setting"]),
                line["phase"],
                self._group(run, line["setting"]),
                line["setting"]["tasks"],
            )
            for line in self._failed[id(run)]
        )
        return [one for one in dict.fromkeys(failed) if one not in told]

    def _sort(self, run: Run, setting: SettingValues) -> Sort:
        kind, name = _kind(setting), str(setting.get("workload") or "")
        storage = "" if self._storages is None else self._storages.name_of(run)
        company = _company(run, setting)
        return Sort(storage, kind, name if kind in self._named else "", f"beside {company}" if company else "")

    def _keyed(self, run: Run, setting: SettingValues) -> SettingValues:
        """``setting`` with the sort in place of the workload's name, and without what a search chose."""
        sort = self._sort(run, setting)
        parts = [part for part, several in zip(sort[:-1], self._several, strict=True) if several and part]
        chosen = {_CHOSEN: None} if id(run) in self._searched and _CHOSEN in setting else {}
        beside = {"beside": None} if _company(run, setting) else {}
        return {**setting, "workload": ", ".join(parts), **chosen, **beside}

    def _lines(self, run: Run, lines: Sequence[TrialLine]) -> Iterator[TrialLine]:
        for line in lines:
            yield {**line, "setting": self._keyed(run, line["setting"])}


def _company(run: Run, setting: SettingValues) -> str:
    """What ran beside it; empty where nothing did. Other tools say more with that word, which is a factor of theirs."""
    return "" if run.manifest.get("imported") else str(setting.get("beside") or "")


def _failed(trials: Trials) -> Trials:
    return trials.where("purpose", "measure").where("status", "failed")


def _one_each(trials: Trials) -> list[TrialLine]:
    """A line of each phase and setting."""
    return [same[0] for _, same in trials.by("phase", "setting")]


def _kind(setting: Mapping[str, object]) -> str:
    return str(setting.get("kind") or "stream")


def _named(runs: Sequence[Sequence[TrialLine]]) -> set[str]:
    """Kinds of which a run has several workloads: those need their names."""
    kinds = set()
    for lines in runs:
        names = defaultdict(set)
        for line in lines:
            names[_kind(line["setting"])].add(line["setting"].get("workload"))
        kinds |= {kind for kind, several in names.items() if len(several) > 1}
    return kinds


def _chose(lines: Sequence[TrialLine]) -> bool:
    """Whether a run has one block at each phase and number of tasks, as a search does."""
    seen: dict[tuple[str, int], set[object]] = defaultdict(set)
    for line in lines:
        seen[line["phase"], line["setting"]["tasks"]].add(line["setting"].get(_CHOSEN))
    return all(len(blocks) == 1 for blocks in seen.values())
