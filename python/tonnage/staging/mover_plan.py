"""The plan of a mover: its options with every default, stored beside the journal for ``resume``."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tonnage.errors import MeasurementError, RequestError

STATE_DIRECTORY = ".tonnage-stage"
"""The same as in ``crates/mover/src/lib.rs``."""

FILE = "plan.json"
GRACE_NS = 20 * 10**9
"""Time after SIGTERM where no deadline was given: less than the 30 s that batch systems leave before they kill."""


class Marks(BaseModel):
    """Shares of the source's file system, in thousandths."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    high_permille: int = Field(900, ge=1, le=1000)
    low_permille: int = Field(750, ge=0, le=999)


class StagePlan(BaseModel):
    """One mover: what ``crates/mover/src/options.rs`` asks for, and what concerns only this side.

    Sizes are bytes, times nanoseconds. ``None`` for a limit is no limit, 0 is a pause.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    # `from` is a word of Python's own.
    source: Path = Field(alias="from")
    to: Path
    state: Path
    name: str
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    first: tuple[str, ...] = ()
    markers: tuple[str, ...] = ()
    order: Literal["oldest", "newest", "smallest", "largest"] = "oldest"
    check: Literal["none", "written", "read-back"] = "written"
    overwrite: Literal["never", "older", "always"] = "never"
    clear: Literal["never", "done", "high-water"] = "never"
    marks: Marks | None = Marks()
    workers: int | None = None
    limit_bytes_per_s: int | None = None
    limit_files_per_s: int | None = None
    gentle: Literal["off", "auto"] = "auto"
    settle_ns: int = 100 * 10**6
    """Longer than a file system's clock ticks, so that a later write is sure to show."""
    rescan_ns: int = 60 * 10**9
    open_grace_ns: int = 30 * 10**9
    attempts: int = 8
    log: Path | None = None
    drop_attributes: bool = False
    trees_changed: bool = False
    """For one start: each ``resume`` has its own."""

    # Of this side only.
    direction: Literal["out", "in"] = "out"
    deadline_ns: int | None = None
    """From the request to end. None: ``GRACE_NS`` after a signal, no bound after the application's own end."""
    metrics_port: int | None = None
    numbered: bool = False
    """The name is a default: where another mover has it, a number is appended."""

    def options(self) -> str:
        """Returns the options for ``tonnage._native.Mover``."""
        return json.dumps(self.model_dump(mode="json", by_alias=True, exclude=set(_OURS)))

    @property
    def grace_ns(self) -> int:
        """How long it may go on when it is asked to end."""
        return GRACE_NS if self.deadline_ns is None else self.deadline_ns

    def save(self) -> None:
        """Writes the plan into the state directory, whole or not at all. MeasurementError where it cannot."""
        # The directory is locked: nobody else writes it.
        fresh = self.state / f".{FILE}.new"
        try:
            with fresh.open("w", encoding="utf-8") as out:
                out.write(self.model_dump_json(by_alias=True, indent=2))
                out.flush()
                os.fsync(out.fileno())
            fresh.replace(self.state / FILE)
        except OSError as error:
            with suppress(OSError):
                fresh.unlink()
            hint = "see that there is space and that you may write there, or give --state another directory"
            raise MeasurementError(f"cannot write {self.state / FILE}: {error.strerror}; hint: {hint}") from None

    @classmethod
    def load(cls, state: Path) -> StagePlan | None:
        """Reads the saved plan; None where none can be read: the journal is what matters."""
        try:
            return cls.model_validate_json((state / FILE).read_text(encoding="utf-8"))
        except (OSError, ValidationError, UnicodeDecodeError):
            return None


_OURS = ("direction", "deadline_ns", "metrics_port", "numbered")


def make_plan(source: Path, to: Path, *, state: Path | None, name: str, **policies: Any) -> StagePlan:
    """The plan for two trees; ``None`` among the policies means the default. RequestError where they contradict."""
    given = {key: value for key, value in policies.items() if value is not None}
    if given.get("clear", "never") != "never":
        # What is deleted has its copy on the device, or its user has said that less will do.
        given.setdefault("check", "read-back")
    local = to if given.get("direction") == "in" else source
    globs = (glob for key in ("include", "exclude", "first", "markers") for glob in given.get(key, ()))
    for word in (source, to, state, given.get("log"), *globs):
        if word is not None and not _is_text(str(word)):
            raise RequestError(
                f"{os.fsencode(word)!r} is not UTF-8; hint: names of files may be any, trees and globs must be text"
            )
    plan = StagePlan(source=source, to=to, state=state or local / STATE_DIRECTORY, name=name, **given)
    if plan.marks and plan.marks.low_permille >= plan.marks.high_permille:
        high, low = plan.marks.high_permille / 10, plan.marks.low_permille / 10
        raise RequestError(f"--low {low:g}% is not below --high {high:g}%; hint: write them like --high 90% --low 75%")
    return plan


def _is_text(word: str) -> bool:
    try:
        word.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
