"""The process that runs the jobs of a spool: ``python -m tonnage.cluster.schedulers.local.spooler DIRECTORY IDLE``.

It knows nothing that the spool does not say, so that it may be killed at any moment: each copy has a process of its
own that waits for it and writes down how it ended, and the next spooler reads the rest from the directory.
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
from types import FrameType
from typing import NoReturn

from tonnage.cluster.schedulers.local.copy_runner import Case, attend
from tonnage.cluster.schedulers.local.spool import Spool, explain
from tonnage.cluster.schedulers.local.spooler_contact import lock_path, wake
from tonnage.cluster.schedulers.local.state import Active, SpoolState

POLL_S = 0.5
"""How often the copies that are no children of this spooler are looked at."""
LOOK_S = 5.0
"""How often it looks for jobs of which nobody told, as whoever submitted them was killed before."""
FORGET_AFTER = 500
"""SpoolState that end between two looks at what may be forgotten."""
_LOG_BYTES = 1 << 20
_DEADLY = {signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2}


class Spooler:
    """One turn after the other, until there is nothing to do."""

    def __init__(self, spool: Spool, lock: int, fifo: int, starting: int) -> None:
        """``lock``: makes it the only one. ``fifo``: what others write into. ``starting``: see ``main``."""
        self._spool = spool
        self._state = SpoolState(spool, len(os.sched_getaffinity(0)))
        self._lock = lock
        self._fifo = fifo
        self._starting = starting
        self._children: dict[int, tuple[int, int]] = {}
        self._unread = b""
        self._retry = False
        self._reaped = 0

    def serve(self, idle_s: float) -> None:
        """Returns when nothing was to do for ``idle_s``, or at SIGTERM; what runs goes on."""
        told_to_end: list[int] = []
        bell, ring = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(ring, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, lambda number, _: told_to_end.append(number))
        looked_at_s = -LOOK_S
        busy_at_s = time.monotonic()
        while not told_to_end:
            if time.monotonic() - looked_at_s >= LOOK_S:
                self._look()
                looked_at_s = time.monotonic()
            self._turn()
            if self._state.jobs:
                busy_at_s = time.monotonic()
            elif time.monotonic() - busy_at_s >= idle_s and self._may_end():
                return
            select.select([self._fifo, bell], [], [], self._limit_s(busy_at_s + idle_s))
            with suppress(BlockingIOError):
                os.read(bell, 4096)
            self._reap()
            self._listen()

    def _limit_s(self, idle_until_s: float) -> float:
        if not self._state.jobs:
            return min(max(idle_until_s - time.monotonic(), 0), LOOK_S)
        return POLL_S if self._retry or self._state.watched(self._children.values()) else LOOK_S

    def _turn(self) -> None:
        self._retry = False
        for number, copy in self._state.watched(self._children.values()):
            self._settle(number, copy)
        for job, copy in self._state.begin():
            try:
                if job.entry.waiter is not None:
                    self._spool.grant(job.number)
                else:
                    self._children[self._fork(job, copy)] = (job.number, copy)
            except OSError as error:
                # No process to be had now, or no room on the disk: later there will be.
                _log(f"job {job.number}: {error.strerror}")
                self._state.put_back(job, copy)
                self._retry = True

    def _settle(self, number: int, copy: int) -> None:
        try:
            self._state.settle(number, copy, is_child=(number, copy) in self._children.values())
        except OSError as error:
            _log(f"job {number}: {error.strerror}")

    def _reap(self) -> None:
        while self._children:
            pid, _ = os.waitpid(-1, os.WNOHANG)
            if not pid:
                break
            self._settle(*self._children.pop(pid))
            self._reaped += 1
        if self._reaped >= FORGET_AFTER:
            self._reaped = 0
            self._spool.forget()

    def _listen(self) -> None:
        """Takes what others wrote into the FIFO: ``NUMBER`` or ``NUMBER COPY`` a line."""
        try:
            *lines, self._unread = (self._unread + os.read(self._fifo, 1 << 16)).split(b"\n")
        except BlockingIOError:
            return
        for line in dict.fromkeys(lines):
            number, *copy = (int(word) for word in line.split())
            if copy:
                self._settle(number, copy[0])
            else:
                self._state.look(number)

    def _may_end(self) -> bool:
        """Whether nobody has submitted anything; whoever does so from now on finds no spooler."""
        self._spool.forget()
        with self._spool.locked(timeout_s=60):
            self._look()
            if self._state.jobs:
                return False
            fcntl.lockf(self._lock, fcntl.LOCK_UN)
            return True

    def _look(self) -> None:
        for number in self._spool.numbers():
            self._state.load(number)

    def _fork(self, job: Active, copy: int) -> int:
        """The process of its own that a copy has."""
        parent = os.getpid()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            pid = os.fork()
            if not pid:
                self._be_copy(job, copy, parent)
        finally:
            # Also where there is no process to be had: a spooler that hears no SIGCHLD would see no copy end any more.
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return pid

    def _be_copy(self, job: Active, copy: int, parent: int) -> NoReturn:
        code = 1
        try:
            _stand_alone()
            os.umask(job.entry.umask)
            os.close(self._fifo)
            attend(Case(self._spool, job.number, copy, job.entry), lambda: os.close(self._starting))
            if os.getppid() != parent:
                wake(self._spool, job.number, copy, timeout_s=30)
            code = 0
        except BaseException:
            _log(traceback.format_exc())
        finally:
            os._exit(code)


def _stand_alone() -> None:
    """In a process that waits for a program: no signal ends it before, and the program inherits nothing of that."""
    signal.set_wakeup_fd(-1)
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGPIPE}:
        with suppress(OSError, ValueError):
            # Whoever started the spooler may have ignored some, which is inherited; a handler is not.
            signal.signal(number, _stay if number in _DEADLY else signal.SIG_DFL)
    os.setsid()
    signal.pthread_sigmask(signal.SIG_SETMASK, set())


def _stay(_number: int, _frame: FrameType | None) -> None:
    return


def main(directory: str, idle: str) -> int:
    """Returns once a spooler runs: this one, in the background, or one that was there before."""
    spool = Spool(Path(directory))
    heard, told = os.pipe()
    if os.fork():
        os.close(told)
        with os.fdopen(heard, encoding="utf-8") as answer:
            complaint = answer.read()
        if complaint:
            sys.stderr.write(f"{complaint}\n")
        return 1 if complaint else 0
    os.close(heard)
    try:
        os.setsid()
        # First this, then the lock: who sees the lock finds somebody who reads.
        fifo = os.open(spool.wake, os.O_RDWR | os.O_NONBLOCK)
        lock = os.open(lock_path(spool), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return 0
        os.pwrite(lock, b"%-20d" % len(os.sched_getaffinity(0)), 0)
        # Copies inherit this lock until they are claimed: those that another spooler had begun to start come first.
        starting = os.open(spool.held / "starting", os.O_RDWR | os.O_CREAT, 0o600)
        _leave_the_terminal(spool)
    except OSError as error:
        os.write(told, explain(error, spool.directory).encode("utf-8", "surrogateescape"))
        return 1
    os.close(told)
    try:
        fcntl.flock(starting, fcntl.LOCK_EX)
        Spooler(spool, lock, fifo, starting).serve(float(idle))
    except Exception:
        _log(traceback.format_exc())
        return 1
    return 0


def _leave_the_terminal(spool: Spool) -> None:
    path = spool.held / "log"
    log = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
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
