"""``stream``: tasks that write or read transfers of one size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from tonnage.campaign.kinds.kind import Factors, Setting, Transfers, WorkloadSection, check_transfer_sizes, scaled
from tonnage.campaign.kinds.named_company import CompanySection
from tonnage.campaign.target import Target
from tonnage.field_types import Count, Depth, Device, Flag, Hog, Percent, Rate, ScalarOrList, Size, Sweep, Tasks, Time
from tonnage.records.phase_specs import Cut, Delays, MpiioSpec, TargetSpec
from tonnage.toml_documents import refuse, time_field, unit_field
from tonnage.units import format_size, size_text

Op = Literal["write", "read", "mixed"]
Access = Literal["sequential", "strided", "random", "random-blocks"]
Layout = Literal["file-per-task", "file-per-segment", "shared"]
Direct = Literal["auto", "yes", "no"]
StorageKind = Literal["posix", "uring", "mmap", "mpiio", "null", "memory"]
Sync = Literal["none", "fsync", "fsync-each"]
Cache = Literal["keep", "drop"]
Payload = Literal["unique", "constant"]
Source = Literal["own", "shift", "random"]
FileView = Literal["none", "blocks", "strided"]
Advice = Literal["sequential", "random", "dont-need"]
Hint = Annotated[str, AfterValidator(lambda text: "=".join(hint_of(text)))]
Seed = Annotated[int, Field(ge=0, le=2**63 - 1, strict=True)]


def hint_of(text: str) -> tuple[str, str]:
    """Name and value of a hint of MPI; ValueError where it is none."""
    name, equals, value = (part.strip() for part in text.partition("="))
    if not name or not equals or not value or not (name + value).isprintable():
        raise ValueError(f"{text!r} is no hint; write NAME=VALUE")
    return name, value


def _listed(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


CELL_BYTES = 4096
"""Payload cells: a transfer of whole cells can be laid out in transfers of another size."""
FILL_TRANSFER = 1 << 20
"""Files for a read of smaller transfers are laid out in transfers up to this size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamSetting(Setting):
    """Every factor of a stream. Sizes in bytes. Fields with a default came later than the first records."""

    kind: str = "stream"
    op: str
    transfer_size: int
    block_size: int
    segments: int
    access: str
    layout: str
    sync: str
    queue_depth: int
    verify: bool
    cache: str
    payload: str
    wrap: bool
    read_percent: int | None = None
    rate_bytes_per_s: int | None = None
    operations_rate: int | None = None
    think_ns: int | None = None
    source: str = "own"
    shift: int = 0
    preallocate: bool = False
    check_written: bool = False
    hog: int | float | None = None
    wear_out: bool = False
    min_time_ns: int | None = None
    operations: int | None = None
    barriers: bool = False
    single_attempt: bool = False
    retry_for_ns: int | None = None
    order_seed: int | None = None
    source_seed: int | None = None
    spread: int | None = None
    prefill: int | None = None
    advice: tuple[str, ...] = ()
    range_locks: bool = False
    collective: bool = False
    file_view: str = "none"
    hints: tuple[str, ...] = ()

    @property
    def phases(self) -> tuple[str, ...]:
        return (self.op,)

    @property
    def files(self) -> int:
        """Number of files it works on; one that is cut into segments counts once."""
        return 1 if self.layout == "shared" else self.tasks

    @property
    def is_shared(self) -> bool:
        return self.layout == "shared"

    @property
    def file_bytes(self) -> int:
        """Bytes of each of them after one pass."""
        return self.segments * self.block_size * (self.tasks if self.layout == "shared" else 1)

    @property
    def cut(self) -> Cut | None:
        return {"count": self.segments, "bytes": self.block_size} if self.layout == "file-per-segment" else None

    @property
    def opening(self) -> TargetSpec:
        opening: TargetSpec = {"advice": list(self.advice)} if self.advice else {}
        if self.storage == "mpiio":
            opening["mpiio"] = self._mpiio()
        return {**opening, "range_locks": True} if self.range_locks else opening

    def _mpiio(self) -> MpiioSpec:
        spec: MpiioSpec = {"collective": self.collective}
        if self.hints:
            spec["hints"] = dict(hint_of(hint) for hint in self.hints)
        if self.is_shared:
            spec |= {"shared": True, "tasks": self.tasks, "task_bytes": self.segments * self.block_size}
        if self.file_view != "none":
            strided = self.is_strided
            spec["view"] = {
                "piece_bytes": self.transfer_size if strided else self.block_size,
                "pieces": self.segments if strided else 1,
                "block_bytes": self.block_size,
                "tasks": self.tasks if self.is_shared else 1,
            }
        return spec

    @property
    def is_strided(self) -> bool:
        """Whether each call moves a transfer of every segment at once."""
        return self.file_view == "strided" and self.segments > 1

    @property
    def pass_bytes(self) -> int:
        """Bytes that all tasks move in one pass."""
        return self.segments * self.block_size * self.tasks

    @property
    def names(self) -> int:
        return self.files * (self.cut["count"] if self.cut else 1)

    @property
    def buffer_bytes(self) -> int:
        # A read's files are laid out first, in larger transfers where its own are small.
        if self.is_strided:
            return self.segments * self.transfer_size
        return self.queue_depth * max(self.transfer_size, 0 if self.op == "write" else FILL_TRANSFER)

    @property
    def reserves_space(self) -> bool:
        return self.preallocate

    @property
    def space_bytes(self) -> int:
        return self.pass_bytes

    def space_in(self, target: Target) -> list[int]:
        if self.device is not None:
            return Setting.space_in(self, target)
        return [files * self.file_bytes for files in target.files_in(self.files, self.devices)]

    @property
    def write_bytes(self) -> int:
        # What is read has to be laid out first.
        return self.pass_bytes * (2 if self.prefill else 1)

    @property
    def read_bytes(self) -> int:
        return self.pass_bytes if self.op != "write" or self.check_written else 0

    def least_ns(self, delays: Delays) -> int:
        operations = self.segments * (self.block_size // self.transfer_size)
        if self.operations is not None:
            operations = self.operations if self.wrap else min(operations, self.operations)
        # An operation that has begun is waited for, also past the limit of time.
        once = delays.get("transfer_ns", 0)
        spent = operations * (once + (self.think_ns or 0) // self.queue_depth)
        starts = operations * self.tasks - 1
        if self.operations_rate:
            spent = max(spent, starts * 10**9 // self.operations_rate)
        if self.rate_bytes_per_s:
            spent = max(spent, starts * self.transfer_size * 10**9 // self.rate_bytes_per_s)
        if self.time_limit_ns is not None:
            spent = max(min(spent, self.time_limit_ns), once)
        around = delays.get("close_ns", 0)
        if self.op != "read":
            around += delays.get("create_ns", 0) + (delays.get("sync_ns", 0) if self.sync != "none" else 0)
        return max(spent, self.min_time_ns or 0) + around

    @property
    def memory_bytes(self) -> int:
        return hog_bytes(self.hog) if self.hog else 0

    def by_more_tasks(self, times: int) -> StreamSetting:
        # Each keeps room for one transfer.
        return replace(self, tasks=times * self.tasks, block_size=max(self.block_size // times, self.transfer_size))

    def describe(self) -> str:
        return (
            f"transfer {format_size(self.transfer_size)}  block {format_size(self.block_size)} × {self.segments}"
            f"  {self.access}  {self.layout}  direct {self.direct}  {self.storage}"
            + (f"  depth {self.queue_depth}" if self.queue_depth > 1 else "")
            + ("  collective" if self.collective else "")
            + (f"  view {self.file_view}" if self.file_view != "none" else "")
            + (f"  {self.read_percent} % reads" if self.read_percent else "")
            + (f"  {self.devices} devices" if self.devices else "")
            + (f"  device {self.device}" if self.device is not None else "")
        )

    @property
    def transfers(self) -> Transfers:
        return Transfers(self.transfer_size, self.payload)

    def memory_shortage(self, needed: str, available: str) -> str:  # noqa: ARG002  (of which the hog is most)
        return (
            f"the hog of {size_text(self.memory_bytes)} is more than the {available} of memory that this host has "
            "available; hint: give a smaller hog"
        )

    def plain(self, *kept: str, **changes: Any) -> StreamSetting:
        """A write of the defaults, but for what is ``kept`` of this setting and for ``changes``."""
        return replace(plain_stream(), **{name: getattr(self, name) for name in kept}, **changes)

    def fill(self, transfer_size: int) -> StreamSetting:
        """The write that lays its files out, in transfers of that size."""
        return self.plain(*_OF_FILES, transfer_size=transfer_size)


class Stream(CompanySection):
    """Tasks that move transfers of one size."""

    SETTING = StreamSetting

    kind: Literal["stream"] = Field("stream", description="tasks that write or read transfers of one size")
    op: Sweep[Op] = Field(("write", "read"), description="what each operation does")
    tasks: Sweep[Tasks] = Field((1, 2, 4, 8), description="streams of I/O at once")
    devices: Sweep[Count] | None = Field(None, description="how many of the target's directories are used; all")
    transfer_size: Sweep[Size] = Field((1 << 20,), description="bytes of one operation")
    block_size: Sweep[Size] = Field((64 << 20,), description="bytes a task moves in a segment; whole transfers")
    segments: Sweep[Count] = Field((1,), description="blocks a task moves one after another")
    access: Sweep[Access] = Field(("sequential",), description="order in which a task visits its transfers")
    layout: Sweep[Layout] = Field(
        ("file-per-task",), description="a file for each task, one for each of its segments, or one for all"
    )
    direct: Sweep[Direct] = Field(
        ("auto",), description="past the page cache (O_DIRECT), through it, or past it where possible"
    )
    sync: Sweep[Sync] = Field(("fsync",), description="when a write phase makes its data durable, inside the clock")
    queue_depth: Sweep[Depth] = Field(
        (1,), description="operations in flight in each task; above 1 needs storage uring"
    )
    storage: Sweep[StorageKind] = Field(("posix",), description="how bytes are touched")
    cache: Sweep[Cache] = Field(("drop",), description="the page cache before a read phase")
    read_percent: Sweep[Percent] | None = Field(None, description="share of reads where op is mixed; 50")
    rate_bytes_per_s: Sweep[Rate] | None = unit_field(
        "rate", "bytes_per_s", None, "open loop: bytes that all tasks together start in a second"
    )
    operations_rate: Sweep[Count] | None = Field(
        None, description="open loop: operations that all tasks together start in a second"
    )
    source: Sweep[Source] = Field(
        ("own",), description="whose data a task works on: its own, that of the task `shift` further on, a random one's"
    )
    device: Device | None = Field(None, description="the only directory of the target that is used, from 0")
    think_ns: Time | None = time_field("think", None, "pause of a task after each operation, outside its latency")
    shift: Count = Field(1, description="tasks between a task and the one whose data it works on; for source shift")
    barriers: Flag = Field(False, description="all tasks wait for each other after opening and before closing a file")
    single_attempt: Flag = Field(False, description="a call that moves a part of a transfer fails the phase")
    retry_for_ns: Time | None = time_field(
        "retry_for", None, "try a read or write again for so long if it fails for a reason that may pass"
    )
    order_seed: Seed | None = Field(None, description="of the order in which offsets are visited; the run's")
    source_seed: Seed | None = Field(None, description="of source random; the run's")
    spread: Size | None = Field(
        None, description="random-blocks in file_names: draw from so many bytes of each file; those of a pass"
    )
    prefill: Size | None = Field(
        None, description="write the files first, in transfers of this size, before the clock of a write at random"
    )
    advice: Annotated[tuple[Advice, ...], BeforeValidator(_listed), ScalarOrList()] = Field(
        (), description="storage mmap: advice to the kernel for each mapping"
    )
    range_locks: Flag = Field(False, description="storage posix: hold a lock on the bytes of each transfer")
    collective: Sweep[Flag] = Field(
        (False,), description="storage mpiio: all tasks of a file make each transfer together"
    )
    file_view: Sweep[FileView] = Field(
        ("none",),
        description="storage mpiio: a task sees only its blocks, or moves a transfer of every segment in one call",
    )
    hints: Annotated[tuple[Hint, ...], BeforeValidator(_listed), ScalarOrList()] = Field(
        (), description="storage mpiio: hints of MPI, each NAME=VALUE"
    )
    preallocate: Flag = Field(False, description="reserve a file's space when it is opened, inside the clock")
    check_written: Flag = Field(False, description="after each write, read all of it back and check every byte")
    hog: Hog | None = Field(None, description="memory held during each phase: a size, or a share of the node's memory")
    payload: Payload = Field("unique", description="what is written; constant flatters compression")
    verify: Flag = Field(False, description="check every byte that is read")
    time_limit_ns: Time | None = time_field(
        "time_limit", None, "no operation starts later than this after the start line"
    )
    wrap: Flag = Field(False, description="begin the block again when it is done; needs time_limit")
    wear_out: Flag = Field(
        False, description="when the time is up, go on until each task has done as much as the fastest had then"
    )
    min_time_ns: Time | None = time_field("min_time", None, "repeat the block until this much time has gone by")
    operations: Count | None = Field(None, description="most operations of a task")

    @model_validator(mode="after")
    def _combinations(self) -> Stream:
        check_transfer_sizes("block_size", self.block_size, self.transfer_size)
        if self.device is not None and self.devices:
            refuse("device", "device is one directory, and devices says how many", "keep one of them")
        if "mixed" not in self.op and self.read_percent is not None:
            refuse("read_percent", "read_percent is for op mixed", 'set op = "mixed", or leave read_percent out')
        if self.rate_bytes_per_s is not None and self.operations_rate is not None:
            refuse("rate", "rate and operations_rate are two rates for the same operations", "keep one of them")
        if self.think_ns is not None and (self.rate_bytes_per_s or self.operations_rate):
            refuse(
                "think", "think is for tasks that wait for their operations, and a rate does not", "keep one of them"
            )
        if self.min_time_ns and self.time_limit_ns and self.min_time_ns > self.time_limit_ns:
            refuse("min_time", "min_time is longer than time_limit", "make time_limit longer")
        if self.wear_out and (self.time_limit_ns is None or self.wrap):
            refuse("wear_out", "wear_out needs time_limit, and no wrap", 'add time_limit = "10s"')
        if self.wrap and self.time_limit_ns is None and self.operations is None:
            refuse(
                "wrap", "wrap needs time_limit or operations, or the phase would never end", 'add time_limit = "10s"'
            )
        if "file-per-segment" in self.layout and "uring" in self.storage:
            refuse("layout", "layout file-per-segment does one operation at a time", 'set storage = "posix"')
        self._check_prefill()
        if self.advice and set(self.storage) != {"mmap"}:
            refuse("advice", "advice is for mapped files", 'set storage = "mmap", or leave advice out')
        if self.range_locks and set(self.storage) != {"posix"}:
            refuse("range_locks", "range_locks needs storage posix", 'set storage = "posix", or leave range_locks out')
        self._check_mpiio()
        if self.verify and self.payload == "constant":
            refuse(
                "verify",
                "verify needs payload unique: constant data cannot tell one place from another",
                'set payload = "unique"',
            )
        if "mmap" in self.storage and "yes" in self.direct:
            refuse("direct", "storage mmap works through the page cache", 'set direct = "auto" or storage = "posix"')
        return self

    def _check_mpiio(self) -> None:
        viewed = set(self.file_view) != {"none"}
        for key, given in (("collective", any(self.collective)), ("file_view", viewed), ("hints", bool(self.hints))):
            if given and set(self.storage) != {"mpiio"}:
                refuse(key, f"{key} is for files through MPI-IO", f'set storage = "mpiio", or leave {key} out')
        if "mpiio" not in self.storage:
            return
        if "yes" in self.direct:
            refuse("direct", "storage mpiio works through the page cache", 'set direct = "no" or storage = "posix"')
        if "file-per-segment" in self.layout:
            refuse("layout", "storage mpiio keeps no file as several", 'set layout = "shared" or "file-per-task"')
        if any(self.collective) and self.retry_for_ns:
            refuse("retry_for", "one task alone cannot try a collective transfer again", "leave retry_for out")
        if viewed and set(self.access) & {"random", "random-blocks"}:
            refuse("file_view", "a file view is for transfers in order", 'set access = "sequential"')

    def _check_prefill(self) -> None:
        if self.prefill is None:
            return
        if set(self.op) != {"write"} or not set(self.access) <= {"random", "random-blocks"}:
            refuse("prefill", "prefill is for writes at random offsets", "leave it out: other phases find their files")
        for block in self.block_size:
            if block % self.prefill:
                refuse(
                    "prefill",
                    f"block_size {format_size(block)} is not a multiple of prefill {format_size(self.prefill)}",
                    f"use {format_size(block)}",
                )

    def first(self) -> StreamSetting:
        """Returns the setting of the first value of each factor."""
        return StreamSetting(**self.knobs(next(self._product()), 1.0))

    def knobs(self, factors: Factors, scale: float) -> Factors:
        found = super().knobs(factors, scale)
        return found | {
            "read_percent": (found["read_percent"] or 50) if found["op"] == "mixed" else None,
            "block_size": scaled(found["block_size"], scale, found["transfer_size"]),
            "shift": self.shift if found["source"] == "shift" else 0,
        }

    @property
    def needs_queue(self) -> bool:
        return max(self.queue_depth) > 1 and bool({"posix", "mmap", "mpiio"} & {*self.storage})

    @property
    def is_endless(self) -> bool:
        return self.wrap or self.min_time_ns is not None

    @property
    def needs_file_names(self) -> bool:
        return bool(self.spread)


_OF_FILES = (
    "workload", "tasks", "partition", "hosts", "tasks_per_node", "storage", "direct", "devices", "device", "block_size",
    "segments", "layout", "queue_depth", "cache", "payload", "shift", "preallocate", "retry_for_ns", "order_seed",
    "source_seed", "advice", "range_locks", "collective", "file_view", "hints",
)  # fmt: skip
"""What a phase has in common with the write that lays its files out: which files, where, and how they are opened."""


@cache
def plain_stream() -> StreamSetting:
    """A stream of which a table says nothing."""
    return Stream().first()


def searched(workloads: Sequence[WorkloadSection]) -> Stream:
    """The stream that a search measures; ValueError where there is none, or more than one."""
    if len(workloads) != 1 or not isinstance(workloads[0], Stream):
        refuse("search", "a search looks at one workload of kind stream", "leave [search] out")
    return workloads[0]


def hog_bytes(hog: int | float) -> int:
    """Bytes of memory that are held: a float is a share of this host's."""
    from tonnage.machine.host_facts import memory

    return int(hog * (memory("MemTotal") or 0)) if isinstance(hog, float) else hog


def check_searched(workload: WorkloadSection, said: Mapping[str, str]) -> None:
    """Refuses factors of a workload whose load line is searched. ``said``: keys that another one says instead."""
    for key, other in said.items():
        if key in workload.model_fields_set:
            refuse(f"workload.{key}", f"{other} says the {key} of a search", f"leave {key} out of the workload")
    for key in ("transfer_size", "access", "layout", "direct", "storage", "queue_depth", "beside"):
        if len(getattr(workload, key) or ()) > 1:
            refuse(
                f"workload.{key}", f"a search looks at one {key} at a time", f"give one {key}, or leave [search] out"
            )
    if places := [key for key in workload.PLACES if getattr(workload, key) is not None]:
        refuse(
            f"workload.{places[0]}",
            f"a search looks at one place, and {places[0]} is a factor of sweeps",
            "give partition and nodes in [job]",
        )
