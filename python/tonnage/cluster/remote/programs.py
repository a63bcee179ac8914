"""Services: programs that a host runs for a remote caller, and that end with that caller.

Each has a supervisor (``supervisor.py``): a process that notices when this one is gone, however it went, and ends the
program with all that it started.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import itertools
import os
import selectors
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict

from tonnage.errors import TonnageError
from tonnage.machine.site_tools import ToolError, ToolMissing

MOST_OUTPUT = 8 << 20
"""Bytes kept of what a program prints on each of its outputs; the rest is read and dropped."""
MOST_PROGRAMS = 1000
"""Of which this process knows at once."""
START_S = 20.0
"""For a program to be started, on a busy host."""
GRACE_S = 2.0
"""Between the request to end and the end."""
_HELD_S = 6.0
"""A supervisor gives up a program that the kernel holds after 5 s."""
_LOOK_S = 0.01
_LISTENING = "0A"
"""A socket's state in /proc/net/tcp."""


class Handle(TypedDict):
    """A program that was started."""

    handle: str
    pid: int


class ProgramState(TypedDict):
    """The state of one program; ``await_program`` says what each key means."""

    running: bool
    pid: int | None
    status: int | None
    out: str
    err: str
    cut: bool
    began_ns: int
    ended_ns: int | None
    ready: bool


class _Program:
    """One that was started: what it prints is read as it comes, so that it never waits for a reader."""

    def __init__(self, argv: Sequence[str]) -> None:
        self.began_ns = time.time_ns()
        self.ended_ns: int | None = None
        self.pid: int | None = None
        self.status: int | None = None
        self.refused: int | None = None
        self.gone = False
        """All its outputs are closed, and nothing more will be told."""
        self.cut = False
        self.changed = threading.Condition()
        told, tell = os.pipe()
        try:
            self._supervisor = subprocess.Popen(
                [sys.executable, "-I", "-S", str(Path(__file__).with_name("supervisor.py")), str(tell), *argv],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                pass_fds=[tell],
            )
        except BaseException:
            os.close(told)
            raise
        finally:
            os.close(tell)
        assert self._supervisor.stdout and self._supervisor.stderr
        self._words: dict[int, bytearray] = {
            told: bytearray(),
            self._supervisor.stdout.fileno(): bytearray(),
            self._supervisor.stderr.fileno(): bytearray(),
        }
        self._told, self._out, self._err = self._words.values()
        self._reader = threading.Thread(target=self._read, args=(told,), name="program", daemon=True)
        self._reader.start()

    def _read(self, stream: int) -> None:
        with selectors.DefaultSelector() as selector:
            for descriptor in self._words:
                selector.register(descriptor, selectors.EVENT_READ)
            while selector.get_map():
                for key, _ in selector.select():
                    chunk = os.read(key.fd, 1 << 16)
                    if not chunk:
                        selector.unregister(key.fd)
                    with self.changed:
                        self._take(key.fd, chunk)
                        self.changed.notify_all()
        os.close(stream)
        self._supervisor.wait()
        for pipe in (self._supervisor.stdout, self._supervisor.stderr):
            if pipe is not None:
                pipe.close()
        with self.changed:
            self.gone = True
            self.changed.notify_all()

    def _take(self, descriptor: int, chunk: bytes) -> None:
        kept = self._words[descriptor]
        room = max(0, MOST_OUTPUT - len(kept))
        self.cut |= len(chunk) > room
        kept += chunk[:room]
        if kept is self._told:
            for line in kept.decode("ascii").split("\n")[:-1]:
                word, _, number = line.partition(" ")
                if word == "ended" and self.ended_ns is None:
                    self.status, self.ended_ns = int(number), time.time_ns()
                elif word == "started":
                    self.pid = int(number)
                elif word == "refused":
                    self.refused = int(number)

    def ask_to_end(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            assert self._supervisor.stdin
            os.write(self._supervisor.stdin.fileno(), b"t")

    def end(self) -> None:
        """Closes the pipe to its supervisor, which ends it. Does not wait."""
        with contextlib.suppress(OSError):
            assert self._supervisor.stdin
            self._supervisor.stdin.close()

    def state(self, *, ready: bool) -> ProgramState:
        return {
            "running": not self.gone,
            "pid": self.pid,
            "status": self.status,
            "out": self._out.decode("utf-8", "surrogateescape"),
            "err": self._err.decode("utf-8", "surrogateescape"),
            "cut": self.cut,
            "began_ns": self.began_ns,
            "ended_ns": self.ended_ns,
            "ready": ready,
        }


_programs: dict[str, _Program] = {}
_numbers = itertools.count(1)


def start_program(argv: Sequence[str]) -> Handle:
    """Service ``start-program``: starts a program from a list of words and returns ``{"handle", "pid"}``.

    ToolMissing where it is not installed, ToolError where it cannot be started, both with the reason.
    """
    if not argv or not all(isinstance(word, str) and "\0" not in word for word in argv) or not argv[0]:
        raise TonnageError("a program is a list of words; the first is its name")
    if len(_programs) >= MOST_PROGRAMS:
        raise TonnageError(f"{MOST_PROGRAMS} programs were started here and not stopped; hint: stop some")
    program = _Program(argv)
    with program.changed:
        known = program.changed.wait_for(
            lambda: program.pid is not None or program.refused is not None or program.gone, START_S
        )
    if program.pid is None:
        program.end()
        if program.refused == errno.ENOENT:
            raise ToolMissing(f"{argv[0]} is not installed here")
        why = os.strerror(program.refused) if program.refused else "it did not start"
        raise ToolError(f"{argv[0]} cannot be run: {why if known else f'it did not start within {START_S:g} s'}")
    handle = f"program-{next(_numbers)}"
    _programs[handle] = program
    return {"handle": handle, "pid": program.pid}


def await_program(handle: str, timeout_s: float, listening: int | None = None) -> ProgramState:
    """Service ``await-program``: returns when the program has ended, or at the limit, or where that is given when it is
    ``listening`` at this TCP port.

    ``{"running", "pid", "status", "out", "err", "cut", "began_ns", "ended_ns", "ready"}``: status 128 + n after signal
    n; None while it runs, or where nobody saw its end; ``cut``: more was printed than is kept; instants are this host's
    wall clock; ``ready``: what was waited for has come. The handle stays good until ``stop-program``.
    """
    program = _program_of(handle)
    until_s = time.monotonic() + timeout_s
    with program.changed:
        while True:
            ready = listening is not None and program.pid is not None and _listens(program.pid, listening)
            left_s = until_s - time.monotonic()
            if ready or program.gone or left_s <= 0:
                break
            program.changed.wait(left_s if listening is None else min(left_s, _LOOK_S))
        return program.state(ready=ready or (program.gone and listening is None))


def stop_program(handle: str) -> ProgramState:
    """Service ``stop-program``: asks it to end (SIGTERM), ends it and all that it started after ``GRACE_S``, and
    forgets it. The same as ``await-program``; an end that the kernel holds back for longer is not waited for."""
    program = _program_of(handle)
    del _programs[handle]
    program.ask_to_end()
    with program.changed:
        program.changed.wait_for(lambda: program.gone, GRACE_S)
    program.end()
    with program.changed:
        ended = program.changed.wait_for(lambda: program.gone, _HELD_S)
        return program.state(ready=ended)


def end_programs() -> None:
    """Ends all that this process started, and waits a moment for their supervisors."""
    left = [_programs.pop(handle) for handle in list(_programs)]
    for program in left:
        program.end()
    until_s = time.monotonic() + _HELD_S
    for program in left:
        with program.changed:
            program.changed.wait_for(lambda one=program: one.gone, max(0.0, until_s - time.monotonic()))  # type: ignore[misc]


# A process that is killed cannot do this: then the supervisors notice.
atexit.register(end_programs)


def _program_of(handle: str) -> _Program:
    if handle not in _programs:
        raise TonnageError(f"no program {handle!r} was started here, or it was stopped")
    return _programs[handle]


def _listens(pid: int, port: int) -> bool:
    """Whether a socket of this process takes connections at the port. It does not connect to find out: a server that
    accepts one client would take that connection for it."""
    held = set()
    with contextlib.suppress(OSError):
        for descriptor in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                held.add(str(descriptor.readlink()))
    for table in ("tcp", "tcp6"):
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
                fields = line.split()
                here = int(fields[1].rpartition(":")[2], 16) == port and fields[3] == _LISTENING
                if here and f"socket:[{fields[9]}]" in held:
                    return True
    return False
