"""In which units a file system gives space to files: asked of a file with one byte, which leaves nothing."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tonnage import _native

_SECTOR = 512
"""What ``st_blocks`` counts."""
_LEAST = 4096


def allocation_unit(directory: Path) -> int:
    """Bytes that the smallest file takes there: clusters, extents and space reserved ahead are often larger than the
    block that the file system tells of. That block where no file can be made."""
    unit = max(_LEAST, os.statvfs(directory).f_frsize)
    with suppress(OSError, ValueError), _file(directory) as descriptor:
        os.write(descriptor, b"\0")
        before = os.fstat(descriptor).st_blocks
        # Some allocate only when the data leave the page cache.
        os.fsync(descriptor)
        unit = max(unit, *(blocks * _SECTOR for blocks in (before, os.fstat(descriptor).st_blocks)))
    return unit


@contextmanager
def _file(directory: Path) -> Iterator[int]:
    """One without a name; where the file system has none, in a marked directory that a kill leaves to ``clean``."""
    flags = os.O_RDWR | os.O_CLOEXEC
    try:
        descriptor = os.open(directory, flags | os.O_TMPFILE, 0o600)
    except OSError:
        scratch = _native.Scratch.create(str(directory), secrets.token_hex(4))
        try:
            name = Path(scratch.path) / "data.00000000"
            descriptor = os.open(name, flags | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
            try:
                yield descriptor
            finally:
                os.close(descriptor)
                name.unlink()
        finally:
            scratch.remove()
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)
