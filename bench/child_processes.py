"""Programs that a bench starts, and ends when it is ended itself."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PATIENCE_S = 10.0
"""From asking a program to end to ending it and all that it started."""
_REST_S = 0.5
"""From its end to ending what it left."""
_LOOK_S = 0.02
_starting = False
"""A program is being started, and its number is not known yet."""
_held: list[int] = []
"""Signals that came while one was."""


def said_by(command: list[str], cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Runs a program to its end. Whatever ends the waiting ends the program as well, with all that it started: an
    ``mpirun`` that is killed leaves its ranks, which go on making files."""
    process = _begin(command, cwd)
    try:
        _begun()
        out, err = process.communicate()
    except BaseException:
        _end(process)
        raise
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def _begin(command: list[str], cwd: Path | None) -> subprocess.Popen[str]:
    """Starts a program. A signal waits until it is known, or nobody would end it."""
    global _starting
    _starting = True
    try:
        return subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=cwd,
            # A signal for the bench's group is not for the program: it is asked to end here, once.
            start_new_session=True,
        )
    except BaseException:
        _starting = False
        raise


def _begun() -> None:
    """Ends the bench if a signal asked for it meanwhile."""
    global _starting
    _starting = False
    if _held:
        raise SystemExit(128 + _held[0])


def to_the_end(phase: Any) -> None:
    """Waits for a phase of Tonnage's own. Whatever ends the waiting stops it: its tasks would go on making files while
    their directory is removed."""
    try:
        while not phase.wait(1.0):
            pass
    except BaseException:
        phase.stop()
        while not phase.wait(1.0):
            pass
        raise


@contextlib.contextmanager
def cleaned_up_on_signals() -> Iterator[None]:
    """SIGTERM and SIGINT unwind, so that every program is ended and every directory removed; further ones are not
    heard while that goes on."""
    numbers = (signal.SIGTERM, signal.SIGINT)

    def leave(number: int, _frame: object) -> None:
        for other in numbers:
            signal.signal(other, signal.SIG_IGN)
        if _starting:
            _held.append(number)
            return
        raise SystemExit(128 + number)

    previous = [(number, signal.signal(number, leave)) for number in numbers]
    try:
        yield
    finally:
        for number, handler in previous:
            signal.signal(number, handler)


def _end(process: subprocess.Popen[str]) -> None:
    """Asks it to end, which lets it end its own; what is left after a while is ended, each by its number."""
    family = {process.pid: _started(process.pid)} | _below(process.pid)
    # The kernel's list may lack a child where another one ends while it is read.
    family |= _below(process.pid)
    process.terminate()
    deadline = time.monotonic() + PATIENCE_S
    while left := [pid for pid, started in family.items() if started is not None and _started(pid) == started]:
        for pid in left:  # one more may have been started just before
            family |= _below(pid)
        now = time.monotonic()
        if process.poll() is not None:
            deadline = min(deadline, now + _REST_S)
        if now > deadline:
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        time.sleep(_LOOK_S)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.communicate(timeout=1.0)


def _below(pid: int) -> dict[int, str | None]:
    """What a process started, and what that started, with when."""
    found: dict[int, str | None] = {}
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in map(int, task.read_text().split()):
                found |= {child: _started(child)} | _below(child)
    return found


def _started(pid: int) -> str | None:
    """When a process that still runs began, in the kernel's words; None for one that has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] == "Z" else fields[19]
