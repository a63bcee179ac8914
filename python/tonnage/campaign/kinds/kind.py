"""What a kind of workload promises: a table of the file, the settings it expands into, and how one is measured."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from tonnage.cluster.launcher import Placing
from tonnage.fields import Count, HostSets, Name, Sweep
from tonnage.section import Section

if TYPE_CHECKING:
    from tonnage.campaign.run import Loop
    from tonnage.campaign.schedule import Trial
    from tonnage.campaign.target import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One value for every factor of a trial, under the names of ``docs/record-format.md``."""

    kind: str
    workload: str = ""
    """Name of its ``[[workload]]``; empty where the file has only one."""
    tasks: int
    storage: str = "posix"
    direct: str = "auto"
    devices: int | None = None
    """How many of the target's directories are used; None: all."""
    device: int | None = None
    """Number of the only one of the target's directories that is used; None: ``devices`` says."""
    time_limit_ns: int | None = None
    partition: str | None = None
    """Of the scheduler, in which the trial's job runs; None: where the run is."""
    hosts: tuple[str, ...] | None = None
    """The only ones that take part, in this order; None: all that the launcher has."""
    tasks_per_node: int | None = None
    """Tasks on each host before the next one takes any; None: one in each process."""

    @property
    def placing(self) -> Placing:
        """Where a phase's tasks run, for the launcher."""
        return Placing(self.hosts, self.tasks_per_node)

    @property
    def job_partition(self) -> str | None:
        """The partition that a job with this trial in it must run in; None: that does not matter."""
        return self.partition

    def as_dict(self) -> dict[str, Any]:
        """As it stands in ``trials.jsonl``."""
        return asdict(self)

    @property
    def phases(self) -> tuple[str, ...]:
        """The phases a trial measures, in order; each leaves a record."""
        raise NotImplementedError

    @property
    def space_bytes(self) -> int:
        """Bytes of files at once."""
        return 0

    @property
    def names(self) -> int:
        """Files and directories at once, at most."""
        return 0

    def space_in(self, target: Target) -> list[int]:
        """Bytes of files at once in each directory of the target, at most."""
        here = range(len(target.paths))
        if self.device is not None:
            return [self.space_bytes if number == self.device else 0 for number in here]
        used = self.devices or len(target.paths)
        return [-(-self.space_bytes // used) if number < used else 0 for number in here]

    @property
    def devices_needed(self) -> int:
        """How many directories the target needs at least."""
        return self.devices or 1 if self.device is None else self.device + 1

    @property
    def smaller(self) -> str:
        """What to do where there is not enough space: the hint of a message."""
        return "use a smaller block_size or fewer tasks"

    @property
    def write_bytes(self) -> int:
        """Bytes that one trial writes at most, laying out included."""
        return 0

    @property
    def read_bytes(self) -> int:
        """Bytes that one trial reads at most."""
        return 0

    @property
    def buffer_bytes(self) -> int:
        """Bytes of memory that each task has for its transfers."""
        return 0

    @property
    def cut(self) -> dict[str, int] | None:
        """How the storage keeps each file as several (``crates/storage/src/pieces.rs``); None: as one."""
        return None

    @property
    def opening(self) -> dict[str, Any]:
        """More keys of the TargetSpec, for storages with files (``crates/storage/src/target/mod.rs``)."""
        return {}

    @property
    def name_operations(self) -> int:
        """Operations of one trial on names of files, which move no bytes."""
        return 0

    @property
    def time_ns_most(self) -> int | None:
        """Time that one trial measures at most; None where it ends only when its work is done."""
        return None if self.time_limit_ns is None else self.time_limit_ns * len(self.phases)

    @property
    def unbroken_bytes(self) -> int:
        """Bytes of one operation, which no limit of time ends."""
        return 0

    def least_ns(self, delays: Mapping[str, int]) -> int:  # noqa: ARG002  (for kinds that wait)
        """Time that one trial takes at least, however fast the storage is. ``delays``: ``Target.delays``."""
        return 0

    @property
    def memory_bytes(self) -> int:
        """Bytes of memory on each host beside those of its tasks."""
        return 0

    def describe(self) -> str:
        """One line for ``--dry-run``, without kind and tasks."""
        raise NotImplementedError

    @property
    def uses_storage(self) -> bool:
        """Whether trials work on files that this project makes."""
        return True

    def check(self, target: Target) -> None:  # noqa: ARG002  (for kinds that look)
        """RequestError if the target, or this host, cannot do it. Looks, and touches nothing."""
        return

    def try_out(self, target: Target) -> dict[str, Any] | None:  # noqa: ARG002  (for kinds that look)
        """A PhaseSpec that is prepared and sent home before the run: what the storage refuses, it refuses now."""
        return None

    def first_phase(self, target: Target) -> dict[str, Any] | None:
        """The PhaseSpec that a trial begins with, for a try on files that the user named."""
        return self.try_out(target)

    def measure(self, loop: Loop, number: int, trial: Trial) -> str:
        """Brings the files into the state the trial wants, measures its phases, and returns its status."""
        raise NotImplementedError


class WorkloadSection(Section):
    """A ``[workload]`` table. Every list is a factor: each combination becomes a setting."""

    FACTORS: ClassVar[tuple[str, ...]] = ()
    """Fields of which each value makes settings of its own, in the order in which they vary."""

    PLACES: ClassVar[tuple[str, ...]] = ("partition", "hosts", "tasks_per_node")
    """Factors of every kind: where the tasks run. They vary slowest."""

    name: str = Field("", max_length=64, description="tells several [[workload]] tables apart, in records and report")
    partition: Sweep[Name] | None = Field(None, description="the scheduler's partition that the tasks run in")
    hosts: HostSets | None = Field(
        None, description="the only hosts that take part, in this order; a list of lists is a factor"
    )
    tasks_per_node: Sweep[Count] | None = Field(
        None, description="tasks on each host before the next one takes any; one in each process"
    )

    def settings(self, scale: float = 1.0) -> list[Setting]:
        """Every combination of the factors, without repetition, in the order of the file. ``scale`` multiplies what
        the kind says it scales: the amount of work, never the tasks."""
        found = [self.setting(dict(zip(self.FACTORS, values, strict=True)), scale) for values in self._product()]
        places = product(*(getattr(self, place) or (None,) for place in self.PLACES))
        placed = (
            replace(setting, **dict(zip(self.PLACES, place, strict=True))) for place in places for setting in found
        )
        return list(dict.fromkeys(placed))

    @property
    def combinations(self) -> int:
        """How many settings that is at most, without making them."""
        return math.prod(len(getattr(self, factor) or (None,)) for factor in (*self.FACTORS, *self.PLACES))

    def on(self, target: Target) -> WorkloadSection:  # noqa: ARG002  (for kinds that ask)
        """The same with what it leaves to the target as that target has it."""
        return self

    def setting(self, factors: dict[str, Any], scale: float) -> Setting:
        """The setting of one combination."""
        raise NotImplementedError

    def _product(self) -> Iterator[tuple[Any, ...]]:
        # A factor that was not given (None) has one value: that it is not there.
        return product(*(getattr(self, factor) or (None,) for factor in self.FACTORS))


def scaled(count: int, scale: float, step: int = 1) -> int:
    """``count`` times ``scale``, as a multiple of ``step`` and at least one of it."""
    return count if scale == 1.0 else max(round(count * scale / step), 1) * step
