"""A site's own tools (``lfs``, ``squeue``, ``ceph``…), asked with an argument list and a time limit."""

from __future__ import annotations

import atexit
import os
import selectors
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import IO

from tonnage.errors import TonnageError
from tonnage.program_places import is_stand_in

MOST_TEXT = 64 << 20
"""Bytes that a tool may print: the queue of a large site is some MB."""
_AT_ONCE = 1 << 16
_AFTER_S = 0.25
_RUNNING: set[subprocess.Popen[bytes]] = set()
"""Tools that this process waits for, in whichever thread."""
_STARTING: set[object] = set()
"""One for each tool that begins: its process may exist and is not among the running ones yet."""
_START_TAKES_AT_MOST_S = 2.0
_ENDING = threading.Event()
"""This process ends: no thread is left that could end a tool at its limit."""


class ToolError(TonnageError):
    """A tool that is missing, refuses or does not answer; the text has its own words."""

    def __init__(self, text: str, *, status: int | None = None, errors: str = "", out: str = "") -> None:
        super().__init__(text)
        self.status = status
        """Its exit status, below 0 where a signal ended it; None where it never ran or did not end."""
        self.errors = errors
        """Its standard error."""
        self.output = errors + out
        """All that it printed, its errors first."""


class ToolMissing(ToolError):
    """It is not installed here: nothing was asked."""


class ToolSilent(ToolError):
    """It gave no answer within its time, or one without end, and was ended: whether it did what it was asked is not
    known."""


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a tool that ended with status 0 printed."""

    out: str
    err: str


def ask(
    argv: Sequence[str],
    *,
    timeout_s: float,
    text: str = "",
    environment: Mapping[str, str] | None = None,
    directory: str | None = None,
    outlived: bool = False,
) -> ToolOutput:
    """Runs a tool to its end, with ``text`` on its standard input, and returns what it said.

    Its environment is this process's in the C locale, or the one given as it is: a job gets that of its submission.
    It has a session of its own, so that a Ctrl-C meant for us does not cut a submission in two, and so that all it
    started ends with it at the time limit, or with this process, on Ctrl-C too. ToolMissing, ToolSilent (also where it
    prints without end), or ToolError with the first line that it said. ``outlived``: its limit holds also where this
    process is killed before.
    """
    command = [*(_limited(argv[0], timeout_s) if outlived else ()), *argv]
    variables = {**os.environ, "LC_ALL": "C"} if environment is None else dict(environment)
    with _started(command, variables, directory) as process:
        try:
            out, err = _conversation(process, os.fsencode(text), until_s=time.monotonic() + timeout_s)
        except subprocess.TimeoutExpired:
            _end(process)
            raise ToolSilent(f"{argv[0]} did not answer within {timeout_s:g} s") from None
        except _TooMuch:
            _end(process)
            raise ToolSilent(f"{argv[0]} printed more than {MOST_TEXT >> 20} MiB") from None
        except BaseException:
            _end(process)
            raise
    said = ToolOutput(_text(out), _text(err))
    if process.returncode:
        line = next((line.strip() for line in (said.err + "\n" + said.out).splitlines() if line.strip()), "")
        error_line = f": {line[:500]}" if line else ""
        text = f"{argv[0]} {_end_of(process.returncode)}{error_line}"
        raise ToolError(text, status=process.returncode, errors=said.err, out=said.out)
    return said


def _end_of(status: int) -> str:
    return f"failed with status {status}" if status > 0 else f"was ended by signal {-status}"


def site_tool(name: str) -> str:
    """What to run for a tool that ``tonnage compat install`` may have hidden: its name, or the path of the first that
    is not ours. ToolMissing where there is none but ours, which would ask this very program again."""
    first = shutil.which(name)
    if first is None or not is_stand_in(first):
        return name
    every = (shutil.which(name, path=directory) for directory in os.get_exec_path())
    found = next((file for file in every if file is not None and not is_stand_in(file)), None)
    if found is None:
        raise ToolMissing(f"{name} is not installed here, but for tonnage's own")
    return found


def _limited(program: str, timeout_s: float) -> list[str]:
    """A command prefix that ends the tool and all that it started at the limit, also where this process has ended.
    ToolMissing."""
    if shutil.which(program) is None:
        raise ToolMissing(f"{program} is not installed here")
    # A little later than the caller's limit, which messages name.
    return ["timeout", "--signal=KILL", f"{timeout_s + _AFTER_S:g}"]


@contextmanager
def _started(
    command: Sequence[str], variables: Mapping[str, str], directory: str | None
) -> Iterator[subprocess.Popen[bytes]]:
    """A tool in a session of its own. An interrupt reaches the main thread alone, and a tool that another thread starts
    or waits for ends with this process. ToolMissing, ToolError."""
    start = object()
    _STARTING.add(start)
    try:
        process = _popen(command, variables, directory)
        _RUNNING.add(process)
    finally:
        _STARTING.discard(start)
    try:
        if _ENDING.is_set():
            _kill(process)
        with process:
            yield process
    finally:
        _RUNNING.discard(process)


def _popen(command: Sequence[str], variables: Mapping[str, str], directory: str | None) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=variables,
            cwd=directory,
            start_new_session=True,
        )
    except FileNotFoundError:
        raise ToolMissing(f"{command[0]} is not installed here") from None
    except OSError as error:
        raise ToolError(f"{command[0]} cannot be run: {error.strerror}") from None


def _end_all() -> None:
    _ENDING.set()
    # Threads go on until this function returns; one that has started a tool has to name it first.
    end_s = time.monotonic() + _START_TAKES_AT_MOST_S
    while _STARTING and time.monotonic() < end_s:
        time.sleep(0.001)
    for process in [*_RUNNING]:
        _kill(process)


def _forget_all() -> None:
    _RUNNING.clear()
    _STARTING.clear()


atexit.register(_end_all)
# A child that was forked waits for none of them.
os.register_at_fork(after_in_child=_forget_all)


class _TooMuch(Exception):
    """The tool prints more than the limit."""


def _conversation(process: subprocess.Popen[bytes], text: bytes, *, until_s: float) -> tuple[bytes, bytes]:
    """As ``Popen.communicate``, which keeps all that a tool prints. TimeoutExpired, _TooMuch."""
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    said: dict[IO[bytes], bytearray] = {process.stdout: bytearray(), process.stderr: bytearray()}
    rest = memoryview(text)
    with selectors.DefaultSelector() as waiting:
        for pipe in said:
            waiting.register(pipe, selectors.EVENT_READ)
        os.set_blocking(process.stdin.fileno(), False)
        waiting.register(process.stdin, selectors.EVENT_WRITE)
        while waiting.get_map():
            left_s = until_s - time.monotonic()
            for key, _ in waiting.select(max(0.0, left_s)):
                if key.fileobj is process.stdin:
                    rest = _written(key.fd, rest)
                    ended = not rest
                else:
                    got = os.read(key.fd, _AT_ONCE)
                    said[key.fileobj].extend(got)  # type: ignore[index]
                    ended = not got
                if ended:
                    waiting.unregister(key.fileobj)
                    key.fileobj.close()  # type: ignore[union-attr]
            if left_s <= 0 and waiting.get_map():
                raise subprocess.TimeoutExpired(process.args, 0)
            if sum(map(len, said.values())) > MOST_TEXT:
                raise _TooMuch
    process.wait(max(0.0, until_s - time.monotonic()))
    return bytes(said[process.stdout]), bytes(said[process.stderr])


def _written(descriptor: int, rest: memoryview) -> memoryview:
    """The bytes still to be written; none where the reader is gone."""
    try:
        return rest[os.write(descriptor, rest[:_AT_ONCE]) :]
    except BrokenPipeError:
        return rest[:0]
    except BlockingIOError:
        return rest


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends it and all in its session; one that the kernel holds (a dead mount) is left behind, not waited for."""
    _kill(process)
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
    try:
        process.wait(0.2)
    except subprocess.TimeoutExpired:
        # Popen's own exit would wait for it forever.
        process.returncode = -signal.SIGKILL


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kills it and all in its session, unless its end was collected already: then the PID may be another process's."""
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", errors="surrogateescape")
