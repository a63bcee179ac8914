"""How other processes reach the spooler: is there one, start one, wake it."""

from __future__ import annotations

import errno
import fcntl
import os
import struct
import sys
from pathlib import Path

import tonnage
from tonnage.cluster.scheduler import SchedulerError
from tonnage.cluster.schedulers.local.spool import Spool
from tonnage.machine.site_tools import ToolError, ask

IDLE_S = 30.0
"""How long a spooler with nothing to do stays."""
_SLOTS_BYTES = 20
"""Of the number in the spooler's file."""
_FLOCK = "hhqqi0q"
"""C's ``struct flock``: type, whence, start, length, process."""


def spooler(spool: Spool) -> int | None:
    """The process that runs this spool's jobs; None where none does.

    Its lock is a record lock, as only those can be looked at without being taken, end with their process, and are not
    inherited by the processes that it starts.
    """
    try:
        file = os.open(lock_path(spool), os.O_RDWR)
    except FileNotFoundError:
        return None
    try:
        asked = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        kind, _, _, _, pid = struct.unpack(_FLOCK, fcntl.fcntl(file, fcntl.F_GETLK, asked))
        return None if kind == fcntl.F_UNLCK else int(pid)
    finally:
        os.close(file)


def lock_path(spool: Spool) -> Path:
    """The file that a spooler holds a lock of."""
    return spool.open_directory / "spooler"


def slots(spool: Spool) -> int:
    """How many slots there are: those that the running spooler counts, else the CPUs that this process may use."""
    if spooler(spool) is not None:
        with lock_path(spool).open("rb") as file:
            told = file.read(_SLOTS_BYTES).strip()
        # What is no number, a spooler that begins just now has not written yet.
        if told.isdigit():
            return int(told)
    return len(os.sched_getaffinity(0))


def ensure_spooler(spool: Spool, *, timeout_s: float, idle_s: float = IDLE_S) -> bool:
    """Starts a spooler where there is none; whether it did. SchedulerError where it does not start."""
    if spooler(spool) is not None:
        return False
    isolated = ["-I"] if sys.flags.isolated else []
    module = "tonnage.cluster.schedulers.local.spooler"
    # It runs in /, and a module in the user's directory must not take the place of one of Python's.
    environment = {**os.environ, "PYTHONPATH": str(Path(tonnage.__file__).parent.parent)}
    try:
        # A shell leaves it to itself, and its standard error ends once it serves.
        said = ask(
            ["sh", "-c", '"$@" &', "sh", sys.executable, *isolated, "-m", module, str(spool.directory), str(idle_s)],
            timeout_s=timeout_s,
            environment=environment,
            directory="/",
        )
    except ToolError as error:
        raise SchedulerError(f"the local scheduler does not start: {error}") from None
    if said.err:
        raise SchedulerError(f"the local scheduler does not start: {said.err.strip()[:500]}")
    return True


def wake(spool: Spool, *, timeout_s: float) -> None:
    """Tells the spooler that something is not as it was; starts one where there is none."""
    if ensure_spooler(spool, timeout_s=timeout_s):
        return
    try:
        fifo = os.open(spool.wake, os.O_WRONLY | os.O_NONBLOCK)
        try:
            os.write(fifo, b"\n")
        finally:
            os.close(fifo)
    except BlockingIOError:
        pass  # it has been told often enough
    except OSError as error:
        if error.errno not in (errno.ENXIO, errno.EPIPE):
            raise
        # It ended since; the next one reads the whole spool.
        ensure_spooler(spool, timeout_s=timeout_s)
