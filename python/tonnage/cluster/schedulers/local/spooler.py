"""The process that runs the jobs of a spool: ``python -m tonnage.cluster.schedulers.local.spooler DIRECTORY IDLE``.

It knows nothing that the spool does not say, so that it may be killed at any moment: each copy has a process of its
own that waits for it and writes down how it ended, and the next spooler reads the rest from the spool.
"""

from __future__ import annotations

import fcntl
import os
import select
import signal
import sys
import time
import traceback
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from tonnage.cluster.schedulers.local.process import Process
from tonnage.cluster.schedulers.local.runner import GRACE_NS, attend
from tonnage.cluster.schedulers.local.spool import Copy, Ended, Spool, explain
from tonnage.cluster.schedulers.local.spooler_contact import lock_path, wake
from tonnage.errors import TonnageError

POLL_S = 0.5
"""How often the copies that are no children of this spooler are looked at, and those whose end was ordered."""
LOOK_S = 5.0
"""How often it looks for jobs of which nobody told, as whoever submitted them was killed before."""
FORGET_AFTER = 500
"""Copies that end between two looks at what may be forgotten."""
_LOG_BYTES = 1 << 20
NOT_STARTED = Ended("failed", None, "its process ended before it could start it")
LOST = Ended("unknown", None, "the process that waited for it ended before it did")


class Spooler:
    """One turn after the other, until there is nothing to do."""

    def __init__(self, spool: Spool, lock: int, fifo: int, starting: int) -> None:
        """``lock``: makes it the only one. ``fifo``: what others write into. ``starting``: see ``main``."""
        self._spool = spool
        self._slots = len(os.sched_getaffinity(0))
        self._lock = lock
        self._fifo = fifo
        self._starting = starting
        self.children: dict[int, tuple[int, int]] = {}
        """The processes that wait for programs: number → job and copy."""
        self._signalled: set[tuple[Process, int]] = set()
        """Who was sent which signal."""
        self._reaped = 0

    def serve(self, idle_s: float) -> None:
        """Returns when nothing was to do for ``idle_s``, or at SIGTERM; what runs goes on."""
        told_to_end: list[int] = []
        # A signal writes into the FIFO too, so that there is one thing to wait for.
        signal.set_wakeup_fd(self._fifo, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, lambda number, _: told_to_end.append(number))
        busy_at_s = time.monotonic()
        while not told_to_end:
            try:
                self._reap()
                limit_s = self._turn()
                if self._spool.numbers():
                    busy_at_s = time.monotonic()
                elif time.monotonic() - busy_at_s >= idle_s and self._may_end():
                    return
                else:
                    limit_s = min(max(busy_at_s + idle_s - time.monotonic(), 0), LOOK_S)
            except (TonnageError, OSError) as error:
                # No process to be had now, or no room on the disk: later there will be.
                _log(str(error))
                limit_s = POLL_S
            select.select([self._fifo], [], [], limit_s)
            with suppress(BlockingIOError):
                os.read(self._fifo, 1 << 16)

    def _turn(self) -> float:
        """Looks at all that runs and starts what it can; how long that is good for."""
        is_watched = self.settle()
        for one in self._spool.begin(self._slots, self.children.values()):
            if not one.foreground:  # its own process starts that
                self.children[self._fork(one)] = (one.job, one.copy)
        return POLL_S if is_watched else LOOK_S

    def settle(self) -> bool:
        """Looks which copies have ended, and which must be made to; whether some are to be looked at again soon: those
        whose end nobody tells of for certain, and cancelled ones."""
        is_watched = False
        for one in self._spool.running():
            is_child = (one.job, one.copy) in self.children.values()
            waits = one.waiter is not None and one.waiter.alive
            is_watched |= not is_child or one.cancelled_ns is not None
            if one.cancelled_ns is not None:
                self._enforce(one, one.cancelled_ns, one.waiter if waits else None)
            if is_child or waits or (one.program is not None and one.program.alive):
                continue
            if one.state == "pending":
                self._spool.cancel(one.job)
            else:
                never_ran = one.cancelled_ns is not None and one.program is None
                ended = Ended("cancelled", None, "ended before its program began") if never_ran else LOST
                self._spool.end(one.job, one.copy, NOT_STARTED if one.state == "starting" else ended)
        return is_watched

    def _enforce(self, one: Copy, ordered_ns: int, waiter: Process | None) -> None:
        late_ns = time.time_ns() - ordered_ns
        if waiter is not None and not one.foreground:
            # It reads the order, and ends all that the program started.
            self._send(waiter, signal.SIGTERM)
            if one.program is None and late_ns > 2 * GRACE_NS:
                # It hangs before it can start the program, in a file system that does not answer.
                self._send(waiter, signal.SIGKILL)
            if late_ns <= GRACE_NS:
                return
        if one.program is not None:
            number = signal.SIGKILL if late_ns > GRACE_NS else signal.SIGTERM
            self._send(one.program, number, group=not one.foreground)

    def _send(self, process: Process, number: int, *, group: bool = False) -> None:
        if (process, number) not in self._signalled:
            self._signalled.add((process, number))
            process.signal(number, group=group)

    def _reap(self) -> None:
        while self.children:
            pid, _ = os.waitpid(-1, os.WNOHANG)
            if not pid:
                break
            one = self.children.pop(pid)
            # Where it was killed before it could claim its copy, nobody starts that.
            if self._spool.claim(*one, Process.this()):
                self._spool.end(*one, NOT_STARTED)
            self._reaped += 1
        if self._reaped >= FORGET_AFTER:
            self._reaped = 0
            self._signalled.clear()
            self._spool.forget()

    def _may_end(self) -> bool:
        """Whether nobody has submitted anything; whoever does so from now on finds no spooler."""
        self._spool.forget()
        with self._spool.change() as db:
            if db.execute("select 1 from copy where ended_ns is null").fetchone():
                return False
            fcntl.lockf(self._lock, fcntl.LOCK_UN)
            return True

    def _fork(self, one: Copy) -> int:
        """The process of its own that a copy has."""
        parent = os.getpid()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            pid = os.fork()
            if not pid:
                self._be_copy(one, parent)
        finally:
            # Also where there is no process to be had: a spooler that hears no SIGCHLD would see no copy end any more.
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return pid

    def _be_copy(self, one: Copy, parent: int) -> NoReturn:
        """All signals stay blocked: none ends it before the program, and two are waited for."""
        code = 1
        try:
            signal.set_wakeup_fd(-1)
            for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGPIPE}:
                with suppress(OSError, ValueError):
                    # Whoever started the spooler may have ignored some, which the program would inherit.
                    signal.signal(number, signal.SIG_DFL)
            os.setsid()
            os.close(self._fifo)
            attend(self._spool, one.job, one.copy, lambda: os.close(self._starting))
            if os.getppid() != parent:
                wake(self._spool, timeout_s=30)
            code = 0
        except BaseException:
            _log(traceback.format_exc())
        finally:
            os._exit(code)


def main(directory: str, idle: str) -> int:
    """Serves; at once 0 where another spooler does. Standard error is closed once that is known."""
    try:
        with suppress(PermissionError):  # it leads a session already
            os.setsid()
        spool = Spool(Path(directory))
        # First this, then the lock: who sees the lock finds somebody who reads.
        fifo = os.open(spool.wake, os.O_RDWR | os.O_NONBLOCK)
        # Through no link: what it leads to would be written over.
        lock = os.open(lock_path(spool), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return 0
        os.pwrite(lock, b"%-20d" % len(os.sched_getaffinity(0)), 0)
        # Copies inherit this lock until they are claimed: those that another spooler had begun to start come first.
        starting = os.open(spool.open_directory / "starting", os.O_RDWR | os.O_CREAT, 0o600)
        _leave_the_terminal(spool)
    except (OSError, TonnageError) as error:
        sys.stderr.write(f"{explain(error, directory)}\n")
        return 1
    # Whoever started it may have blocked signals.
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    try:
        fcntl.flock(starting, fcntl.LOCK_EX)
        Spooler(spool, lock, fifo, starting).serve(float(idle))
    except Exception:
        _log(traceback.format_exc())
        return 1
    return 0


def _leave_the_terminal(spool: Spool) -> None:
    path = spool.open_directory / "log"
    log = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    if os.fstat(log).st_size > _LOG_BYTES:
        os.ftruncate(log, 0)
    null = os.open(os.devnull, os.O_RDONLY)
    for file, stream in ((null, 0), (log, 1), (log, 2)):
        os.dup2(file, stream)
    os.close(log)
    os.close(null)
    os.chdir("/")


def _log(text: str) -> None:
    # A full disk is no reason to stop.
    with suppress(OSError):
        line = f"{time.strftime('%Y-%m-%d %H:%M:%S')} {text.rstrip()}\n"
        os.write(sys.stderr.fileno(), line.encode("utf-8", "surrogateescape"))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
