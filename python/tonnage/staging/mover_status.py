"""The status of a mover and the report on its copies, as types (``crates/mover/src/status.rs``,
``crates/mover/src/manifest``). ``tests/records/test_line_types.py`` holds them against the engine."""

from __future__ import annotations

from typing import Literal, TypedDict


class Totals(TypedDict):
    """A number of entries and the bytes in them."""

    files: int
    bytes: int


Standing = Literal["queued", "copying", "done", "cleared", "failed", "gone", "skipped"]
"""Keys of a status that count entries by where they stand."""


SET_NOT_WHOLE = "its set is not whole"
"""How the reason begins for which a marker waits for somebody to mend its set."""


class PathReason(TypedDict):
    """An entry that stands still or was given up, and why."""

    path: str
    reason: str


From = TypedDict("From", {"from": str})
"""The source, under a key that no attribute can have."""


class MoverStatus(From):
    """Everything at one moment. Rates and the time left are of the last seconds; None where nothing can be divided."""

    id: str
    name: str
    to: str
    progress: Literal["starting", "watching", "draining", "finished", "stopped"]
    queued: Totals
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
    waiting: list[PathReason]
    failures: list[PathReason]
    will_not_fit: Totals
    notes: list[str]


class Status(MoverStatus):
    """The same, with fields that only the mover's process or a reader of its journal knows."""

    running: bool
    pid: int | None
    state: str
    direction: str


Wrong = Literal["missing", "kind_differs", "size_differs", "checksum_differs", "unreadable"]
"""Keys of a report with the paths of files that are not what the manifests say."""


class CopiesReport(TypedDict):
    """The result of a check of the copies. Paths are as ``TreePath`` prints them, in the order of their bytes."""

    expected: int
    checked: int
    bytes: int
    without_checksum: int
    missing: list[str]
    kind_differs: list[str]
    size_differs: list[str]
    checksum_differs: list[str]
    unknown: list[str]
    unreadable: list[str]
    damaged: list[str]
    torn_lines: int
    halted: bool


class Reply(TypedDict, total=False):
    """What a mover answers on its socket: ``ok`` with what was asked for, or why not."""

    ok: dict[str, object]
    error: str
    busy: bool


LOOK_S = 0.1
"""Seconds between two samples: the time of a single file may count too long by so much."""


class Movement:
    """Looked at again and again, from the mover's start to its end; times of the monotonic clock."""

    def __init__(self, began_ns: int) -> None:
        self.moving_ns = 0
        self._seen_ns = began_ns
        self._copied_bytes = 0
        self._in_flight = False

    def update(self, status: MoverStatus, now_ns: int) -> None:
        """Counts the time since the last sample where bytes were copied in it, or a file was in hand: a server that
        keeps it waiting is slow, and a mover that was paused is not."""
        in_flight = status["copying"]["files"] > 0 and not is_paused(status)
        if status["copied_bytes"] > self._copied_bytes or (in_flight and self._in_flight):
            self.moving_ns += now_ns - self._seen_ns
        self._seen_ns, self._copied_bytes, self._in_flight = now_ns, status["copied_bytes"], in_flight


def is_paused(status: MoverStatus) -> bool:
    """Whether a user said that nothing is to move."""
    return status["limit_bytes_per_s"] == 0 or status["limit_files_per_s"] == 0
