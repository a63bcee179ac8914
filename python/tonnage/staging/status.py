"""What a mover says of itself: ``crates/mover/src/status.rs``, and what only its process knows."""

from __future__ import annotations

from typing import Literal, TypedDict


class Totals(TypedDict):
    """Entries and the bytes of the files among them."""

    files: int
    bytes: int


class Stuck(TypedDict):
    """An entry that stands still, or was given up, and why."""

    path: str
    reason: str


# "from" is no name of Python's.
_Trees = TypedDict("_Trees", {"from": str, "to": str})


class MoverStatus(_Trees):
    """At one moment."""

    id: str
    name: str
    progress: Literal["starting", "watching", "draining", "finished", "stopped"]
    queued: Totals
    """Found and not yet safe, in flight or not."""
    copying: Totals
    done: Totals
    cleared: Totals
    failed: Totals
    gone: Totals
    skipped: Totals
    dropped_attributes: int
    replaced_after_clearing: int
    copied_bytes: int
    rate_bytes_per_s: int | None
    rate_files_per_s: float | None
    left_ns: int | None
    workers: int
    limit_bytes_per_s: int | None
    limit_files_per_s: int | None
    gentle_bytes_per_s: int | None
    source_used_permille: int
    above_high_mark: bool
    watch: str
    scans: int
    waiting: list[Stuck]
    failures: list[Stuck]
    will_not_fit: Totals
    notes: list[str]
    running: bool
    pid: int | None
    state: str
    """Directory of its journal."""
    direction: Literal["out", "in"]
