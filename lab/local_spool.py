"""A local scheduler with a spool of its own, and its end."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tonnage.cluster.scheduler import Job, JobRequest
from tonnage.cluster.schedulers import scheduler
from tonnage.cluster.schedulers.local import Local, spooler_contact
from tonnage.cluster.schedulers.local.spool import Spool
from tonnage.machine.user_state import user_state
from tonnage.processes import Process
from waiting import wait_until

LIMIT_S = 60.0
"""Beyond this something is wrong; a busy machine is slow."""


def spool_of(local: Local) -> Spool:
    """Returns where it keeps its jobs."""
    return Spool(user_state("local", local.hosts()[0].name))


def request(*argv: str, key: str, directory: Path, **more: object) -> JobRequest:
    """Makes a job that runs in a directory."""
    return JobRequest(argv=argv, key=key, directory=str(directory), **more)  # type: ignore[arg-type]


def lines_of(local: Local, job: str) -> list[Job]:
    """Returns all lines about a job."""
    return [line for line in local.jobs(ended=True) if line.job == job]


def ended(local: Local, job: str) -> Job:
    """A job that is no array, once it has ended."""
    wait_until(lambda: job not in {line.job for line in local.jobs()}, f"the end of job {job}")
    (line,) = lines_of(local, job)
    return line


def kill_spooler(local: Local, number: int = signal.SIGKILL) -> None:
    """As the kernel does it when memory runs out, or with a signal that asks it to go."""
    pid = spooler_contact.spooler(spool_of(local))
    if pid is not None:
        with suppress(ProcessLookupError):
            os.kill(pid, number)
        wait_until(lambda: Process.of(pid) is None, "the spooler's end")


def processes_of(local: Local) -> int:
    """Counts the spooler of this spool and what it forked."""
    directory = os.fsencode(spool_of(local).directory)
    found = 0
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            found += directory in path.read_bytes()
    return found


@contextmanager
def own_local() -> Iterator[Local]:
    """A local scheduler; whoever calls has set XDG_STATE_HOME. Nothing it started outlives it."""
    local = scheduler("local", timeout_s=20)
    assert isinstance(local, Local)
    try:
        yield local
    finally:
        for number in spool_of(local).numbers():
            with suppress(Exception):
                local.cancel(str(number))
        wait_until(lambda: not local.jobs(), "the end of all jobs")
        # A copy that ends just now brings the spooler back.
        wait_until(lambda: kill_spooler(local) or not processes_of(local), "the end of all processes")
