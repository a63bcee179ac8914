"""The interface of a kind of workload as data: a table of the file, and the settings it expands into.

``execute/`` has what carries a setting out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from importlib import import_module
from itertools import product
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from pydantic import Field

from tonnage.campaign.target import Target
from tonnage.cluster.launcher import Placing
from tonnage.delayed_signals import late_signals
from tonnage.field_types import Count, HostSets, Name, Sweep, is_sweep
from tonnage.records.line_types import SettingValues
from tonnage.records.phase_specs import Cut, Delays, TargetSpec
from tonnage.toml_documents import DocumentTable, refuse
from tonnage.units import format_size

Factors = dict[str, Any]
"""One value of each factor of a table, by its name there."""


MOST_TRANSFER = 1 << 30
"""Bytes of one operation."""


class Transfers(NamedTuple):
    """Describes the operations that the tasks of a setting generate."""

    transfer_size: int
    payload: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One value for every factor of a trial, under the names of ``docs/record-format.md``."""

    IS_ONE_PROCESS: ClassVar[bool] = False
    """All tasks run in one process, whoever starts it."""

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
    beside: str | None = None
    """The company (``named_company.Company``) that runs meanwhile; None: none does."""

    @property
    def placing(self) -> Placing:
        """Where a phase's tasks run, for the launcher."""
        return Placing(self.hosts, self.tasks_per_node)

    @property
    def job_partition(self) -> str | None:
        """The partition that a job with this trial in it must run in; None: that does not matter."""
        return self.partition

    def as_dict(self) -> SettingValues:
        """As it stands in ``trials.jsonl``."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        if self.beside is None:
            # As in all records from before there was company.
            del values["beside"]
        return values

    @property
    def phases(self) -> tuple[str, ...]:
        """The phases a trial measures, in order; each leaves a record."""
        raise NotImplementedError

    @property
    def only_looks(self) -> bool:
        """Whether it changes nothing of what an earlier run left in the scratch directory."""
        return False

    @property
    def files(self) -> int:
        """Number of files that all its phases work on, each known by its number; 0 where it has none such."""
        return 0

    @property
    def is_shared(self) -> bool:
        """Whether all tasks work on each of these files; else each task has its own."""
        return False

    @property
    def space_bytes(self) -> int:
        """Bytes of files at once."""
        return 0

    @property
    def names(self) -> int:
        """Files and directories at once, at most."""
        return 0

    def space_in(self, target: Target) -> list[int]:
        """Returns the bytes of files at once in each directory of the target, at most."""
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
    def cut(self) -> Cut | None:
        """How the storage keeps each file as several (``crates/storage/src/split_file.rs``); None: as one."""
        return None

    @property
    def opening(self) -> TargetSpec:
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

    @property
    def made_by_time(self) -> bool:
        """Whether a time limit ends the writing long before all is written, so that the amount is unknown."""
        return False

    @property
    def reserves_space(self) -> bool:
        """Whether it takes the space of a whole file before it writes."""
        return False

    def is_checked(self, target: Target) -> bool:
        """Whether its files must fit before anything is written. Files that the user named are there already where they
        are only read; and where a time limit ends the write long before its block does, as in benchmarks that are
        stopped by time, their final size is unknown: such phases are watched instead (``limit.watch_space``)."""
        by_time = self.time_limit_ns is not None and not self.reserves_space
        named = bool(target.names) and (self.phases == ("read",) or by_time)
        return target.scheme != "path" or not (named or self.made_by_time)

    def least_ns(self, delays: Delays) -> int:  # noqa: ARG002  (for kinds that wait)
        """Time that one trial takes at least, however fast the storage is. ``delays``: ``Target.delays``."""
        return 0

    @property
    def memory_bytes(self) -> int:
        """Bytes of memory on each host beside those of its tasks."""
        return 0

    def by_more_tasks(self, times: int) -> Setting:
        """The same by so many times as many tasks, in as much space as far as that goes."""
        return replace(self, tasks=times * self.tasks)

    def describe(self) -> str:
        """Returns one line for ``--dry-run``, without kind and tasks."""
        raise NotImplementedError

    @property
    def needs_scratch(self) -> bool:
        """Whether trials work on files that this project makes."""
        return True

    @property
    def transfers(self) -> Transfers | None:
        """What its tasks generate; None where nothing of one size."""
        return None

    def memory_shortage(self, needed: str, available: str) -> str:
        """Why a setting whose ``memory_bytes`` are most of what is ``needed`` cannot run, and what to do."""
        return f"{needed} of memory are needed, and {available} are available; hint: use fewer tasks"


class WorkloadSection(DocumentTable):
    """A ``[workload]`` table. Every list is a factor: each combination becomes a setting. Factors vary in the order in
    which they stand here, the last one fastest."""

    SETTING: ClassVar[type[Setting]]
    """What it expands into. A field of the same name has the table's value."""

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
        found = [self.setting(factors, scale) for factors in self._product()]
        places = product(*(getattr(self, place) or (None,) for place in self.PLACES))
        placed = (
            replace(setting, **dict(zip(self.PLACES, place, strict=True))) for place in places for setting in found
        )
        return list(dict.fromkeys(placed))

    @property
    def combinations(self) -> int:
        """How many settings that is at most, without making them."""
        return math.prod(len(getattr(self, factor) or (None,)) for factor in (*factors_of(type(self)), *self.PLACES))

    def on(self, target: Target) -> WorkloadSection:  # noqa: ARG002  (for kinds that ask)
        """The same with what it leaves to the target as that target has it."""
        return self

    def on_hosts(self, there: Callable[[], Sequence[str]]) -> WorkloadSection:  # noqa: ARG002  (for kinds that ask)
        """The same with what it leaves to the run's hosts, which ``there`` tells; RequestError where it cannot be."""
        return self

    @property
    def names_hosts_late(self) -> bool:
        """Whether its settings are known only once it is known on which hosts they run."""
        return False

    @property
    def needs_queue(self) -> bool:
        """Whether it has several operations of a task in flight on a storage that does one at a time."""
        return False

    @property
    def is_endless(self) -> bool:
        """Whether its work is repeated until the time is over, so that its amount is unknown."""
        return False

    @property
    def needs_file_names(self) -> bool:
        """Whether it works only on files that the user named."""
        return False

    def setting(self, factors: Factors, scale: float) -> Setting:
        """Returns the setting of one combination."""
        return self.SETTING(**self.knobs(factors, scale))

    def knobs(self, factors: Factors, scale: float) -> Factors:  # noqa: ARG002  (for kinds that scale)
        """Every field of the setting but where it runs: one value of each factor, and the rest as the table has it."""
        same = {name: getattr(self, name) for name in _same_fields(type(self))}
        return {"workload": self.name, **same, **factors}

    def _product(self) -> Iterator[Factors]:
        names = factors_of(type(self))
        # A factor that was not given (None) has one value: that it is not there.
        for values in product(*(getattr(self, name) or (None,) for name in names)):
            yield dict(zip(names, values, strict=True))


@cache
def factors_of(section: type[WorkloadSection]) -> tuple[str, ...]:
    """Fields of a table of which each value makes settings of its own, in the order in which they vary."""
    return tuple(
        name
        for name, field in section.model_fields.items()
        if name not in WorkloadSection.model_fields and is_sweep(field)
    )


@cache
def _same_fields(section: type[WorkloadSection]) -> tuple[str, ...]:
    """Fields of a table that its settings have under the same name, factors and the place of the tasks aside."""
    known = {*section.model_fields} - {*factors_of(section), *WorkloadSection.model_fields, "kind"}
    return tuple(field.name for field in fields(section.SETTING) if field.name in known)


def scaled(count: int, scale: float, step: int = 1) -> int:
    """``count`` times ``scale``, as a multiple of ``step`` and at least one of it."""
    return count if scale == 1.0 else max(round(count * scale / step), 1) * step


def check_transfer_sizes(key: str, sizes: Sequence[int], transfer_sizes: Sequence[int], *, instead: str = "") -> None:
    """Refuses what one call cannot carry, and ``sizes`` under ``key`` of the table that are no whole transfers.
    ``instead``: what else helps, for the hint."""
    for transfer_size in transfer_sizes:
        if transfer_size > MOST_TRANSFER:
            refuse(
                "transfer_size",
                f"transfer_size {format_size(transfer_size)} is above the 1GiB that one call can carry",
                "use a smaller transfer_size",
            )
        for size in sizes:
            if size % transfer_size:
                refuse(
                    key,
                    f"{key} {format_size(size)} is not a multiple of transfer_size {format_size(transfer_size)}",
                    f"use {format_size(max(size // transfer_size, 1) * transfer_size)}{instead}",
                )


T = TypeVar("T")


class OnDemand(Mapping[str, T], Generic[T]):
    """Name → what ``module:name`` is. Listing the names imports nothing; a run needs one or two values."""

    def __init__(self, places: Mapping[str, str]) -> None:
        self._places = places
        self._loaded: dict[str, T] = {}

    def __getitem__(self, name: str) -> T:
        if name not in self._loaded:
            module, _, attribute = self._places[name].partition(":")
            with late_signals():
                self._loaded[name] = getattr(import_module(module), attribute)
        return self._loaded[name]

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)
