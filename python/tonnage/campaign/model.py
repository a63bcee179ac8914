"""The campaign: what a file says, what ``probe`` builds, with every default filled in. The only place of defaults.

Fields hold integers (bytes, nanoseconds); files hold text with units. ``docs/campaign.md`` is the page for users.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from tonnage.campaign.fields import Count, Share, Size, Sweep, Time
from tonnage.campaign.units import format_size

Op = Literal["write", "read"]
Access = Literal["sequential", "strided", "random"]
Layout = Literal["file-per-task", "shared"]
Direct = Literal["auto", "yes", "no"]
StorageKind = Literal["posix", "uring", "mmap", "null", "memory"]
Sync = Literal["none", "fsync", "fsync-each"]
Cache = Literal["keep", "drop"]
Payload = Literal["unique", "constant"]

CELL_BYTES = 4096
"""Payload cells: a transfer of whole cells can be laid out in transfers of another size."""


class Section(BaseModel):
    """A table of the file: unknown keys are errors, values do not change once read."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, hide_input_in_errors=True)


def _time_field(key: str, default: Any, description: str) -> Any:
    return Field(default, validation_alias=AliasChoices(key, f"{key}_ns"), description=description)


class Workload(Section):
    """What a trial does. Every list is a factor: each combination becomes a setting."""

    kind: Literal["stream"] = Field("stream", description="tasks that write or read transfers of one size")
    op: Sweep[Op] = Field(("write", "read"), description="what each operation does")
    tasks: Sweep[Count] = Field((1, 2, 4, 8), description="streams of I/O at once")
    transfer_size: Sweep[Size] = Field((1 << 20,), description="bytes of one operation")
    block_size: Sweep[Size] = Field((64 << 20,), description="bytes a task moves in a segment; whole transfers")
    segments: Sweep[Count] = Field((1,), description="blocks a task moves one after another")
    access: Sweep[Access] = Field(("sequential",), description="order in which a task visits its transfers")
    layout: Sweep[Layout] = Field(("file-per-task",), description="a file for each task, or one for all")
    direct: Sweep[Direct] = Field(
        ("auto",), description="past the page cache (O_DIRECT), through it, or past it where possible"
    )
    storage: Sweep[StorageKind] = Field(("posix",), description="how bytes are touched")
    queue_depth: Sweep[Count] = Field(
        (1,), description="operations in flight in each task; above 1 needs storage uring"
    )
    sync: Sweep[Sync] = Field(("fsync",), description="when a write phase makes its data durable, inside the clock")
    cache: Sweep[Cache] = Field(("drop",), description="the page cache before a read phase")
    payload: Payload = Field("unique", description="what is written; constant flatters compression")
    verify: bool = Field(False, description="check every byte that is read")
    time_limit_ns: Time | None = _time_field(
        "time_limit", None, "no operation starts later than this after the start line"
    )
    wrap: bool = Field(False, description="begin the block again when it is done; needs time_limit")

    @model_validator(mode="after")
    def _combinations(self) -> Workload:
        for transfer in self.transfer_size:
            if transfer > 1 << 30:
                _refuse(
                    "transfer_size",
                    f"transfer_size {format_size(transfer)} is above the 1GiB that one call can carry",
                    "use a smaller transfer_size",
                )
            for block in self.block_size:
                if block % transfer:
                    _refuse(
                        "block_size",
                        f"block_size {format_size(block)} is not a multiple of transfer_size {format_size(transfer)}",
                        f"use {format_size(max(block // transfer, 1) * transfer)}",
                    )
        if self.wrap and self.time_limit_ns is None:
            _refuse("wrap", "wrap needs time_limit, or the phase would never end", 'add time_limit = "10s"')
        if self.verify and self.payload == "constant":
            _refuse(
                "verify",
                "verify needs payload unique: constant data cannot tell one place from another",
                'set payload = "unique"',
            )
        if max(self.queue_depth) > 1 and set(self.storage) & {"posix", "mmap"}:
            _refuse(
                "queue_depth",
                "storage posix and mmap do one operation at a time",
                'set storage = "uring" or queue_depth = 1',
            )
        if "mmap" in self.storage and "yes" in self.direct:
            _refuse("direct", "storage mmap works through the page cache", 'set direct = "auto" or storage = "posix"')
        return self


class Repeat(Section):
    """How often each setting is measured: ``count`` times, or until the interval is narrow."""

    count: Count | None = Field(None, description="repetitions of each setting")
    interval: Share | None = Field(
        None, description="repeat until the 95 % interval of the median is this share of it wide"
    )
    at_least: Count = Field(5, description="repetitions before the interval is looked at")
    at_most: Count = Field(30, description="repetitions after which a setting is given up as noisy")

    @model_validator(mode="after")
    def _one_rule(self) -> Repeat:
        if self.count is not None and self.interval is not None:
            _refuse("interval", "count and interval are two rules for the same thing", "keep one of them")
        if self.at_least > self.at_most:
            _refuse("at_least", f"at_least {self.at_least} is above at_most {self.at_most}", "make at_most larger")
        return self

    @property
    def fixed(self) -> int | None:
        """The number of repetitions where it is fixed (5 unless said), None where the interval decides."""
        return None if self.interval is not None else self.count or 5


class Budget(Section):
    """What a run may use. None: no bound of its own."""

    time_ns: Time | None = _time_field("time", None, "no trial starts later than this on the run's clock")
    space_bytes: Size | None = Field(
        None, validation_alias=AliasChoices("space", "space_bytes"), description="bytes of files at once"
    )


class Search(Section):
    """An adaptive search for the load line instead of a fixed sweep over ``tasks``."""

    op: Sweep[Op] = Field(("write", "read"), description="operations whose load line is looked for, in this order")
    max_tasks: Count = Field(32, description="largest number of tasks tried")
    budget_ns: Time = _time_field("budget", 60 * 10**9, "time for the whole search, shared by the operations")
    p99_ns: Time | None = _time_field("p99", None, "objective: the p99 latency of an operation")


class Campaign(Section):
    """Everything a run needs to know before it starts."""

    name: Annotated[str, Field(min_length=1, max_length=64)] = Field(
        "campaign", description="part of the run directory's name"
    )
    target: Annotated[str, Field(min_length=1, max_length=4096)] = Field(
        description="a directory, or null:, memory:, sim:…"
    )
    seed: Annotated[int, Field(ge=0, le=2**63 - 1, strict=True)] | None = Field(
        None, description="of trial order and payloads; drawn and recorded if not given"
    )
    on_error: Literal["continue", "stop"] = Field("continue", description="what a failed trial does to the run")
    launcher: Literal["local"] = Field("local", description="where tasks run")
    workload: Workload = Workload()
    repeat: Repeat = Repeat()
    budget: Budget = Budget()
    search: Search | None = Field(None)

    @field_validator("name")
    @classmethod
    def _printable_name(cls, name: str) -> str:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
            raise ValueError(
                f"name {name!r} becomes part of a directory's name; hint: use letters, digits, '.', '_' and '-'"
            )
        return name

    @model_validator(mode="after")
    def _search_is_one_setting(self) -> Campaign:
        if self.search is not None:
            for key in ("transfer_size", "access", "layout", "direct", "storage", "queue_depth"):
                if len(getattr(self.workload, key)) > 1:
                    _refuse(
                        f"workload.{key}",
                        f"a search looks at one {key} at a time",
                        f"give one {key}, or leave [search] out",
                    )
        return self


def _refuse(key: str, what: str, hint: str) -> None:
    raise PydanticCustomError("request", "{what}; hint: {hint}", {"what": what, "hint": hint, "key": key})
