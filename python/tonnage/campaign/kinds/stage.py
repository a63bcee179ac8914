"""``stage``: an application writes to a fast tier, and its files are brought to a slow one, by the mover or by hand."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field, model_validator

from tonnage.campaign.kinds.kind import Setting, WorkloadSection, scaled
from tonnage.campaign.kinds.stream import Direct, Stream, StreamSetting, Sync, phase_spec
from tonnage.errors import RequestError
from tonnage.fields import Count, Device, Size, Sweep, Tasks
from tonnage.section import refuse, unit_field
from tonnage.units import format_size

if TYPE_CHECKING:
    from tonnage.campaign.run import Loop
    from tonnage.campaign.schedule import Trial
    from tonnage.campaign.target import Target

WRITE = "write"
PHASE = "stage"

By = Literal["mover", "copy"]
Check = Literal["none", "written", "read-back"]


class Stage(WorkloadSection):
    """A fast tier, and a way from there to the slow one."""

    FACTORS: ClassVar[tuple[str, ...]] = ("by", "tasks", "transfer_size", "block_size", "direct", "sync")

    kind: Literal["stage"] = Field(description="tasks write to a fast tier, and their files go to a slow one")
    by: Sweep[By] = Field(
        ("mover", "copy"), description="the mover of `tonnage stage run`, or `cp -r` and `sync -f` once all is written"
    )
    tasks: Sweep[Tasks] = Field((1, 2, 4, 8), description="tasks that write at once, a file each")
    transfer_size: Sweep[Size] = Field((1 << 20,), description="bytes of one operation")
    block_size: Sweep[Size] = Field((64 << 20,), description="bytes a task writes; whole transfers")
    direct: Sweep[Direct] = Field(("auto",), description="the writes: past the page cache or through it")
    sync: Sweep[Sync] = Field(("fsync",), description="when the writes are durable on the fast tier, inside the clock")
    from_device: Device = unit_field("from", "device", 0, "the target's directory on the fast tier, from 0")
    to_device: Device = unit_field("to", "device", 1, "the target's directory on the slow tier")
    check: Check = Field("written", description="how the mover checks a copy; by hand nothing is checked")
    workers: Count | None = Field(None, description="threads of the mover; it finds its own number")

    @model_validator(mode="after")
    def _combinations(self) -> Stage:
        if self.from_device == self.to_device:
            refuse("to", f"from and to are both directory {self.to_device}", "give two directories of the target")
        for size in self.block_size:
            for transfer in self.transfer_size:
                if size % transfer:
                    what = f"block_size {format_size(size)} is not a multiple of transfer_size {format_size(transfer)}"
                    refuse("block_size", what, f"use {format_size(max(size // transfer, 1) * transfer)}")
        return self

    def setting(self, factors: dict[str, Any], scale: float) -> StageSetting:
        factors["block_size"] = scaled(factors["block_size"], scale, factors["transfer_size"])
        moved = factors["by"] == "mover"
        return StageSetting(
            workload=self.name,
            **factors,
            device=self.from_device,
            to_device=self.to_device,
            check_copies=self.check if moved else None,
            workers=self.workers if moved else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class StageSetting(Setting):
    """Every factor of a stage. Sizes in bytes. ``device`` is the fast tier, ``to_device`` the slow one."""

    kind: str = "stage"
    by: str
    transfer_size: int
    block_size: int
    sync: str
    to_device: int
    check_copies: str | None
    """None where nobody checks."""
    workers: int | None

    @property
    def phases(self) -> tuple[str, ...]:
        return (WRITE, PHASE)

    @property
    def buffer_bytes(self) -> int:
        return self.transfer_size

    @property
    def space_bytes(self) -> int:
        return self.tasks * self.block_size

    def space_in(self, target: Target) -> list[int]:
        used = (self.device, self.to_device)
        return [self.space_bytes if number in used else 0 for number in range(len(target.paths))]

    @property
    def devices_needed(self) -> int:
        return max(self.device or 0, self.to_device) + 1

    @property
    def write_bytes(self) -> int:
        return 2 * self.space_bytes

    @property
    def read_bytes(self) -> int:
        return self.space_bytes * (2 if self.check_copies == "read-back" else 1)

    def describe(self) -> str:
        return (
            f"by {self.by}  transfer {format_size(self.transfer_size)}  block {format_size(self.block_size)}"
            f"  device {self.device} to {self.to_device}  direct {self.direct}"
        )

    def check(self, target: Target) -> None:
        if target.scheme != "path":
            raise RequestError(
                f"workload.kind: stage moves real files, and {target.uri} holds none; hint: give two directories"
            )
        if target.names:
            raise RequestError("workload.kind: stage makes its own files; hint: leave file_names out")

    @property
    def writing(self) -> StreamSetting:
        """What the application does, as a stream."""
        section = Stream(
            tasks=(self.tasks,),
            transfer_size=(self.transfer_size,),
            block_size=(self.block_size,),
            direct=(self.direct,),
            sync=(self.sync,),
            device=self.device,
        )
        return section.first()

    def try_out(self, target: Target) -> dict[str, Any]:
        return self.writing.try_out(target)

    def measure(self, loop: Loop, number: int, trial: Trial) -> str:
        """On fresh files, which go from both tiers when the trial is over."""
        from tonnage.campaign.execute.stage import WAYS

        # Opened, so that what arrives on the slow tier is cleared as well.
        for one in (self, replace(self, device=self.to_device)):
            loop.room.ensemble(one)
        loop.room.clear()
        try:
            way = WAYS[self.by](self, loop.room.directory(self.device or 0), loop.room.directory(self.to_device))
            with way:
                spec = phase_spec(self.writing, f"{number:04d}-{WRITE}", loop.seed)
                status = loop.phase(number, trial, self, WRITE, spec)
                if status == "ok":
                    written = loop.lines[-1]
                    return loop.outside(number, trial, PHASE, lambda: way.bring(written, loop.interrupts))
        except (OSError, ValueError, RuntimeError) as error:
            return loop.without(number, trial, PHASE, getattr(error, "strerror", None) or str(error))
        finally:
            loop.room.clear()
        if status == "failed":
            return loop.without(number, trial, PHASE, "the files that it moves could not be written")
        return status
