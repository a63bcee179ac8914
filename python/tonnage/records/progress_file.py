"""The progress file of a running run: one small file, replaced atomically; it is no record."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

PROGRESS = "progress.json"
_LARGEST = 1 << 20
"""Bytes of it that are read."""


def read_progress_file(run: Path) -> dict[str, Any] | None:
    """The keys of ``progress.json`` (``docs/record-format.md``), unchecked; None where there is none, or it is no JSON
    object."""
    try:
        # What lies there may be of another make: a pipe would wait for its writer for ever.
        handle = os.open(run / PROGRESS, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                return None
            found = json.loads(file.read(_LARGEST))
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
