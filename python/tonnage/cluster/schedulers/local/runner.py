"""Runs one copy to its end: writes down that it starts, starts it, waits for it, writes down how it ended."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from tonnage.cluster.scheduler import JobRequest, SchedulerError
from tonnage.cluster.schedulers.local.rows import UNREADABLE, WHOLE, Copy, Ended, Entry
from tonnage.cluster.schedulers.local.spool import FILE, Spool
from tonnage.cluster.schedulers.local.spooler_contact import ensure_spooler, wake
from tonnage.cluster.schedulers.local.streams import UnfitError, open_streams
from tonnage.cluster.schedulers.tool_output import run_in_foreground
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


class Attended:
    """A copy that this process runs, in its spool. It goes on through a full disk or a damaged file, for nobody else
    could tell how the copy ends."""

    def __init__(self, spool: Spool, number: int, copy: int) -> None:
        self.number = number
        self.copy = copy
        self._spool = spool
        self._me = Process.this()

    def check(self) -> Copy | None:
        """What the spool says; None where it is not this process that runs the copy."""
        found = self._patient(lambda: self._spool.copy(self.number, self.copy))
        return None if found is None or found.waiter != self._me else found

    def entry(self) -> Entry | None:
        return self._patient(lambda: self._spool.entry(self.number))

    def ordered_ns(self) -> int | None:
        """When somebody ordered its end, in nanoseconds since 1970; None: nobody has."""
        found = self.check()
        return None if found is None else found.cancelled_ns

    def note(self, pid: int) -> None:
        """Which process it is. On a full disk it goes unsaid: only who finds the copy without us would read it."""
        identity = Process.of(pid)
        if identity is not None:
            with suppress(TonnageError):
                self._spool.note_program(self.number, self.copy, identity, self._me)

    def end(self, ended: Ended) -> None:
        self._patient(lambda: self._spool.end(self.number, self.copy, ended, self._me))

    def _patient(self, act: Callable[[], Known]) -> Known:
        while True:
            try:
                return act()
            except TonnageError:
                if not (self._spool.open_directory / FILE).exists():
                    raise
            time.sleep(ROOM_S)


def attend(spool: Spool, number: int, copy: int) -> bool:
    """In the background, in a process that blocks all signals and that the spooler forked for this copy. False where
    the spooler was killed before it could write that down: then it does nothing."""
    mine = Attended(spool, number, copy)
    found = mine.check()
    if found is None:
        return False
    entry = mine.entry()
    if found.cancelled_ns is not None:
        mine.end(Ended("cancelled", None, "cancelled before it began"))
    elif entry is None:
        mine.end(Ended("failed", None, UNREADABLE))
    else:
        mine.end(_run(mine, entry))
    return True


def attend_here(spool: Spool, request: JobRequest, *, timeout_s: float) -> int:
    """Waits for its turn like any other job, then has this process's terminal; what it exited with, 128 + n for signal
    n. SchedulerError where it cannot be started, with a shell's exit code, or was cancelled. ``timeout_s``: as ``wake``
    has it."""
    me = Process.this()
    number, is_new = spool.add(request, waiter=me)
    if not is_new:
        raise SchedulerError(f"job {number} has the key {request.key} already; nothing was started")
    mine = Attended(spool, number, WHOLE)
    ended = Ended("cancelled", None, "interrupted before it began")
    try:
        wake(spool, timeout_s=timeout_s)
        while (found := mine.check()) is not None and found.state == "pending":
            time.sleep(LOOK_S)
            ensure_spooler(spool, timeout_s=timeout_s)
        if found is None or found.cancelled_ns is not None:
            raise SchedulerError(f"job {number} was cancelled before it began")
        status = run_in_foreground(request.argv, directory=request.directory, started=mine.note)
        ended = _ending(status, cancelled=mine.ordered_ns() is not None)
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


def _run(mine: Attended, entry: Entry) -> Ended:
    streams: list[int] = []
    os.umask(entry.umask)
    adopt_orphans()
    try:
        open_streams(entry.request, mine.number, mine.copy, streams)
        program = _start(entry, mine.copy, streams)
    except (UnfitError, OSError) as error:
        return _not_run(entry.request, streams, error)
    finally:
        for file in streams:
            os.close(file)
    mine.note(program.pid)
    is_cancelled = _await(mine, program.pid)
    status = program.wait()
    return _ending(128 - status if status < 0 else status, cancelled=is_cancelled)


def _await(mine: Attended, program: int) -> bool:
    """Until the program has ended, and where that was ordered all that it started; whether it was.

    The spooler sends SIGTERM when it is to be looked for an order; it stays pending until it is waited for here.
    """
    while (ordered_ns := mine.ordered_ns()) is None:
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
