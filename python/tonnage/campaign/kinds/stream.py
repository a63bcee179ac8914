"""``stream``: tasks that write or read transfers of one size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, model_validator

from tonnage.campaign.kinds.kind import Setting, WorkloadSection, scaled
from tonnage.fields import Count, Depth, Device, Hog, Percent, Rate, ScalarOrList, Size, Sweep, Tasks, Time
from tonnage.section import refuse, time_field, unit_field
from tonnage.units import format_size

if TYPE_CHECKING:
    from tonnage.campaign.run import Loop
    from tonnage.campaign.schedule import Trial
    from tonnage.campaign.target import Target

Op = Literal["write", "read", "mixed"]
Access = Literal["sequential", "strided", "random", "random-blocks"]
Layout = Literal["file-per-task", "file-per-segment", "shared"]
Direct = Literal["auto", "yes", "no"]
StorageKind = Literal["posix", "uring", "mmap", "null", "memory"]
Sync = Literal["none", "fsync", "fsync-each"]
Cache = Literal["keep", "drop"]
Payload = Literal["unique", "constant"]
Source = Literal["own", "shift", "random"]
Advice = Literal["sequential", "random", "dont-need"]
Seed = Annotated[int, Field(ge=0, le=2**63 - 1, strict=True)]


def _listed(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


CELL_BYTES = 4096
"""Payload cells: a transfer of whole cells can be laid out in transfers of another size."""
FILL_TRANSFER = 1 << 20
"""Files for a read of smaller transfers are laid out in transfers up to this size."""


class Stream(WorkloadSection):
    """Tasks that move transfers of one size."""

    FACTORS: ClassVar[tuple[str, ...]] = (
        "op", "tasks", "devices", "transfer_size", "block_size", "segments", "access", "layout", "direct", "sync",
        "queue_depth", "storage", "cache", "read_percent", "rate_bytes_per_s", "operations_rate", "source",
    )  # fmt: skip

    kind: Literal["stream"] = Field("stream", description="tasks that write or read transfers of one size")
    op: Sweep[Op] = Field(("write", "read"), description="what each operation does")
    tasks: Sweep[Tasks] = Field((1, 2, 4, 8), description="streams of I/O at once")
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
    storage: Sweep[StorageKind] = Field(("posix",), description="how bytes are touched")
    queue_depth: Sweep[Depth] = Field(
        (1,), description="operations in flight in each task; above 1 needs storage uring"
    )
    sync: Sweep[Sync] = Field(("fsync",), description="when a write phase makes its data durable, inside the clock")
    cache: Sweep[Cache] = Field(("drop",), description="the page cache before a read phase")
    devices: Sweep[Count] | None = Field(None, description="how many of the target's directories are used; all")
    device: Device | None = Field(None, description="the only directory of the target that is used, from 0")
    read_percent: Sweep[Percent] | None = Field(None, description="share of reads where op is mixed; 50")
    rate_bytes_per_s: Sweep[Rate] | None = unit_field(
        "rate", "bytes_per_s", None, "open loop: bytes that all tasks together start in a second"
    )
    operations_rate: Sweep[Count] | None = Field(
        None, description="open loop: operations that all tasks together start in a second"
    )
    think_ns: Time | None = time_field("think", None, "pause of a task after each operation, outside its latency")
    source: Sweep[Source] = Field(
        ("own",), description="whose data a task works on: its own, that of the task `shift` further on, a random one's"
    )
    shift: Count = Field(1, description="tasks between a task and the one whose data it works on; for source shift")
    barriers: bool = Field(False, description="all tasks wait for each other after opening and before closing a file")
    single_attempt: bool = Field(False, description="a call that moves a part of a transfer fails the phase")
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
        (), description="storage mmap: what the kernel is told of each mapping"
    )
    range_locks: bool = Field(False, description="storage posix: hold a lock on the bytes of each transfer")
    preallocate: bool = Field(False, description="reserve a file's space when it is opened, inside the clock")
    check_written: bool = Field(False, description="after each write, read all of it back and check every byte")
    hog: Hog | None = Field(None, description="memory held during each phase: a size, or a share of the node's memory")
    payload: Payload = Field("unique", description="what is written; constant flatters compression")
    verify: bool = Field(False, description="check every byte that is read")
    time_limit_ns: Time | None = time_field(
        "time_limit", None, "no operation starts later than this after the start line"
    )
    wrap: bool = Field(False, description="begin the block again when it is done; needs time_limit")
    wear_out: bool = Field(
        False, description="when the time is up, go on until each task has done as much as the fastest had then"
    )
    min_time_ns: Time | None = time_field("min_time", None, "repeat the block until this much time has gone by")
    operations: Count | None = Field(None, description="most operations of a task")

    @model_validator(mode="after")
    def _combinations(self) -> Stream:
        for transfer in self.transfer_size:
            if transfer > 1 << 30:
                refuse(
                    "transfer_size",
                    f"transfer_size {format_size(transfer)} is above the 1GiB that one call can carry",
                    "use a smaller transfer_size",
                )
            for block in self.block_size:
                if block % transfer:
                    refuse(
                        "block_size",
                        f"block_size {format_size(block)} is not a multiple of transfer_size {format_size(transfer)}",
                        f"use {format_size(max(block // transfer, 1) * transfer)}",
                    )
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
        if self.verify and self.payload == "constant":
            refuse(
                "verify",
                "verify needs payload unique: constant data cannot tell one place from another",
                'set payload = "unique"',
            )
        if "mmap" in self.storage and "yes" in self.direct:
            refuse("direct", "storage mmap works through the page cache", 'set direct = "auto" or storage = "posix"')
        return self

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
        """The setting of the first value of each factor."""
        return self.setting({factor: (getattr(self, factor) or (None,))[0] for factor in self.FACTORS}, 1.0)

    def setting(self, factors: dict[str, Any], scale: float) -> StreamSetting:
        """The setting of one combination."""
        mixed = factors["op"] == "mixed"
        factors["read_percent"] = (factors["read_percent"] or 50) if mixed else None
        factors["block_size"] = scaled(factors["block_size"], scale, factors["transfer_size"])
        same = ("verify", "time_limit_ns", "payload", "wrap", "think_ns", "preallocate", "check_written", "hog")
        more = ("wear_out", "min_time_ns", "operations", "barriers", "single_attempt", "order_seed", "source_seed")
        last = ("retry_for_ns", "spread", "prefill", "advice", "range_locks", "device")
        return StreamSetting(
            kind="stream",
            workload=self.name,
            **factors,
            shift=self.shift if factors["source"] == "shift" else 0,
            **{key: getattr(self, key) for key in same + more + last},
        )


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

    @property
    def phases(self) -> tuple[str, ...]:
        return (self.op,)

    @property
    def files(self) -> int:
        """Number of files it works on; one that is cut into segments counts once."""
        return 1 if self.layout == "shared" else self.tasks

    @property
    def file_bytes(self) -> int:
        """Bytes of each of them after one pass."""
        return self.segments * self.block_size * (self.tasks if self.layout == "shared" else 1)

    @property
    def cut(self) -> dict[str, int] | None:
        return {"count": self.segments, "bytes": self.block_size} if self.layout == "file-per-segment" else None

    @property
    def opening(self) -> dict[str, Any]:
        advice = {"advice": list(self.advice)} if self.advice else {}
        return {**advice, "range_locks": True} if self.range_locks else advice

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
        return self.queue_depth * max(self.transfer_size, 0 if self.op == "write" else FILL_TRANSFER)

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

    def least_ns(self, delays: Mapping[str, int]) -> int:
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
        return _hog_bytes(self.hog) if self.hog else 0

    def describe(self) -> str:
        return (
            f"transfer {format_size(self.transfer_size)}  block {format_size(self.block_size)} × {self.segments}"
            f"  {self.access}  {self.layout}  direct {self.direct}  {self.storage}"
            + (f"  depth {self.queue_depth}" if self.queue_depth > 1 else "")
            + (f"  {self.read_percent} % reads" if self.read_percent else "")
            + (f"  {self.devices} devices" if self.devices else "")
            + (f"  device {self.device}" if self.device is not None else "")
        )

    def try_out(self, target: Target) -> dict[str, Any]:  # noqa: ARG002  (as every kind's)
        one = replace(
            self,
            op="write",
            tasks=1,
            layout="file-per-task",
            block_size=self.transfer_size,
            segments=1,
            verify=False,
            hog=None,
            barriers=False,
        )
        return phase_spec(one, "try-out", 0)

    def first_phase(self, target: Target) -> dict[str, Any]:  # noqa: ARG002
        return phase_spec(self, "try-out", 0)

    def measure(self, loop: Loop, number: int, trial: Trial) -> str:
        """A write starts on fresh files; anything else has its files laid out first where they are not there."""
        if self.op == "write":
            loop.room.clear()
            if (stopped := self._prefill(loop, number, trial)) is not None:
                return stopped
        elif (missing := loop.lay_out(number, trial, self)) is not None:
            return missing
        doing = self if self.op == "write" else self._within(loop)
        status = loop.phase(number, trial, self, self.op, phase_spec(doing, f"{number:04d}-{self.op}", loop.seed))
        _keep_damaged(loop)
        if self.op != "write":
            return status
        if status == "ok" and (loop.lines[-1]["stop_reason"] == "size" or loop.room.target.names):
            loop.room.wrote(self, min(task["operations"] for task in loop.last_tasks))
            if self.check_written:
                return self._check(loop, number, trial)
        elif status == "failed":
            # A full disk must not stay full for the next trial.
            loop.room.clear()
        return status

    def fill(self, transfer_size: int) -> StreamSetting:
        """The write that lays its files out, in transfers of that size."""
        return replace(
            self,
            op="write",
            access="sequential",
            transfer_size=transfer_size,
            sync="fsync",
            time_limit_ns=None,
            wrap=False,
            verify=False,
            read_percent=None,
            rate_bytes_per_s=None,
            operations_rate=None,
            think_ns=None,
            source="own",
            hog=None,
            wear_out=False,
            min_time_ns=None,
            operations=None,
            check_written=False,
            barriers=False,
            single_attempt=False,
            prefill=None,
            spread=None,
        )

    def _prefill(self, loop: Loop, number: int, trial: Trial) -> str | None:
        """Writes the files that a write at random then works on; the trial's status where that failed."""
        if self.prefill is None:
            return None
        # Not what the phase writes: what it leaves out must not pass for written.
        fill = replace(self.fill(self.prefill), payload="constant", sync="none")
        spec = phase_spec(fill, f"{number:04d}-prefill", loop.seed)
        status = loop.phase(number, trial, fill, "write", spec, purpose="fill")
        if status == "ok":
            return None
        loop.room.clear()
        if status == "failed":
            return loop.without(number, trial, self.op, "the files that it works on could not be written first")
        return status

    def _within(self, loop: Loop) -> StreamSetting:
        """Reads of the user's files end where the write before them was cut short: what each task has written."""
        written = loop.room.written_operations
        if written is None or written >= self.segments * (self.block_size // self.transfer_size):
            return self
        return replace(self, operations=max(min(written, self.operations or written), 1))

    def _check(self, loop: Loop, number: int, trial: Trial) -> str:
        part = self._within(loop)
        # The order of the write, where not all of it was done.
        whole = part is self and self.access != "random-blocks"
        access = "sequential" if whole else self.access
        reading = replace(part, op="read", verify=True, access=access, cache="keep", time_limit_ns=None)
        reading = replace(reading, wear_out=False, min_time_ns=None, barriers=False)
        spec = phase_spec(reading, f"{number:04d}-check", loop.seed)
        status = loop.phase(number, trial, self, "check", spec, purpose="check")
        _keep_damaged(loop)
        return status


def _keep_damaged(loop: Loop) -> None:
    """Files in which damage was just found stay, where that is wanted."""
    if loop.room.target.keep_damaged and not loop.room.target.keep:
        loop.room.keep_named(bool((loop.lines[-1]["verify"] or {}).get("damaged_operations")))


def phase_spec(setting: StreamSetting, record: str, seed: int, *, first_task: int = 0) -> dict[str, Any]:
    """The PhaseSpec (``crates/workload/src/phase.rs``) that measures ``setting``; tasks from ``first_task`` on."""
    return {
        "record": record,
        "tasks": {"first": first_task, "here": setting.tasks - first_task, "total": setting.tasks},
        "limit": _limit(setting),
        **_pace(setting),
        **({"hog_bytes": _hog_bytes(setting.hog)} if setting.hog else {}),
        "seed": seed,
        "work": {
            "kind": "stream",
            # A mix opens its files for writing.
            "op": "read" if setting.op == "read" else "write",
            **({"read_percent": setting.read_percent} if setting.op == "mixed" else {}),
            "geometry": {
                "transfer_size": setting.transfer_size,
                "block_size": setting.block_size,
                "segments": setting.segments,
                "layout": "shared" if setting.layout == "shared" else "file-per-task",
                "access": setting.access,
            },
            **_source(setting, seed),
            **({"preallocate": True} if setting.preallocate else {}),
            **({"barriers": True} if setting.barriers else {}),
            **({"single_attempt": True} if setting.single_attempt else {}),
            **({"retry_ns": setting.retry_for_ns} if setting.retry_for_ns else {}),
            **({"spread_bytes": setting.spread} if setting.spread else {}),
            **({} if setting.order_seed is None else {"order_seed": setting.order_seed}),
            "queue_depth": setting.queue_depth,
            "durability": "none" if setting.op == "read" else setting.sync,
            "cache": setting.cache,
            "payload": setting.payload,
            "verify": setting.verify and setting.op != "write",
        },
    }


def _limit(setting: StreamSetting) -> dict[str, Any]:
    limit = {"time_ns": setting.time_limit_ns, "wrap": setting.wrap}
    more = {"wear_out": setting.wear_out, "min_time_ns": setting.min_time_ns, "operations": setting.operations}
    return limit | {key: value for key, value in more.items() if value}


def _pace(setting: StreamSetting) -> dict[str, Any]:
    pace = {
        "operations_per_s": setting.operations_rate,
        "bytes_per_s": setting.rate_bytes_per_s,
        "think_ns": setting.think_ns,
    }
    given = {key: value for key, value in pace.items() if value is not None}
    return {"pace": given} if given else {}


def _source(setting: StreamSetting, seed: int) -> dict[str, Any]:
    if setting.source == "shift":
        return {"source": {"kind": "shift", "tasks": setting.shift}}
    drawn = seed if setting.source_seed is None else setting.source_seed
    return {"source": {"kind": "random", "seed": drawn}} if setting.source == "random" else {}


def _hog_bytes(hog: int | float) -> int:
    from tonnage.machine.host import memory

    return int(hog * (memory("MemTotal") or 0)) if isinstance(hog, float) else hog
