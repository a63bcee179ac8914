"""Runs one copy to its end: writes down that it starts, starts it, waits for it, writes down how it ended."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tonnage.cluster.foreground import run_in_foreground
from tonnage.cluster.schedulers.local.process import Process
from tonnage.cluster.schedulers.local.process_tree import Descendant, Watch, collect, descendants
from tonnage.cluster.schedulers.local.records import GRACE_NS, WHOLE, Ended, Entry, Started
from tonnage.cluster.schedulers.local.spool import Spool
from tonnage.cluster.schedulers.local.streams import UnfitError, file_name, open_input, open_output
from tonnage.machine.tool import ToolError, ToolMissing

ROOM_S = 0.5
"""How often it is tried whether a full disk has room again."""
LOOK_S = 0.1
"""How often it is looked what is left of a copy whose end was ordered."""
CANNOT_RUN, NOT_FOUND = 126, 127
"""What a shell exits with for a program that cannot be run, or is not there."""


@dataclass(frozen=True, slots=True)
class Case:
    """A copy whose turn it is."""

    spool: Spool
    number: int
    copy: int
    entry: Entry

    @property
    def ordered_ns(self) -> int | None:
        """When somebody ordered its end, in nanoseconds since 1970; None: nobody has."""
        found = [self.spool.cancelled_at_ns(self.number, of) for of in (None, self.copy)]
        return min((at_ns for at_ns in found if at_ns is not None), default=None)

    @property
    def is_cancelled(self) -> bool:
        """Whether somebody has ordered its end."""
        return self.ordered_ns is not None


def attend(case: Case, claimed: Callable[[], object]) -> None:
    """In the background: a session of its own, and files. ``claimed`` is called once it is written down."""
    won = _when_there_is_room(lambda: _claim(case, takes_orders=True))
    claimed()
    if not won:
        return
    cancelled = Ended("cancelled", None, "cancelled before it began", time.time_ns())
    ended = cancelled if case.is_cancelled else _run(case)
    _when_there_is_room(lambda: case.spool.end(case.number, case.copy, ended))


def attend_here(case: Case) -> int | None:
    """With this process's terminal: what it exited with; None where the job is not to run any more.

    ToolError where it cannot be started.
    """
    if not _claim(case):
        return None
    ended = Ended("cancelled", None, "interrupted before it began", time.time_ns())
    try:
        if case.is_cancelled:
            return None
        request = case.entry.request
        status = run_in_foreground(
            request.argv, directory=request.directory, started=lambda pid: _note(case, pid, os.kill)
        )
        ended = _ending(case, status)
    except ToolError as error:
        ended = Ended("failed", NOT_FOUND if isinstance(error, ToolMissing) else CANNOT_RUN, str(error), time.time_ns())
        raise
    finally:
        case.spool.end(case.number, case.copy, ended)
    return status


def _when_there_is_room(write: Callable[[], bool]) -> bool:
    """What ``write`` returns, which a full disk only delays: nobody else could tell how the copy ended."""
    while True:
        try:
            return write()
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
        time.sleep(ROOM_S)


def _claim(case: Case, *, takes_orders: bool = False) -> bool:
    return case.spool.claim(case.number, case.copy, Started(Process.this(), time.time_ns(), takes_orders))


def _note(case: Case, pid: int, signal_it: Callable[[int, int], None]) -> None:
    """Writes down which process the copy is; ends it where the order to do so came before that was known."""
    identity = Process.of(pid)
    if identity is not None:
        # On a full disk it goes unsaid: only who finds the copy without us would read it.
        with suppress(OSError):
            case.spool.note_program(case.number, case.copy, identity)
    if case.is_cancelled:
        with suppress(ProcessLookupError):
            signal_it(pid, signal.SIGTERM)


def _run(case: Case) -> Ended:
    request = case.entry.request
    streams: list[int] = []
    with Watch() as watch:
        try:
            _open_streams(case, streams)
            program = _start(case, streams)
        except OSError as error:
            missing = isinstance(error, FileNotFoundError) and error.filename == request.argv[0]
            place = "" if error.filename in (None, request.argv[0]) else f" ({error.filename})"
            return _not_run(case, streams, f"{error.strerror}{place}", NOT_FOUND if missing else CANNOT_RUN)
        except UnfitError as error:
            return _not_run(case, streams, str(error), CANNOT_RUN)
        finally:
            for file in streams:
                os.close(file)
        _note(case, program.pid, os.killpg)
        _await(case, watch, program.pid)
    status = program.wait()
    return _ending(case, 128 - status if status < 0 else status)


def _await(case: Case, watch: Watch, program: int) -> None:
    """Until the program has ended, and where that was ordered all that it started.

    Its group gets SIGTERM from the spooler, or from ``_note``; what left the group gets it here.
    """
    told: set[Descendant] = set()
    while True:
        ordered_ns = case.ordered_ns
        if ordered_ns is None:
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if ended is None:
                watch.wait(None)
            elif ended.si_pid == program:
                return
            else:
                os.waitpid(ended.si_pid, 0)  # one whose parent ended before it
            continue
        found = descendants()
        collect(found, but=program)
        left = [process for process in found if not process.ended]
        late = time.time_ns() - ordered_ns > GRACE_NS
        stays = [process for process in left if not _end(process, program, told, late=late)]
        # One that this user may not signal would hold the slot for ever; the program itself does.
        if left == stays and program not in {process.pid for process in left}:
            return
        watch.wait(LOOK_S)


def _end(process: Descendant, program: int, told: set[Descendant], *, late: bool) -> bool:
    """False where it cannot be ended."""
    if late:
        return process.signal(signal.SIGKILL)
    try:
        is_told = process in told or os.getpgid(process.pid) == program
    except ProcessLookupError:
        is_told = True
    told.add(process)
    if not is_told:
        process.signal(signal.SIGTERM)
    return True


def _not_run(case: Case, streams: list[int], why: str, status: int) -> Ended:
    """Says so in the output too, where that could be opened."""
    reason = f"{case.entry.request.argv[0]} cannot be run: {why}"
    if len(streams) > 1:
        with suppress(OSError):
            os.write(streams[-1], f"tonnage: {reason}\n".encode("utf-8", "surrogateescape"))
    return Ended("failed", status, reason, time.time_ns())


def _start(case: Case, streams: list[int]) -> subprocess.Popen[bytes]:
    environment = case.spool.environment(case.number)
    if case.copy != WHOLE:
        environment["TONNAGE_COPY"] = environment["LSB_JOBINDEX"] = str(case.copy)
    stdin, stdout, stderr = streams
    return subprocess.Popen(
        list(case.entry.request.argv),
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        env=environment,
        cwd=case.entry.request.directory,
        start_new_session=True,
    )


def _open_streams(case: Case, streams: list[int]) -> None:
    """Standard input, output and error."""
    request = case.entry.request
    output = request.output or ("tonnage-%J.out" if request.copies is None else "tonnage-%J_%I.out")
    error = request.error or output
    given = Path(os.devnull) if request.input is None else file_name(request.input, request, case.number, case.copy)
    streams.append(open_input(given))
    files = [file_name(pattern, request, case.number, case.copy) for pattern in (output, error)]
    streams.append(open_output(files[0], named=request.output is not None))
    streams.append(os.dup(streams[1]) if files[0] == files[1] else open_output(files[1], named=True))


def _ending(case: Case, status: int) -> Ended:
    at_ns = time.time_ns()
    if status == 0:
        return Ended("done", 0, "", at_ns)
    return Ended("cancelled" if case.is_cancelled else "failed", status, _reason(status), at_ns)


def _reason(status: int) -> str:
    with suppress(ValueError):
        if status > 128:
            return f"exited with {status}, as {signal.Signals(status - 128).name} does"
    return f"exited with {status}"
