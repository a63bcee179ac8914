"""The interface of a launcher: it places the tasks of each trial on hosts and starts them all at the same time.

The start line is two calls: ``prepare`` returns when every task of every process stands at it, ``go`` opens it.
A launcher with several processes puts its barrier between the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypedDict

from tonnage.cluster.host_group import HostGroup
from tonnage.errors import MeasurementError

if TYPE_CHECKING:
    from tonnage.records.line_types import Gathering, Json
    from tonnage.records.phase_results import PhaseResult
    from tonnage.records.phase_specs import PhaseSpec


class Live(TypedDict, total=False):
    """As ``tonnage._native.Phase.live`` has them; latencies are None where there is no operation."""

    elapsed_ns: int
    bytes: int
    operations: int
    bandwidth_bytes_per_s: int
    running_tasks: int
    p50_ns: int | None
    p99_ns: int | None
    recent_p99_ns: int | None
    heat: list[list[int]]
    """``[low_ns, high_ns, operations]`` of each bucket of latency that has any."""
    failed: bool
    """An operation failed here, of one process."""


def together(parts: Sequence[Live]) -> Live:
    """Sums of counts and rates, the largest of latencies, and of medians the mean weighted by operations. For display
    only; records do not use it."""
    operations = sum(part["operations"] for part in parts)
    heat: dict[tuple[int, int], int] = {}
    for part in parts:
        for low_ns, high_ns, count in part.get("heat", ()):
            heat[low_ns, high_ns] = heat.get((low_ns, high_ns), 0) + count
    return {
        "bytes": sum(part["bytes"] for part in parts),
        "operations": operations,
        "bandwidth_bytes_per_s": sum(part["bandwidth_bytes_per_s"] or 0 for part in parts),
        "running_tasks": sum(part["running_tasks"] for part in parts),
        "elapsed_ns": max((part["elapsed_ns"] for part in parts), default=0),
        "p50_ns": sum((part["p50_ns"] or 0) * part["operations"] for part in parts) // max(operations, 1),
        "p99_ns": max((part["p99_ns"] or 0 for part in parts), default=0),
        "recent_p99_ns": max((part["recent_p99_ns"] or 0 for part in parts), default=0),
        "heat": [[*bounds_ns, count] for bounds_ns, count in sorted(heat.items())],
    }


class ProcessLost(MeasurementError):
    """A process of the run ended, or sent no heartbeat for too long; the run cannot continue without it. The text says
    which, where, how and when."""

    def __init__(self, rank: int, host: str, how: str) -> None:
        from tonnage.units import utc_text

        super().__init__(f"process {rank} on {host} is lost: {how} (seen {utc_text()})")
        self.rank = rank
        self.host = host
        self.how = how


class LauncherFacts(TypedDict):
    """``launcher`` of the manifest (``docs/record-format.md``)."""

    name: str
    processes: int
    hosts: list[str]
    versions: dict[str, str]


@dataclass(frozen=True, slots=True)
class Placing:
    """Where the tasks of a phase run, among the processes that there are. The default: in the order of the processes,
    a task in each."""

    hosts: tuple[str, ...] | None = None
    """Only on these, in this order; None: on all, in the launcher's order."""
    tasks_per_node: int | None = None
    """So many on each host before the next one takes any; None: a task in each process."""


ANYWHERE = Placing()


class Step(Protocol):
    """One phase on all processes: at the start line, running, or ended."""

    def go(self) -> None:
        """Opens the start line for all tasks at once."""

    def wait(self, timeout_s: float) -> bool:
        """True when the tasks of all processes have ended."""

    def stop(self) -> None:
        """Asks all tasks to end after the operation in hand."""

    def live(self) -> Live:
        """Returns a snapshot over all processes."""

    def result(self) -> PhaseResult:
        """After ``wait`` was True: the PhaseResult of all tasks, on this process's clock. Once."""

    def hosts(self) -> Sequence[str]:
        """After ``result``: the host of each task, by its number from the first of the phase; of each line, where a
        line of the result stands for several tasks of one host."""

    def gathering(self) -> Gathering | None:
        """After ``result``: how the processes crossed the line and handed in their parts (``ensemble`` of
        ``docs/record-format.md``); None where there is one process."""


class Ensemble(Protocol):
    """The processes of a run, each with the same target open."""

    host: str
    """Where this process runs."""

    def prepare(self, phase: PhaseSpec, placing: Placing = ANYWHERE) -> Step:
        """Leaves all tasks of a PhaseSpec waiting at the start line. ``tasks`` of the spec are those of the whole
        phase; RequestError where ``placing`` has no room for them."""

    def clear(self) -> None:
        """Removes all data files of the target."""

    def finish(self) -> list[tuple[str, str]]:
        """The run ends: named files of the target go, or stay where it says ``keep``; notes (code, sentence)."""

    def keep_named(self, keep: bool) -> None:
        """Decides anew whether ``finish`` leaves the named files of the target."""

    def now_ns(self) -> int:
        """Returns the run's clock."""


class Launcher(Protocol):
    """A way to get processes."""

    name: str
    host_group: HostGroup
    """The host group of its processes."""

    apart: frozenset[str]
    """Hosts on which the target's paths lead to a file system of their own: the first process there makes and removes
    what is below them. Set before a target is opened."""

    @property
    def lost(self) -> ProcessLost | None:
        """The error of the lost process that ended the run; None: no process is lost."""

    @property
    def processes(self) -> int:
        """How many there are."""

    def check(self, tasks: int, placing: Placing) -> None:
        """RequestError where so many tasks cannot be placed so."""

    def hosts_of(self, tasks: int, placing: Placing = ANYWHERE) -> Sequence[str]:
        """Where each of them would run, by its number; RequestError as ``check``."""

    def facts(self) -> LauncherFacts | None:
        """Returns None for a single process without a launcher."""

    def open(self, target: Json, series_directory: Path | None) -> Ensemble:
        """Opens the target (a TargetSpec, or a ModelSpec with kind ``sim``) wherever tasks will run."""
