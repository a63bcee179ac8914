"""``checkpoint``: rounds of computing and writing, each with a snapshot or without, and what is read back of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from tonnage.campaign.kinds.kind import Factors, Setting, Transfers, WorkloadSection, check_transfer_sizes, scaled
from tonnage.campaign.kinds.stream import Cache, Direct, Payload, Sync
from tonnage.campaign.target import Target
from tonnage.field_types import Count, Delay, Depth, Flag, Size, Sweep, Tasks, Time
from tonnage.filesystems import snapshots_of, type_of
from tonnage.machine.mounts import mount_of
from tonnage.records.phase_specs import Delays
from tonnage.toml_documents import refuse, time_field
from tonnage.units import format_size, format_time

CHECKPOINT, RESTART, DROP = "checkpoint", "restart", "drop"
_BLOCK = 64 << 20
_MOST_ROUNDS = 10_000
_PROGRAM_NS = 600_000_000_000

Snapshot = Literal["none", "auto", "rados", "rados-pool", "cephfs", "btrfs", "reflink", "command", "model"]
Coordination = Literal["together", "each"]


def _round(value: Any) -> Any:
    if isinstance(value, int) and not isinstance(value, bool) and not 0 <= value < _MOST_ROUNDS:
        raise ValueError(f'{value} is not a round; hint: count from 0, or write "newest" or "no"')
    return value


Restart = Annotated[
    Literal["newest", "no"] | Annotated[int, Field(ge=0, lt=_MOST_ROUNDS, strict=True)], BeforeValidator(_round)
]
Word = Annotated[str, Field(min_length=1, max_length=4096)]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointSetting(Setting):
    """Every factor of a checkpoint. Sizes in bytes."""

    kind: str = "checkpoint"
    snapshot: str
    transfer_size: int
    block_size: int
    coordination: str
    queue_depth: int
    layout: str
    sync: str
    think_ns: int
    rounds: int
    snapshot_command: tuple[str, ...]
    remove_command: tuple[str, ...]
    snapshot_directory: str | None
    restart: str | int
    cache: str
    verify: bool
    payload: str
    snapshot_timeout_ns: int | None = None
    retry_for_ns: int | None = None

    @property
    def phases(self) -> tuple[str, ...]:
        return (CHECKPOINT, DROP) if self.restart == "no" else (CHECKPOINT, RESTART, DROP)

    @property
    def round_bytes(self) -> int:
        """Bytes that all tasks write in a round."""
        return self.tasks * self.block_size

    @property
    def buffer_bytes(self) -> int:
        return self.queue_depth * self.transfer_size

    @property
    def space_bytes(self) -> int:
        # A snapshot keeps what the next round writes over.
        return self.round_bytes * (1 if self.snapshot == "none" else self.rounds)

    @property
    def write_bytes(self) -> int:
        return self.round_bytes * self.rounds

    @property
    def read_bytes(self) -> int:
        return 0 if self.restart == "no" else self.round_bytes

    @property
    def smaller(self) -> str:
        return "use a smaller block_size, fewer rounds or fewer tasks"

    def least_ns(self, delays: Delays) -> int:
        transfers = self.block_size // self.transfer_size
        return self.rounds * (self.think_ns + transfers * delays.get("transfer_ns", 0))

    def describe(self) -> str:
        return (
            f"snapshot {self.snapshot}  {self.rounds} rounds  transfer {format_size(self.transfer_size)}"
            f"  block {format_size(self.block_size)}  {self.coordination}  {self.layout}"
            + (f"  depth {self.queue_depth}" if self.queue_depth > 1 else "")
            + (f"  think {format_time(self.think_ns)}" if self.think_ns else "")
            + f"  direct {self.direct}  {self.storage}"
        )

    @property
    def transfers(self) -> Transfers:
        return Transfers(self.transfer_size, "unique")


class Checkpoint(WorkloadSection):
    """Tasks that write a checkpoint again and again, and take a snapshot of each or not."""

    SETTING = CheckpointSetting

    kind: Literal["checkpoint"] = Field(description="rounds of computing and writing, with a snapshot each or without")
    snapshot: Sweep[Snapshot] = Field(
        ("none",), description="what is taken of each round: none, or a snapshot by these means; auto: by the target's"
    )
    tasks: Sweep[Tasks] = Field((1, 2, 4, 8), description="tasks that write a checkpoint together")
    rounds: Annotated[int, Field(ge=1, le=_MOST_ROUNDS, strict=True)] = Field(
        3, description="checkpoints that a trial writes, each over the one before"
    )
    transfer_size: Sweep[Size] = Field((1 << 20,), description="bytes of one operation")
    block_size: Sweep[Size] | None = Field(None, description="bytes a task writes in a round; whole transfers")
    transfers: Sweep[Count] | None = Field(
        None, description="instead of block_size: transfers of a task in a round, whatever their size"
    )
    coordination: Sweep[Coordination] = Field(
        ("together",), description="all tasks begin, take one snapshot and end together; or each goes at its own pace"
    )
    queue_depth: Sweep[Depth] = Field(
        (1,),
        description="operations in flight in each task; above 1 (asynchronous) needs storage uring, or a target "
        "that is no directory",
    )
    layout: Sweep[Literal["file-per-task", "shared"]] = Field(
        ("file-per-task",), description="a file for each task, or one for all"
    )
    direct: Sweep[Direct] = Field(("auto",), description="past the page cache, through it, or past it where possible")
    sync: Sweep[Sync] = Field(("fsync",), description="when a round's data is made durable, before its snapshot")
    storage: Sweep[Literal["posix", "uring"]] = Field(("posix",), description="how bytes are touched")
    think_ns: Sweep[Delay] = time_field("think", (0,), "pause before each round, outside its time: the computing")
    snapshot_command: tuple[Word, ...] = Field((), description="snapshot command: program and arguments that take one")
    remove_command: tuple[Word, ...] = Field((), description="snapshot command: program and arguments that remove one")
    snapshot_directory: Word | None = Field(
        None, description="snapshot command: where the files of a round are found again; else only the newest is read"
    )
    snapshot_timeout_ns: Time = time_field(
        "snapshot_timeout", _PROGRAM_NS, "snapshot command: a program that takes longer is ended, and the trial failed"
    )
    retry_for_ns: Time | None = time_field(
        "retry_for", None, "try a read or write again for so long if it fails for a reason that may pass"
    )
    restart: Restart = Field("newest", description="which round is read back, by its number from 0; no: none is")
    cache: Cache = Field("drop", description="the page cache before a restart")
    verify: Flag = Field(False, description="a restart checks every byte against the round it reads")
    payload: Payload = Field("unique", description="what is written; constant flatters compression")

    @model_validator(mode="after")
    def _sizes(self) -> Checkpoint:
        if self.block_size and self.transfers:
            refuse("transfers", "block_size and transfers both say how much a round writes", "keep one of them")
        blocks = self.block_size or (() if self.transfers else (_BLOCK,))
        check_transfer_sizes("block_size", blocks, self.transfer_size, instead=", or transfers")
        return self

    @model_validator(mode="after")
    def _combinations(self) -> Checkpoint:
        taken = [means for means in self.snapshot if means != "none"]
        commands = self.snapshot_command or self.remove_command or self.snapshot_directory
        if "command" in taken and not self.snapshot_command:
            refuse("snapshot_command", "snapshot command needs one", 'add snapshot_command = ["program", "{round}"]')
        if commands and "command" not in taken:
            refuse("snapshot_command", "these commands are for snapshot command", 'set snapshot = "command"')
        if taken and "shared" in self.layout and "each" in self.coordination:
            what = "with coordination each a task takes a snapshot of its own file, and a shared one is nobody's own"
            refuse("layout", what, 'set coordination = "together"')
        if isinstance(self.restart, int):
            if self.restart >= self.rounds:
                what = f"restart {self.restart} is not one of {self.rounds} rounds, which are counted from 0"
                refuse("restart", what, f"use {self.rounds - 1}")
            if "none" in self.snapshot and self.restart < self.rounds - 1:
                what = f"without a snapshot round {self.restart} is gone once the next one is written"
                refuse("restart", what, 'set restart = "newest", or leave none out')
            if "command" in taken and not self.snapshot_directory and self.restart < self.rounds - 1:
                refuse("restart", "nobody said where an older round is", "give snapshot_directory")
        if self.verify and self.payload == "constant":
            what = "verify needs payload unique: constant data cannot tell one round from another"
            refuse("verify", what, 'set payload = "unique"')
        return self

    def on(self, target: Target) -> Checkpoint:
        """The same with the means that the target has for ``auto``; ``auto`` stays where it has none."""
        if "auto" not in self.snapshot:
            return self
        own = snapshot_means_of(target) or "auto"
        taken = tuple(dict.fromkeys(own if means == "auto" else means for means in self.snapshot))
        return self.model_copy(update={"snapshot": taken})

    @property
    def needs_queue(self) -> bool:
        return max(self.queue_depth) > 1 and "posix" in self.storage

    def knobs(self, factors: Factors, scale: float) -> Factors:
        transfer_size, transfers = factors["transfer_size"], factors.pop("transfers")
        block_size = transfer_size * transfers if transfers else factors["block_size"] or _BLOCK
        found = super().knobs(factors, scale) | {"block_size": scaled(block_size, scale, transfer_size)}
        if factors["snapshot"] == "command":
            return found
        return found | {
            "snapshot_command": (),
            "remove_command": (),
            "snapshot_directory": None,
            "snapshot_timeout_ns": None,
        }


_OF_SCHEMES = {"rados": "rados", "sim": "model"}


def snapshot_means_of(target: Target) -> str | None:
    """The means, as a campaign file has it; None where the target has none. Of directories all must have the same."""
    if target.scheme != "path":
        return _OF_SCHEMES.get(target.scheme)
    found = {snapshots_of(kind) for kind in _file_systems(target)}
    return found.pop() if len(found) == 1 else None


def why_no_snapshots(target: Target) -> str:
    """Returns the reason, for a message."""
    kinds = sorted(set(_file_systems(target)))
    if not kinds:
        return f"{target.uri} has no snapshots"
    if len(kinds) > 1:
        return f"the directories of {target.uri} are on {', '.join(kinds)}, which have no snapshots in common"
    return f"{target.name} is on {kinds[0]}, which has no snapshots that Tonnage knows"


def _file_systems(target: Target) -> list[str]:
    mounts = (mount_of(path) for path in dict.fromkeys(target.paths))
    return ["an unknown file system" if mount is None else type_of(mount) for mount in mounts]
