"""How other processes reach the spooler: is there one, start one, wake it."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

import tonnage
from tonnage.cluster.scheduler import SchedulerError
from tonnage.cluster.schedulers.local.spool import Spool, spooler
from tonnage.machine.site_tools import ToolError, ask

IDLE_S = 30.0
"""How long a spooler with nothing to do stays."""


def slots(spool: Spool) -> int:
    """How many slots there are: the CPUs that the running spooler may use, else those of this process."""
    with suppress(ProcessLookupError):
        return len(os.sched_getaffinity(spooler(spool) or 0))
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
    if not ensure_spooler(spool, timeout_s=timeout_s) and (pid := spooler(spool)):
        # What it gets when a child ends too, and what harms no other process. One that has ended meanwhile was killed,
        # for by itself it ends only when there is nothing to do.
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGCHLD)
