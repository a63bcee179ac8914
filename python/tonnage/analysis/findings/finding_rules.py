"""The registry of findings, and the evidence that they read."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING

from tonnage import plugins
from tonnage.analysis.balance import Balance
from tonnage.analysis.company_costs import CompanyCost, company_costs
from tonnage.analysis.hosts import Count
from tonnage.analysis.load_line.estimate import Estimate
from tonnage.analysis.load_line.trial_checks import Steady
from tonnage.analysis.results import Finding, Link, LoadLine, Point
from tonnage.analysis.snapshots import SnapshotCost
from tonnage.errors import RequestError
from tonnage.records import Run, Tasks, Trials
from tonnage.records.line_types import EventLine, Json, SettingValues, TrialLine
from tonnage.units import plural

if TYPE_CHECKING:
    from tonnage.records.trial_columns import Numbers


@dataclass(frozen=True)
class Evidence:
    """Everything a finding may read: only the records and what is computed from them."""

    run: Run
    trials: Trials
    events: Sequence[EventLine]
    points: Sequence[Point]
    load_lines: Sequence[LoadLine]
    estimates: Mapping[tuple[str, str], Estimate]
    """By (op, group)."""
    searched: Mapping[tuple[str, str], Estimate]
    """The same from the search's own trials, before long ones corrected the plateau."""
    long: Mapping[str, Sequence[TrialLine]]
    """By op: the long trials on the plateau, where there are some."""
    steady: Mapping[str, Steady]
    """By record, where a steady window was found."""
    tasks: Tasks
    """Lines of ``tasks.jsonl`` by record."""
    links: tuple[Link, ...] = ()
    """Of the points between hosts."""
    snapshots: tuple[SnapshotCost, ...] = ()
    """Of checkpoints with them and without."""
    balances: tuple[Balance, ...] = ()
    """Of points whose objects were looked up."""

    @property
    def target(self) -> Json:
        return self.run.manifest.get("target") or {}

    @property
    def simulated(self) -> bool:
        """Nothing that this host did or was could have changed a simulated result."""
        return self.target.get("kind") == "sim"

    @property
    def is_surface(self) -> bool:
        """The run searched over transfer sizes: each of its answers rests on the trials of all of them."""
        return bool((self.run.manifest.get("search") or {}).get("surface"))

    @property
    def memory_backed(self) -> bool:
        """The storage is this host's memory: there is no device that a cache could hide."""
        return bool(self.target.get("memory_backed")) or self.target.get("kind") in ("null", "memory")

    @cached_property
    def company(self) -> tuple[CompanyCost, ...]:
        """Of workloads that were measured beside another one."""
        return company_costs(self.trials, self.run.manifest, self.run.series)

    @cached_property
    def watched(self) -> Trials:
        """Measured trials that say what happened to the host meanwhile."""
        return self.trials.where("purpose", "measure").where_set("meanwhile")

    @cached_property
    def host_counters(self) -> dict[str, Numbers]:
        """Returns the figures of ``meanwhile`` of each watched trial, 0 where one is not known."""
        names = ("lasted_ns", "memory_stall_ns", "swapped_out_bytes", "stolen_ns", "clock_step_ns")
        return dict(zip(names, self.watched.figures("meanwhile", *names), strict=True))

    def curves(self) -> Iterator[tuple[str, str, list[Point]]]:
        """Yields ``(op, group, points)`` of each curve, ascending in tasks."""
        for op, group in dict.fromkeys((point.op, point.group) for point in self.points):
            yield op, group, [point for point in self.points if (point.op, point.group) == (op, group)]

    def line(self, record: str) -> TrialLine:
        """Returns the trial line of a record."""
        return self.trials.by_record[record]


Judge = Callable[[Evidence], Iterator[Finding]]
REGISTRY: dict[str, Judge] = {}


def finding(code: str) -> Callable[[Judge], Judge]:
    """Registers a judge. Its findings have this code (or, for passed-through notes, codes of their own)."""

    def register(judge: Judge) -> Judge:
        REGISTRY[code] = judge
        return judge

    return register


def subject(op: str, group: str = "", tasks: int | None = None) -> str:
    """What a finding is about: ``read``, ``write, access random, 8 tasks``."""
    parts = [op, *([group] if group else [])]
    if tasks is not None:
        parts.append(plural(tasks, "task"))
    return ", ".join(parts)


def asked_rate(setting: SettingValues) -> tuple[int, Count] | None:
    """What an open loop was asked for, in a second, and of what; None for a closed one."""
    if setting.get("rate_bytes_per_s"):
        return setting["rate_bytes_per_s"], "bytes"
    return (setting["operations_rate"], "operations") if setting.get("operations_rate") else None


def judge(evidence: Evidence) -> list[Finding]:
    """All findings of a run, in the order of the registry; then those of plug-ins (:mod:`tonnage.plugins`). A plug-in
    that fails gives a :class:`~tonnage.plugins.PlugInWarning`; the measurements stay."""
    found = [one for judge_of_code in REGISTRY.values() for one in judge_of_code(evidence)]
    for code, load in plugins.each(plugins.FINDINGS):
        found += _added(code, load, evidence)
    return found


def _added(code: str, load: Callable[[], Judge], evidence: Evidence) -> list[Finding]:
    try:
        # What it writes into lists and dictionaries stays in its copy.
        added, theirs = load(), deepcopy(evidence)
        # What it yields is made inside the call, so that its failure is named there.
        return plugins.call(plugins.FINDINGS, code, lambda: [_checked(code, one) for one in added(theirs)])
    except RequestError as error:
        warnings.warn(f"without the findings of a plug-in: {error}", plugins.PlugInWarning, stacklevel=2)
        return []


def _checked(code: str, one: object) -> Finding:
    """What a plug-in's finding yields: texts, of its own code."""
    if not isinstance(one, Finding):
        raise TypeError(f"it yielded {one!r}, which is no Finding")
    if one.code != code:
        raise ValueError(f"it yielded the code {one.code!r}")
    for part in fields(one):
        if not isinstance(getattr(one, part.name), str):
            raise TypeError(f"the {part.name} of its finding is {getattr(one, part.name)!r}, which is no text")
    return one
