"""Files of lines that several processes of this user append to, on every host that shares the directory."""

from __future__ import annotations

import fcntl
import os
import struct
import time
from pathlib import Path

from tonnage.program_places import open_private
from tonnage.records.own_files import sync_directory, write_all

_POLL_S = 0.002


def lock(descriptor: int, start: int) -> bool:
    """Takes one byte for this open file (not for the process: threads keep each other away as well)."""
    wanted = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, start, 1, 0)
    try:
        fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, wanted)
    except (BlockingIOError, PermissionError):
        return False
    return True


def lock_within(descriptor: int, start: int, timeout_s: float) -> bool:
    """The same, tried until the time is over."""
    end = time.monotonic() + timeout_s
    while not lock(descriptor, start):
        if time.monotonic() > end:
            return False
        time.sleep(_POLL_S)
    return True


def append(file: Path, lines: bytes, *, durable: bool) -> int:
    """Adds whole lines, and gives the size before; the caller holds the lock. OSError where it cannot.

    ``durable``: on disk when it returns.
    """
    descriptor = open_private(file, os.O_RDWR | os.O_APPEND)
    try:
        size = os.fstat(descriptor).st_size
        if size and os.pread(descriptor, 1, size - 1) != b"\n":
            # A writer ended in the middle of its line: that line is lost, this one is kept.
            lines = b"\n" + lines
        if os.write(descriptor, lines) != len(lines):
            raise OSError(28, "No space left on device")
        if durable:
            os.fdatasync(descriptor)
            if size == 0:
                sync_directory(file.parent)
    finally:
        os.close(descriptor)
    return size


def rewrite(file: Path, lines: bytes) -> None:
    """Replaces the file, and syncs it to disk; a process that has the old file open reads it to its end."""
    fresh = file.with_name(f".{file.name}.new")
    descriptor = open_private(fresh, os.O_WRONLY | os.O_TRUNC)
    try:
        write_all(descriptor, lines)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    fresh.replace(file)
    sync_directory(file.parent)
