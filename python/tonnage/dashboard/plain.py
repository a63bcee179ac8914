"""What a run directory may hold: a page that looks at other people's must not wait for their pipes."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from tonnage.errors import RecordError
from tonnage.records.names import COPIES, EVENTS, MANIFEST, TASKS, TRIALS, WORKFLOW

_LINES = (TRIALS, TASKS, EVENTS, COPIES, WORKFLOW)
_LARGEST_MANIFEST = 32 << 20

Signature = tuple[int, int, int]
"""Changes when a file does: its number, its size in bytes, its time."""


def signature(file: Path) -> Signature | None:
    """None where there is none."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def check_plain(run: Path) -> None:
    """RecordError where a file of the run is something else than a file, or its manifest is too large to be one."""
    for name in (MANIFEST, *_LINES):
        try:
            found = os.stat(run / name)  # noqa: PTH116 - a mode is wanted, and None is not an answer
        except OSError:
            continue
        if not stat.S_ISREG(found.st_mode):
            raise RecordError(f"{run / name} is not a file")
        if name == MANIFEST and found.st_size > _LARGEST_MANIFEST:
            raise RecordError(f"{run / name} has {found.st_size} bytes: too large for a manifest")
