"""The result of an importer: the phases of a file in records' terms, and the problems of what it could not read."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from typing import TypedDict

from tonnage.importers.rounded_numbers import Rounded
from tonnage.importers.trace import LARGEST
from tonnage.records.line_types import SettingValues, WorkflowTask
from tonnage.records.phase_results import NetworkResult, StatedTraining

MOST_PROBLEMS = 20
"""Sentences about one file."""
MOST_TASKS = 2**31
_NONE: Mapping[str, int | None] = {}
_CLOCKS = ("%a %b %d %H:%M:%S %Y", "%m/%d/%Y %H:%M:%S", "%Y-%m-%d %H:%M:%S")


@dataclass(frozen=True, slots=True)
class Note:
    """What must be known beside a figure; ``tonnage explain`` has a page for each code."""

    code: str
    message: str


OF_A_MIX = Note(
    "side-by-side", "reads and writes of a mix ran at the same time: neither is a rate of the storage alone"
)
BESIDE_OTHERS = Note(
    "side-by-side", "other jobs of a group ran at the same time: none of them has a rate of the storage alone"
)
FROM_SUMMARY = Note(
    "from-summary",
    "the file has no line of each iteration; values follow from its maximum, minimum and mean, their order does not",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedRate:
    """A rate that a file prints with a count and a time, all rounded: they can contradict each other."""

    line: int
    text: str
    """As printed, with its unit: ``1790.29 MiB/s``."""
    rate: Rounded
    """Of ``count`` in a second."""
    count: int
    """Bytes or operations."""
    seconds: Rounded


class Latency(TypedDict):
    """``latency`` of a trial line; None for what the file does not say."""

    count: int | None
    min_ns: int | None
    mean_ns: int | None
    p50_ns: int | None
    p90_ns: int | None
    p99_ns: int | None
    p999_ns: int | None
    max_ns: int | None


@dataclass(frozen=True, slots=True)
class Unplaced:
    """Why a trial may differ from another one although their stated settings are equal."""

    among: str
    """Part of its file: trials of one are equal."""
    missing: tuple[str, ...]
    """Factors that the file does not state. A user who states them resolves this."""
    why: str
    """``its options stand in a script``."""


@dataclass(frozen=True, slots=True)
class OneTasksFile:
    """Which part of one measurement a file has: of one task, where each has a file of its own."""

    measurement: str
    task: str
    others: Note
    """What must be known where other parts of the measurement are imported with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What one task did in a phase; instants from the phase's start."""

    end_ns: int
    bytes: int
    operations: int
    start_ns: int = 0
    host: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """One phase of one repetition. What the file does not say is None."""

    phase: str
    setting: SettingValues
    """With ``kind`` and ``tasks``; equal ones are repetitions of each other."""
    elapsed_ns: int
    bytes: int
    operations: int
    line: int
    started: str | None = None
    """ISO 8601 with a zone."""
    tasks: tuple[Task, ...] = ()
    """Empty where the file has no figures of single tasks."""
    latency: Latency | None = None
    stated_rate: StatedRate | None = None
    durability: str | None = None
    direct: bool | None = None
    cpu_user_ns: int | None = None
    cpu_system_ns: int | None = None
    reason: str | None = None
    """Why it failed."""
    unplaced: Unplaced | None = None
    """None: its setting has all that it was asked for."""
    one_of: OneTasksFile | None = None
    """None: its file has all that ran."""
    facts: dict[str, int] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()
    series: tuple[tuple[int, int, int], ...] = ()
    """``start_ns``, ``end_ns``, ``bytes`` of all tasks, from the phase's start."""
    network: NetworkResult | None = None
    stated_training: StatedTraining | None = None
    workflow: tuple[WorkflowTask, ...] = ()
    """Tasks of a workflow, instants from the phase's start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedFile:
    """The content of one file."""

    phases: tuple[Phase, ...] = ()
    problems: tuple[str, ...] = ()
    """A sentence with its line for each part that was not understood or is missing."""
    tool: str = ""
    version: str | None = None
    command: str | None = None
    """The command line that it names."""
    began: str | None = None
    """When, in the file's own words."""
    printed: str | None = None
    """When it was printed, ISO 8601 with a zone, where it does not say when it began."""
    host: str | None = None
    path: str | None = None


@lru_cache(maxsize=16)
def arguments_of(command: str) -> tuple[str, ...]:
    """Of a command line that a file names, as far as its quotes can be understood. Each row of a table asks again."""
    try:
        return tuple(shlex.split(command))
    except ValueError:
        return tuple(command.split())


def instant(began: str | None) -> str | None:
    """Parses ``Sun Nov 22 14:29:51 2026`` (IOR), ``11/20/2026 15:11:00`` (mdtest) and ``2026-11-22 14:29:51`` (IO500)
    into ISO 8601 without a zone."""
    for form in _CLOCKS:
        try:
            return datetime.strptime((began or "").strip(), form).isoformat()
        except ValueError:
            continue
    return None


def line_of(text: str, part: str) -> int:
    """Where it stands first in a file; the first line where it does not."""
    at = text.find(part)
    return text.count("\n", 0, at) + 1 if at >= 0 else 1


def few(problems: Sequence[str]) -> tuple[str, ...]:
    """The first ones, and how many more there are."""
    rest = len(problems) - MOST_PROBLEMS
    return (*problems[:MOST_PROBLEMS], *([f"and {rest} more like these"] if rest > 0 else []))


def latency(
    count: int | None,
    *,
    minimum: int | None,
    mean: int | None,
    maximum: int | None,
    quantiles: Mapping[str, int | None] = _NONE,
) -> Latency:
    """Makes a summary in the order of its keys; ``quantiles`` by these."""
    return {
        "count": count,
        "min_ns": minimum,
        "mean_ns": mean,
        "p50_ns": quantiles.get("p50_ns"),
        "p90_ns": quantiles.get("p90_ns"),
        "p99_ns": quantiles.get("p99_ns"),
        "p999_ns": quantiles.get("p999_ns"),
        "max_ns": maximum,
    }


def without_impossible_phases(found: ImportedFile) -> ImportedFile:
    """Without the phases whose figures no record could hold: a damaged digit is enough for one."""
    wild = [phase for phase in found.phases if not _fits(phase)]
    if not wild:
        return found
    left_out = [
        f"line {phase.line}: the figures of this {phase.phase} are out of all bounds; left out" for phase in wild
    ]
    kept = tuple(phase for phase in found.phases if phase not in wild)
    return replace(found, phases=kept, problems=few([*found.problems, *left_out]))


def _fits(phase: Phase) -> bool:
    counts: list[object] = [phase.bytes, phase.operations, *(phase.latency or {}).values()]
    counts += [value for row in phase.series for value in row]
    counts += [value for value in phase.setting.values() if isinstance(value, int)]
    return (
        0 < phase.elapsed_ns < LARGEST
        and 0 < phase.setting["tasks"] < MOST_TASKS
        and all(value is None or (isinstance(value, int) and 0 <= value < LARGEST) for value in counts)
    )
