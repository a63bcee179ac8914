"""``find``: tasks that search the files below the target together, by name, size and age."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from tonnage.campaign.kinds.kind import Setting, WorkloadSection
from tonnage.field_types import Length, Sweep, Tasks, Time
from tonnage.toml_documents import time_field

PHASE = "find"
Pattern = Annotated[str, Field(min_length=1, max_length=255, pattern=r"^[^/\x00]+$")]
FilePath = Annotated[str, Field(min_length=1, max_length=4096)]


@dataclass(frozen=True, slots=True, kw_only=True)
class FindSetting(Setting):
    """Every factor of a search. Sizes in bytes."""

    kind: str = "find"
    storage: str = "null"
    pattern: str | None
    size: int | None
    newer: str | None
    files: int

    @property
    def phases(self) -> tuple[str, ...]:
        return (PHASE,)

    @property
    def needs_scratch(self) -> bool:
        return False

    def describe(self) -> str:
        asked = [f"{key} {value}" for key in ("pattern", "size", "newer") if (value := getattr(self, key)) is not None]
        return "  ".join(asked) or "every file"


class Find(WorkloadSection):
    """Searches."""

    SETTING = FindSetting

    kind: Literal["find"] = Field(description="tasks that look at every file below the target, which they leave alone")
    tasks: Sweep[Tasks] = Field((1, 2, 4, 8), description="tasks that search at once")
    pattern: Pattern | None = Field(None, description="pattern of the names that match: * is any text, ? one byte; all")
    size: Length | None = Field(None, description="bytes that a file has that matches; any")
    newer: FilePath | None = Field(None, description="a file: what matches was made or changed when it was, or later")
    files: Length = Field(10_000, description="files that are there on a model (sim:); a file system is looked at")
    time_limit_ns: Time | None = time_field("time_limit", None, "no file is looked at later than this")
