"""Has a file system write what it still has to."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path


def sync_file_system(path: Path) -> None:
    """Returns once the file system of ``path`` has committed what was done to it: blocks of removed files are free
    then. OSError where it fails."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.syncfs(ctypes.c_int(handle)):
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), str(path))
    finally:
        os.close(handle)
