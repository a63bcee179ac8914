"""A job in the foreground: it waits in the spool for its turn like any other, then has this process's terminal."""

from __future__ import annotations

import os
import select

from tonnage.cluster.scheduler import JobRequest, SchedulerError
from tonnage.cluster.schedulers.local.copy_runner import Case, attend_here
from tonnage.cluster.schedulers.local.process import Process
from tonnage.cluster.schedulers.local.records import WHOLE
from tonnage.cluster.schedulers.local.spool import Spool
from tonnage.cluster.schedulers.local.spooler_contact import ensure_spooler, wake
from tonnage.machine.tool import ToolError

_LOOK_S = 1.0
"""How often it looks whether there is a spooler still."""


def run(spool: Spool, request: JobRequest, *, timeout_s: float) -> int:
    """What it exited with, 128 + n for signal n."""
    number, is_new = spool.add(request, waiter=Process.this(), timeout_s=timeout_s)
    if not is_new:
        raise SchedulerError(f"job {number} has the key {request.key} already; nothing was started")
    try:
        wake(spool, number, timeout_s=timeout_s)
        _await_turn(spool, number, timeout_s)
    except BaseException:
        spool.cancel(number)
        wake(spool, number, timeout_s=timeout_s)
        raise
    entry = spool.entry(number)
    assert entry is not None
    try:
        status = attend_here(Case(spool, number, WHOLE, entry))
    except ToolError as error:
        raise SchedulerError(str(error)) from None
    finally:
        wake(spool, number, WHOLE, timeout_s=timeout_s)
    if status is None:
        raise SchedulerError(f"job {number} was cancelled before it began")
    return status


def _await_turn(spool: Spool, number: int, timeout_s: float) -> None:
    go = os.open(spool.go(number), os.O_RDWR | os.O_NONBLOCK)
    try:
        while not spool.granted(number):
            if spool.cancelled_at_ns(number) is not None:
                raise SchedulerError(f"job {number} was cancelled before it began")
            select.select([go], [], [], _LOOK_S)
            ensure_spooler(spool, timeout_s=timeout_s)
    finally:
        os.close(go)
