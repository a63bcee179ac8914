"""The process that runs the jobs of a spool: ``python -m tonnage.cluster.schedulers.local.spooler DIRECTORY IDLE``.

It knows nothing that the spool does not say, so that it may be killed at any moment: each copy has a process of its
own that waits for it and writes down how it ended, and the next spooler reads the rest from the spool.
"""

from __future__ import annotations

import fcntl
import os
import signal
import stat
import sys
import time
import traceback
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from tonnage.cluster.scheduler import SchedulerError
from tonnage.cluster.schedulers.local.rows import Copy, Ended
from tonnage.cluster.schedulers.local.runner import GRACE_NS, attend
from tonnage.cluster.schedulers.local.spool import LOCK, Spool, explain, spooler
from tonnage.cluster.schedulers.local.spooler_contact import wake
from tonnage.errors import TonnageError
from tonnage.processes import Process
from tonnage.program_places import open_private

LOOK_S = 1.0
"""How often it looks at what nobody tells it of: an end without its waiting process, a job whose submitter was killed
before it could say so, cancelled copies that do not end, room on the disk."""
_LOG_BYTES = 1 << 20
"""A log that has grown beyond this begins anew."""
_KILLED_S = 10.0
"""Longer than the kernel takes to end a process that was killed."""
_own_log: tuple[int, int] | None = None
"""Device and inode of the spool's log, once this process writes to it. Another file that standard error is belongs to
whoever started the spooler, and is never cut."""
LOST = Ended("unknown", None, "the process that waited for it ended before it did")
NEVER_RAN = Ended("cancelled", None, "ended before its program began")


class Spooler:
    """One turn after the other, until there is nothing to do. All signals are blocked: none is missed, and the
    processes that wait for programs inherit that."""

    def __init__(self, spool: Spool, lock: int) -> None:
        """``lock``: makes it the only one."""
        self._spool = spool
        self._lock = lock
        self._me = Process.this()
        self._signalled: set[tuple[Process, int]] = set()
        """Programs that were sent a signal from here, and which."""
        self._hindered = ""
        """By what, as the log says."""

    def serve(self, idle_s: float) -> None:
        """Returns when nothing was to do for ``idle_s``, or at SIGTERM; what runs goes on. RequestError where the spool
        cannot be used: the next process that asks gets the same answer."""
        busy_at_s = time.monotonic()
        heard = None
        while heard is None or heard.si_signo != signal.SIGTERM:
            try:
                self._reap()
                self.settle()
                for one in self._spool.due(len(os.sched_getaffinity(0))):
                    self._start(one)
                if self._spool.numbers():
                    busy_at_s = time.monotonic()
                elif time.monotonic() - busy_at_s >= idle_s and self._may_end():
                    return
                self._hindered = ""
            except (SchedulerError, OSError) as error:
                # No process to be had now, or no room on the disk: later there will be.
                if str(error) != self._hindered:
                    _log(str(error))
                self._hindered = str(error)
            heard = signal.sigtimedwait({signal.SIGCHLD, signal.SIGTERM}, LOOK_S)

    def settle(self) -> None:
        """Looks which copies have ended, and which must be made to."""
        for one in self._spool.running():
            waits = one.waiter is not None and one.waiter.alive
            if one.cancelled_ns is not None:
                self._enforce(one, time.time_ns() - one.cancelled_ns, one.waiter if waits else None)
            if waits or (one.program is not None and one.program.alive):
                continue
            if one.state == "pending":
                self._spool.cancel(one.job)
            else:
                never_ran = one.cancelled_ns is not None and one.program is None
                self._spool.end(one.job, one.copy, NEVER_RAN if never_ran else LOST, one.waiter)

    def _enforce(self, one: Copy, late_ns: int, waiter: Process | None) -> None:
        if waiter is not None and not one.foreground:
            # It reads the order, and ends all that the program started; or it hangs before it can start the program,
            # in a file system that does not answer.
            hangs = one.program is None and late_ns > 2 * GRACE_NS
            waiter.signal(signal.SIGKILL if hangs else signal.SIGTERM)
        elif one.program is not None:
            number = signal.SIGKILL if late_ns > GRACE_NS else signal.SIGTERM
            if (one.program, number) not in self._signalled:
                self._signalled.add((one.program, number))
                one.program.signal(number, group=not one.foreground)

    def _reap(self) -> None:
        with suppress(ChildProcessError):  # there is none
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass

    def _may_end(self) -> bool:
        """Whether nobody has submitted anything; whoever does so from now on finds no spooler."""
        self._spool.forget()
        with self._spool.change() as db:
            if db.execute("select 1 from copy where ended_ns is null").fetchone():
                return False
            fcntl.lockf(self._lock, fcntl.LOCK_UN)
            return True

    def _start(self, one: Copy) -> None:
        if one.foreground and one.waiter is not None:
            self._spool.claim(one.job, one.copy, one.waiter)
        else:
            self._fork(one)

    def _fork(self, one: Copy) -> None:
        """Gives a copy a process of its own, which waits until the spool says so, or this process is no more."""
        ready, go = os.pipe()
        try:
            child = Process.of(os.fork() or self._be_copy(one, ready, go))
            if child is not None:
                self._spool.claim(one.job, one.copy, child)
        finally:
            os.close(ready)
            os.close(go)

    def _be_copy(self, one: Copy, ready: int, go: int) -> NoReturn:
        code = 1
        try:
            os.setsid()
            os.close(go)
            os.read(ready, 1)
            # The kernel closes the files of a killed spooler, and so ends the read, before it changes getppid.
            if not attend(self._spool, one.job, one.copy):
                self._await_end_of_spooler()
            if os.getppid() != self._me.pid or spooler(self._spool) != self._me.pid:
                wake(self._spool, timeout_s=30)
            code = 0
        except TonnageError as error:
            _log(f"what became of job {one.job}, copy {one.copy}, cannot be written down: {error}")
        except BaseException:
            _log(traceback.format_exc())
        finally:
            os._exit(code)

    def _await_end_of_spooler(self) -> None:
        end_s = time.monotonic() + _KILLED_S
        while os.getppid() == self._me.pid and time.monotonic() < end_s:
            time.sleep(0.01)


def main(directory: str, idle: str) -> int:
    """Serves; at once 0 where another spooler does. Standard error is closed once that is known."""
    try:
        with suppress(PermissionError):  # it leads a session already
            os.setsid()
        spool = Spool(Path(directory))
        # Through no link: what it leads to would be written over.
        lock = open_private(spool.open_directory / LOCK, os.O_RDWR | os.O_NOFOLLOW)
        try:
            fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return 0
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGPIPE}:
            with suppress(OSError, ValueError):
                # Whoever started the spooler may have ignored some, which programs would inherit.
                signal.signal(number, signal.SIG_DFL)
        # Whoever started it hears of what is damaged.
        spool.jobs(0)
        _leave_the_terminal(spool)
        Spooler(spool, lock).serve(float(idle))
    except (OSError, TonnageError) as error:
        _log(explain(error, directory))
        return 1
    except Exception:
        _log(traceback.format_exc())
        return 1
    return 0


def _leave_the_terminal(spool: Spool) -> None:
    log = open_private(spool.open_directory / "log", os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW)
    found = os.fstat(log)
    global _own_log
    _own_log = found.st_dev, found.st_ino
    null = os.open(os.devnull, os.O_RDONLY)
    for file, stream in ((null, 0), (log, 1), (log, 2)):
        os.dup2(file, stream)
    os.close(log)
    os.close(null)
    os.chdir("/")


def _log(text: str) -> None:
    """To standard error: of whoever started the spooler, and once it serves the log."""
    # A full disk is no reason to stop.
    with suppress(OSError):
        file = sys.stderr.fileno()
        found = os.fstat(file)
        if stat.S_ISREG(found.st_mode):
            text = f"{time.strftime('%Y-%m-%d %H:%M:%S')} {text}"
            if found.st_size > _LOG_BYTES and (found.st_dev, found.st_ino) == _own_log:
                os.ftruncate(file, 0)
        os.write(file, f"{text.rstrip()}\n".encode("utf-8", "surrogateescape"))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
