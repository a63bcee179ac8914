"""``tail``: a task writes a file, others follow it while it grows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from tonnage import units
from tonnage.campaign.kinds.kind import Factors, Setting, Transfers, WorkloadSection, check_transfer_sizes, scaled
from tonnage.errors import RequestError
from tonnage.field_types import RATE_SCHEMA, Flag, Size, Sweep, Time
from tonnage.records.phase_specs import Delays
from tonnage.toml_documents import time_field, unit_field
from tonnage.units import format_size, format_time

PHASE = "tail"

Follow = Literal["whole", "share"]
Wait = Literal["poll", "notify"]
Readers = Annotated[int, Field(ge=0, le=2**16, strict=True)]


def _rate(value: Any) -> Any:
    if value == "unlimited":
        return 0
    try:
        return units.parse_rate(value) if isinstance(value, str) else value
    except RequestError as error:
        raise ValueError(f'{error}, or "unlimited"') from None


_RATE = {"anyOf": [*RATE_SCHEMA["anyOf"], {"const": "unlimited"}]}
WriterRate = Annotated[int, BeforeValidator(_rate), Field(ge=0, le=2**63 - 1, strict=True), WithJsonSchema(_RATE)]
"""Bytes per second; 0 is ``"unlimited"``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TailSetting(Setting):
    """Every factor of a tail. ``tasks`` is the writer and its readers. Sizes in bytes."""

    IS_ONE_PROCESS = True

    kind: str = "tail"
    readers: int
    transfer_size: int
    file_size: int
    rate_bytes_per_s: int | None
    follow: str
    wait: str
    poll_ns: int
    sync: str
    verify: bool
    grace_ns: int

    @property
    def phases(self) -> tuple[str, ...]:
        return (PHASE,)

    @property
    def buffer_bytes(self) -> int:
        return self.transfer_size

    @property
    def space_bytes(self) -> int:
        return self.file_size

    @property
    def write_bytes(self) -> int:
        return self.file_size

    @property
    def read_bytes(self) -> int:
        return self.file_size * (self.readers if self.follow == "whole" else min(self.readers, 1))

    def least_ns(self, delays: Delays) -> int:  # noqa: ARG002  (as every kind's)
        if self.rate_bytes_per_s is None:
            return 0
        spent = (self.file_size - self.transfer_size) * 10**9 // self.rate_bytes_per_s
        return spent if self.time_limit_ns is None else min(spent, self.time_limit_ns)

    def describe(self) -> str:
        rate = "unlimited" if self.rate_bytes_per_s is None else f"{format_size(self.rate_bytes_per_s)}/s"
        wait = f"poll {format_time(self.poll_ns)}" if self.wait == "poll" else self.wait
        return (
            f"transfer {format_size(self.transfer_size)}  file {format_size(self.file_size)}  {rate}"
            + (f"  {self.follow}  {wait}" if self.readers else "  no readers")
            + f"  direct {self.direct}  {self.storage}"
        )

    @property
    def transfers(self) -> Transfers:
        return Transfers(self.transfer_size, "unique")


class Tail(WorkloadSection):
    """A writer and its readers."""

    SETTING = TailSetting

    kind: Literal["tail"] = Field(description="a task writes a file, others follow it while it grows")
    readers: Sweep[Readers] = Field(
        (0, 1, 8), description="tasks that follow the file; there is one writer beside them"
    )
    transfer_size: Sweep[Size] = Field((1 << 20,), description="bytes of one operation, of writer and readers")
    file_size: Sweep[Size] = Field((256 << 20,), description="bytes that the writer writes; whole transfers")
    rate_bytes_per_s: Sweep[WriterRate] = unit_field(
        "rate", "bytes_per_s", (0,), "of the writer: bytes a second, or as fast as it can (unlimited)"
    )
    follow: Sweep[Follow] = Field(("whole",), description="each reader reads all of the file, or its own share")
    wait: Sweep[Wait] = Field(("poll",), description="at the end of the file: look again, or be woken by inotify")
    poll_ns: Sweep[Time] = time_field("poll", (100_000_000,), "pause before a polling reader looks again")
    sync: Sweep[Literal["none", "fsync", "fsync-each"]] = Field(
        ("none",), description="when the writer makes its data durable, inside the clock"
    )
    storage: Sweep[Literal["posix", "uring"]] = Field(("posix",), description="how bytes are touched")
    direct: Sweep[Literal["auto", "yes", "no"]] = Field(("auto",), description="past the page cache or through it")
    verify: Flag = Field(False, description="readers check every byte")
    time_limit_ns: Time | None = time_field("time_limit", None, "the writer starts no operation later than this")
    grace_ns: Time = time_field("grace", 60 * 10**9, "how long readers may go on after the writer's end")

    @model_validator(mode="after")
    def _combinations(self) -> Tail:
        check_transfer_sizes("file_size", self.file_size, self.transfer_size)
        return self

    def knobs(self, factors: Factors, scale: float) -> Factors:
        if not factors["readers"]:
            # Without readers: the writer alone is one setting, for all values of the readers' factors.
            factors |= {"follow": self.follow[0], "wait": self.wait[0], "poll_ns": self.poll_ns[0]}
        return super().knobs(factors, scale) | {
            "tasks": 1 + factors["readers"],
            "file_size": scaled(factors["file_size"], scale, factors["transfer_size"]),
            "rate_bytes_per_s": factors["rate_bytes_per_s"] or None,
        }
