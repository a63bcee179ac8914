"""A staged tree against the manifests in it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tonnage import _native
from tonnage.errors import RequestError
from tonnage.staging.mover_plan import STATE_DIRECTORY
from tonnage.staging.mover_status import CopiesReport, Wrong

_THREADS = 8
"""At most, unless told: a check years later is not to take a file system from its users."""

WRONG: dict[Wrong, str] = {
    "missing": "is missing",
    "kind_differs": "is something else",
    "size_differs": "has another size",
    "checksum_differs": "has other bytes",
    "unreadable": "",
}
"""Key of the report → what is wrong with the paths in it; what could not be read says why itself."""


@dataclass(frozen=True, slots=True)
class Verified:
    """What came of it. ``report`` is ``crates/mover/src/manifest/verify.rs`` ``Report`` as a dict."""

    report: CopiesReport

    @property
    def wrong(self) -> int:
        """Files that are not what the manifests say."""
        return sum(len(self.report[key]) for key in WRONG)

    @property
    def damaged(self) -> int:
        """Manifests, and lines of them, that cannot be read: what they were about is not checked."""
        return len(self.report["damaged"])


def lost(to: str, mover: str) -> list[str]:
    """Paths that this mover placed in ``to`` and that are not there any more as they were: removed, or replaced by
    something of another size. OSError where nobody can look."""
    return _native.stage_lost(to, mover)


def verify(to: Path, threads: int | None, on_progress: Callable[[int, int, int, int], bool]) -> Verified:
    """Reads every file that has a line. RequestError where there is no tree, or no manifest in it."""
    if not to.is_dir():
        raise RequestError(f"{to} is not a directory; hint: give the tree that was staged into")
    if not (to / STATE_DIRECTORY).is_dir():
        raise RequestError(f"{to} has no manifest; hint: give the tree that a mover staged into")
    count = threads or min(len(os.sched_getaffinity(0)), _THREADS)
    try:
        return Verified(_native.stage_verify(str(to), count, on_progress))
    except ValueError as error:
        raise RequestError(str(error)) from None
