"""Runs one copy to its end: writes down that it starts, starts it, waits for it, writes down how it ended."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from tonnage.cluster.foreground import run_in_foreground
from tonnage.cluster.scheduler import JobRequest, SchedulerError
from tonnage.cluster.schedulers.local.rows import UNREADABLE, WHOLE, Ended, Entry
from tonnage.cluster.schedulers.local.spool import FILE, Spool
from tonnage.cluster.schedulers.local.spooler_contact import ensure_spooler, wake
from tonnage.cluster.schedulers.local.streams import UnfitError, open_streams
from tonnage.errors import TonnageError
from tonnage.machine.site_tools import ToolError, ToolMissing
from tonnage.processes import Process, adopt_orphans, descendants

GRACE_NS = 5 * 10**9
"""What a cancelled job has between SIGTERM and SIGKILL."""
ROOM_S = 0.5
"""How often it is tried whether a full disk has room again."""
LOOK_S = 0.1
"""How often it is looked what is left of a copy whose end was ordered, and whether it is a foreground job's turn."""
CANNOT_RUN, NOT_FOUND = 126, 127
"""What a shell exits with for a program that cannot be run, or is not there."""
Known = TypeVar("Known")


def attend(spool: Spool, number: int, copy: int, starter: Process) -> None:
    """In the background, in a process that blocks all signals and that ``starter`` forked for this copy."""
    me = Process.this()
    if not _patient(spool, lambda: spool.claim(number, copy, starter, me)):
        return
    entry = _patient(spool, lambda: spool.entry(number))
    if _ordered_ns(spool, number, copy, me) is not None:
        ended = Ended("cancelled", None, "cancelled before it began")
    elif entry is None:
        ended = Ended("failed", None, UNREADABLE)
    else:
        ended = _run(spool, entry, copy, me)
    _patient(spool, lambda: spool.end(number, copy, ended, me))


def attend_here(spool: Spool, request: JobRequest, *, timeout_s: float) -> int:
    """Waits for its turn like any other job, then has this process's terminal; what it exited with, 128 + n for signal
    n. SchedulerError where it cannot be started, with a shell's exit code, or was cancelled. ``timeout_s``: as ``wake``
    has it."""
    me = Process.this()
    number, is_new = spool.add(request, waiter=me)
    if not is_new:
        raise SchedulerError(f"job {number} has the key {request.key} already; nothing was started")
    ended = Ended("cancelled", None, "interrupted before it began")
    try:
        wake(spool, timeout_s=timeout_s)
        while not spool.claim(number, WHOLE, me, me):
            _refuse_cancelled(spool, number, me)
            time.sleep(LOOK_S)
            ensure_spooler(spool, timeout_s=timeout_s)
        _refuse_cancelled(spool, number, me)

        def note(pid: int) -> None:
            _note(spool, number, WHOLE, pid, me)

        status = run_in_foreground(request.argv, directory=request.directory, started=note)
        ended = _ending(status, cancelled=_ordered_ns(spool, number, WHOLE, me) is not None)
        return status
    except ToolError as error:
        code = NOT_FOUND if isinstance(error, ToolMissing) else CANNOT_RUN
        ended = Ended("failed", code, str(error))
        refused = SchedulerError(str(error))
        refused.exit_code = code
        raise refused from None
    finally:
        spool.end(number, WHOLE, ended, me)
        wake(spool, timeout_s=timeout_s)


def _refuse_cancelled(spool: Spool, number: int, me: Process) -> None:
    if _ordered_ns(spool, number, WHOLE, me) is not None:
        raise SchedulerError(f"job {number} was cancelled before it began")


def _patient(spool: Spool, act: Callable[[], Known]) -> Known:
    """What ``act`` returns, which a full disk or a damaged file only delays: nobody else could tell how the copy
    ended."""
    while True:
        try:
            return act()
        except TonnageError:
            if not (spool.open_directory / FILE).exists():
                raise
        time.sleep(ROOM_S)


def _ordered_ns(spool: Spool, number: int, copy: int, me: Process) -> int | None:
    """When somebody ordered the end of the copy that ``me`` waits for, in nanoseconds since 1970; None: nobody has."""
    found = _patient(spool, lambda: spool.copy(number, copy))
    return None if found is None or found.waiter != me else found.cancelled_ns


def _note(spool: Spool, number: int, copy: int, pid: int, me: Process) -> None:
    identity = Process.of(pid)
    if identity is not None:
        # On a full disk it goes unsaid: only who finds the copy without us would read it.
        with suppress(TonnageError):
            spool.note_program(number, copy, identity, me)


def _run(spool: Spool, entry: Entry, copy: int, me: Process) -> Ended:
    request = entry.request
    streams: list[int] = []
    os.umask(entry.umask)
    adopt_orphans()
    try:
        open_streams(request, entry.number, copy, streams)
        program = _start(entry, copy, streams)
    except (UnfitError, OSError) as error:
        return _not_run(request, streams, error)
    finally:
        for file in streams:
            os.close(file)
    _note(spool, entry.number, copy, program.pid, me)
    is_cancelled = _await(spool, entry.number, copy, program.pid, me)
    status = program.wait()
    return _ending(128 - status if status < 0 else status, cancelled=is_cancelled)


def _await(spool: Spool, number: int, copy: int, program: int, me: Process) -> bool:
    """Until the program has ended, and where that was ordered all that it started; whether it was.

    The spooler sends SIGTERM when it is to be looked for an order; it stays pending until it is waited for here.
    """
    while (ordered_ns := _ordered_ns(spool, number, copy, me)) is None:
        if _has_ended(program):
            return False
        signal.sigwait({signal.SIGCHLD, signal.SIGTERM})
    with suppress(ProcessLookupError):
        os.killpg(program, signal.SIGTERM)
    told: set[Process] = set()
    while True:
        left = [process for process in descendants() if not process.ended]
        if time.time_ns() - ordered_ns > GRACE_NS:
            # One that this user may not signal would hold the slot for ever; the program itself does.
            ending = [process for process in left if process.signal(signal.SIGKILL) or process.pid == program]
        else:
            ending = left
            for process in left:
                # The program's group got SIGTERM as a whole.
                if process not in told and process.group != program:
                    process.signal(signal.SIGTERM)
                told.add(process)
        if not ending:
            return True
        signal.sigtimedwait({signal.SIGCHLD}, LOOK_S)


def _has_ended(program: int) -> bool:
    while (ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) is not None:
        if ended.si_pid == program:
            return True
        os.waitpid(ended.si_pid, 0)  # one whose parent ended before it
    return False


def _not_run(request: JobRequest, streams: list[int], error: UnfitError | OSError) -> Ended:
    """Says so in the output too, where that could be opened."""
    program, why, status = request.argv[0], str(error), CANNOT_RUN
    if isinstance(error, OSError):
        why = str(error.strerror)
        if error.filename not in (None, program):
            why = f"its directory {error.filename} cannot be entered: {why}"
        elif error.filename is not None and isinstance(error, FileNotFoundError):
            status = NOT_FOUND
    reason = f"{program} cannot be run: {why}"
    if len(streams) > 1:
        with suppress(OSError):
            os.write(streams[-1], f"tonnage: {reason}\n".encode("utf-8", "surrogateescape"))
    return Ended("failed", status, reason)


def _start(entry: Entry, copy: int, streams: list[int]) -> subprocess.Popen[bytes]:
    environment = entry.environment
    if copy != WHOLE:
        environment["TONNAGE_COPY"] = environment["LSB_JOBINDEX"] = str(copy)
    stdin, stdout, stderr = streams
    return subprocess.Popen(
        list(entry.request.argv),
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        env=environment,
        cwd=entry.request.directory,
        start_new_session=True,
        preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_SETMASK, ()),  # this process has one thread
    )


def _ending(status: int, *, cancelled: bool) -> Ended:
    if status == 0:
        return Ended("done", 0, "")
    reason = f"exited with {status}"
    with suppress(ValueError):
        if status > 128:
            reason += f", as {signal.Signals(status - 128).name} does"
    return Ended("cancelled" if cancelled else "failed", status, reason)
