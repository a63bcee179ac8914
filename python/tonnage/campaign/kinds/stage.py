"""``stage``: an application writes to a fast tier, and its files are brought to a slow one, by the mover or by hand."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from pydantic import Field, model_validator

from tonnage.campaign.kinds.kind import Factors, Setting, Transfers, WorkloadSection, check_transfer_sizes, scaled
from tonnage.campaign.kinds.stream import Direct, StreamSetting, Sync, plain_stream
from tonnage.campaign.target import Target
from tonnage.field_types import Count, Device, Size, Sweep, Tasks
from tonnage.toml_documents import refuse, unit_field
from tonnage.units import format_size

WRITE = "write"
PHASE = "stage"

By = Literal["mover", "copy"]
Check = Literal["none", "written", "read-back"]


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
    """None: copies are not checked."""
    workers: int | None

    @property
    def phases(self) -> tuple[str, ...]:
        return (WRITE, PHASE)

    @property
    def buffer_bytes(self) -> int:
        return self.transfer_size

    @property
    def data_bytes(self) -> int:
        """What the application writes."""
        return self.tasks * self.block_size

    @property
    def space_bytes(self) -> int:
        return 2 * self.data_bytes

    def space_in(self, target: Target) -> list[int]:
        used = (self.device, self.to_device)
        return [self.data_bytes if number in used else 0 for number in range(len(target.paths))]

    @property
    def devices_needed(self) -> int:
        return max(self.device or 0, self.to_device) + 1

    @property
    def write_bytes(self) -> int:
        return 2 * self.data_bytes

    @property
    def read_bytes(self) -> int:
        return self.data_bytes * (2 if self.check_copies == "read-back" else 1)

    def describe(self) -> str:
        return (
            f"by {self.by}  transfer {format_size(self.transfer_size)}  block {format_size(self.block_size)}"
            f"  device {self.device} to {self.to_device}  direct {self.direct}"
        )

    @property
    def writing(self) -> StreamSetting:
        """What the application does, as a stream."""
        return replace(
            plain_stream(),
            tasks=self.tasks,
            transfer_size=self.transfer_size,
            block_size=self.block_size,
            direct=self.direct,
            sync=self.sync,
            device=self.device,
        )

    @property
    def transfers(self) -> Transfers:
        return Transfers(self.transfer_size, "unique")


class Stage(WorkloadSection):
    """A fast tier, and a way from there to the slow one."""

    SETTING = StageSetting

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
        check_transfer_sizes("block_size", self.block_size, self.transfer_size)
        return self

    def knobs(self, factors: Factors, scale: float) -> Factors:
        moved = factors["by"] == "mover"
        return super().knobs(factors, scale) | {
            "block_size": scaled(factors["block_size"], scale, factors["transfer_size"]),
            "device": self.from_device,
            "check_copies": self.check if moved else None,
            "workers": self.workers if moved else None,
        }
