"""Runs one copy to its end: writes down that it starts, starts it, waits for it, writes down how it ended."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from tonnage.cluster.foreground import run_in_foreground
from tonnage.cluster.scheduler import JobRequest, SchedulerError
from tonnage.cluster.schedulers.local.process import Process, adopt, descendants
from tonnage.cluster.schedulers.local.spool import FILE, UNREADABLE, WHOLE, Ended, Entry, Spool
from tonnage.cluster.schedulers.local.spooler_contact import ensure_spooler, wake
from tonnage.cluster.schedulers.local.streams import UnfitError, file_name, open_input, open_output
from tonnage.errors import TonnageError
from tonnage.machine.site_tools import ToolError, ToolMissing

GRACE_NS = 5 * 10**9
"""What a cancelled job has between SIGTERM and SIGKILL."""
ROOM_S = 0.5
"""How often it is tried whether a full disk has room again."""
LOOK_S = 0.1
"""How often it is looked what is left of a copy whose end was ordered, and whether it is a foreground job's turn."""
CANNOT_RUN, NOT_FOUND = 126, 127
"""What a shell exits with for a program that cannot be run, or is not there."""
Known = TypeVar("Known")


def attend(spool: Spool, number: int, copy: int, claimed: Callable[[], object]) -> None:
    """In the background, in a process that blocks all signals. ``claimed`` is called once it is written down."""
    won = _patient(spool, lambda: spool.claim(number, copy, Process.this()))
    claimed()
    if not won:
        return
    entry = _patient(spool, lambda: spool.entry(number))
    if _ordered_ns(spool, number, copy) is not None:
        ended = Ended("cancelled", None, "cancelled before it began")
    elif entry is None:
        ended = Ended("failed", None, UNREADABLE)
    else:
        ended = _run(spool, entry, copy)
    _patient(spool, lambda: spool.end(number, copy, ended))


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
        while not spool.claim(number, WHOLE, me):
            _refuse_cancelled(spool, number)
            time.sleep(LOOK_S)
            ensure_spooler(spool, timeout_s=timeout_s)
        _refuse_cancelled(spool, number)

        def note(pid: int) -> None:
            _note(spool, number, WHOLE, pid)

        status = run_in_foreground(request.argv, directory=request.directory, started=note)
        ended = _ending(status, cancelled=_ordered_ns(spool, number, WHOLE) is not None)
        return status
    except ToolError as error:
        code = NOT_FOUND if isinstance(error, ToolMissing) else CANNOT_RUN
        ended = Ended("failed", code, str(error))
        refused = SchedulerError(str(error))
        refused.exit_code = code
        raise refused from None
    finally:
        spool.end(number, WHOLE, ended)
        wake(spool, timeout_s=timeout_s)


def _refuse_cancelled(spool: Spool, number: int) -> None:
    if _ordered_ns(spool, number, WHOLE) is not None:
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


def _ordered_ns(spool: Spool, number: int, copy: int) -> int | None:
    """When somebody ordered its end, in nanoseconds since 1970; None: nobody has."""
    found = _patient(spool, lambda: spool.copy(number, copy))
    return None if found is None else found.cancelled_ns


def _note(spool: Spool, number: int, copy: int, pid: int) -> None:
    identity = Process.of(pid)
    if identity is not None:
        # On a full disk it goes unsaid: only who finds the copy without us would read it.
        with suppress(TonnageError):
            spool.note_program(number, copy, identity)


def _run(spool: Spool, entry: Entry, copy: int) -> Ended:
    request = entry.request
    streams: list[int] = []
    os.umask(entry.umask)
    adopt()
    try:
        _open_streams(entry, copy, streams)
        program = _start(spool, entry, copy, streams)
    except OSError as error:
        missing = isinstance(error, FileNotFoundError) and error.filename == request.argv[0]
        elsewhere = error.filename not in (None, request.argv[0])
        why = f"its directory {error.filename} cannot be entered: {error.strerror}" if elsewhere else error.strerror
        return _not_run(request, streams, str(why), NOT_FOUND if missing else CANNOT_RUN)
    except UnfitError as error:
        return _not_run(request, streams, str(error), CANNOT_RUN)
    finally:
        for file in streams:
            os.close(file)
    _note(spool, entry.number, copy, program.pid)
    is_cancelled = _await(spool, entry.number, copy, program.pid)
    status = program.wait()
    return _ending(128 - status if status < 0 else status, cancelled=is_cancelled)


def _await(spool: Spool, number: int, copy: int, program: int) -> bool:
    """Until the program has ended, and where that was ordered all that it started; whether it was.

    The spooler sends SIGTERM when it is to be looked for an order; it stays pending until it is waited for here.
    """
    told: set[Process] = set()
    is_ordered = False
    while True:
        ordered_ns = _ordered_ns(spool, number, copy)
        if ordered_ns is None:
            if _has_ended(program):
                return False
            signal.sigwait({signal.SIGCHLD, signal.SIGTERM})
            continue
        if not is_ordered:
            is_ordered = True
            with suppress(ProcessLookupError):
                os.killpg(program, signal.SIGTERM)
        found = descendants()
        for process in found:
            # The program itself is waited for later, when its status is wanted.
            if process.ended and process.parent == os.getpid() and process.pid != program:
                os.waitpid(process.pid, os.WNOHANG)
        left = [process for process in found if not process.ended]
        late = time.time_ns() - ordered_ns > GRACE_NS
        stays = [process for process in left if not _end(process, program, told, late=late)]
        # One that this user may not signal would hold the slot for ever; the program itself does.
        if left == stays and program not in {process.pid for process in left}:
            return True
        signal.sigtimedwait({signal.SIGCHLD}, LOOK_S)


def _has_ended(program: int) -> bool:
    while (ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) is not None:
        if ended.si_pid == program:
            return True
        os.waitpid(ended.si_pid, 0)  # one whose parent ended before it
    return False


def _end(process: Process, program: int, told: set[Process], *, late: bool) -> bool:
    """False where it cannot be ended."""
    if late:
        return process.signal(signal.SIGKILL)
    try:
        # The program's group got SIGTERM as a whole.
        is_told = process in told or os.getpgid(process.pid) == program
    except ProcessLookupError:
        is_told = True
    told.add(process)
    if not is_told:
        process.signal(signal.SIGTERM)
    return True


def _not_run(request: JobRequest, streams: list[int], why: str, status: int) -> Ended:
    """Says so in the output too, where that could be opened."""
    reason = f"{request.argv[0]} cannot be run: {why}"
    if len(streams) > 1:
        with suppress(OSError):
            os.write(streams[-1], f"tonnage: {reason}\n".encode("utf-8", "surrogateescape"))
    return Ended("failed", status, reason)


def _start(spool: Spool, entry: Entry, copy: int, streams: list[int]) -> subprocess.Popen[bytes]:
    environment = spool.environment(entry.number)
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


def _open_streams(entry: Entry, copy: int, streams: list[int]) -> None:
    """Standard input, output and error."""
    request = entry.request
    output = request.output or ("tonnage-%J.out" if request.copies is None else "tonnage-%J_%I.out")
    error = request.error or output
    given = Path(os.devnull) if request.input is None else file_name(request.input, request, entry.number, copy)
    with _naming_file("input", given):
        streams.append(open_input(given))
    files = [file_name(pattern, request, entry.number, copy) for pattern in (output, error)]
    with _naming_file("output", files[0]):
        streams.append(open_output(files[0], named=request.output is not None))
    with _naming_file("error output", files[1]):
        streams.append(os.dup(streams[1]) if files[0] == files[1] else open_output(files[1], named=True))


@contextmanager
def _naming_file(what: str, path: Path) -> Iterator[None]:
    """UnfitError that names the file, where it cannot be opened."""
    try:
        yield
    except OSError as error:
        raise UnfitError(f"its {what} {path} cannot be opened: {error.strerror}") from None


def _ending(status: int, *, cancelled: bool) -> Ended:
    if status == 0:
        return Ended("done", 0, "")
    reason = f"exited with {status}"
    with suppress(ValueError):
        if status > 128:
            reason += f", as {signal.Signals(status - 128).name} does"
    return Ended("cancelled" if cancelled else "failed", status, reason)
