"""Where simulated runs are kept while they are looked at: each of their records is synced."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

ROOM_BYTES = 1 << 30
"""Less is left to others."""


def in_memory() -> Path | None:
    """A directory in memory; None where there is none with room."""
    memory = Path("/dev/shm")
    usable = os.access(memory, os.W_OK) and shutil.disk_usage(memory).free >= ROOM_BYTES
    return memory if usable else None
