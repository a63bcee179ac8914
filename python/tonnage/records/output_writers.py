"""Checks that no process still writes to the outputs of the copies of a command."""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import signal
from pathlib import Path

from tonnage.records.file_names import OUTPUT
from tonnage.records.hash_chain import open_regular

_BLOCK_BYTES = 1 << 20


def settle_output(run: Path, record: str) -> None:
    """What the copies of a command said gets files that no process has open: what a child says that outlives its copy
    goes to the old ones, which are gone. OSError where that fails."""
    # Most records have none, and a path costs more than the look.
    if not os.path.isdir(f"{run}/{OUTPUT}/{record}"):  # noqa: PTH112
        return
    for path in sorted((run / OUTPUT / record).iterdir()):
        if path.is_file() and not path.is_symlink():
            _settle(path)


def _settle(path: Path) -> None:
    source = open_regular(path, os.O_NOFOLLOW)
    try:
        if not _may_be_written(source):
            return
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
        target = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
        try:
            # Up to its size now: who goes on writing would have this go on as well.
            left = os.fstat(source).st_size
            while left and (block := os.read(source, min(left, _BLOCK_BYTES))):
                left -= len(block)
                while block:
                    block = block[os.write(target, block) :]
            os.fsync(target)
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        finally:
            os.close(target)
    finally:
        os.close(source)


def _may_be_written(handle: int) -> bool:
    """Whether a process may have the file open to write to it. The kernel gives a lease to read only where none has."""
    try:
        # A process that opens the file now breaks the lease; the kernel sends this signal, which is ignored.
        fcntl.fcntl(handle, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except OSError as error:
        if error.errno == errno.EBADF:
            raise
        return True
    fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    return False
