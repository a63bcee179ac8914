"""Starts ``./tonnage`` as a fork of a process that has imported it.

Most tests of the command ask what it prints, writes and ends with. Three quarters of such a command's time are imports,
the same each time. ``finished`` forks a process that has them, and this fork goes the whole way from
``python -m tonnage.cli`` on, with standard streams, environment, directory and exit code of its own, on the processors
of the test. The launcher, the first start, signals, and what acts on a process that starts are tested with processes
from nothing, as are all where ``TONNAGE_COLD`` is set (``make nightly``).
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LAUNCHER = ROOT / "tonnage"
PYTHON = ROOT / ".venv/bin/python"
IMPORTED = (
    "tonnage.cli.entry", "tonnage.cli.runs", "tonnage.cli.commands.run", "tonnage.cli.commands.probe",
    "tonnage.cli.commands.stage", "tonnage.cli.commands.submit", "tonnage.cli.commands.report",
    "tonnage.cli.commands.verify", "tonnage.campaign.run_lifecycle", "tonnage.analysis.findings.finding_rules",
    "tonnage.report.search_screen", "tonnage.report.page", "tonnage.report.sections", "tonnage.staging",
    "numpy.ma", "rich.table",
)  # fmt: skip
"""What any command may import, and what these import."""
_AT_START = ("LD_", "PYTHON", "LC_", "LANG", "MALLOC", "GLIBC", "TONNAGE_COLD", "TONNAGE_PYTHON", "OPENBLAS", "OMP_")
"""How the names of variables begin that act on a process when it starts."""
_LENGTH = 8


def finished(
    *words: str | Path,
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
    timeout: float = 240,
    text: str = "",
) -> subprocess.CompletedProcess[str]:
    """``./tonnage WORDS`` with ``text`` as its input, at its end, with what it printed.
    Raises subprocess.TimeoutExpired."""
    variables = os.environ if environment is None else environment
    argv, where = [os.fspath(word) for word in words], cwd or Path.cwd()
    if not text and _may_fork(variables):
        return _forked(argv, where, variables, timeout)
    return subprocess.run(
        [LAUNCHER, *argv], cwd=where, env=variables, input=text, capture_output=True, text=True,
        timeout=timeout, check=False,
    )  # fmt: skip


def _may_fork(environment: Mapping[str, str]) -> bool:
    """Whether nothing in that environment acts on a process that starts."""
    return "TONNAGE_COLD" not in os.environ and PYTHON.exists() and _at_start(environment) == _began_with()


def _forked(
    words: Sequence[str], cwd: Path, environment: Mapping[str, str], timeout: float
) -> subprocess.CompletedProcess[str]:
    here, there = socket.socketpair()
    (out, to_out), (err, to_err) = os.pipe(), os.pipe()
    nothing = os.open(os.devnull, os.O_RDONLY)
    request = {
        "words": words, "cwd": str(cwd), "environment": dict(environment), "umask": _umask(),
        "processors": sorted(os.sched_getaffinity(0)),
    }  # fmt: skip
    try:
        _server().ask(request, [there.fileno(), nothing, to_out, to_err])
    finally:
        there.close()
        for descriptor in (nothing, to_out, to_err):
            os.close(descriptor)
    with here, ThreadPoolExecutor(2) as pool:
        texts = [pool.submit(_text, descriptor) for descriptor in (out, err)]
        pid = _number(here)
        here.settimeout(timeout)
        try:
            status = _number(here)
        except TimeoutError:
            print(_waits(pid), file=sys.stderr)
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            raise subprocess.TimeoutExpired([*words], timeout) from None
        # As a pipe's reader does: until nothing that the command has started writes any more.
        said, complained = (each.result() for each in texts)
    return subprocess.CompletedProcess([*words], os.waitstatus_to_exitcode(status), said, complained)


def _text(descriptor: int) -> str:
    with os.fdopen(descriptor, encoding="utf-8") as file:
        return file.read()


def _waits(pid: int) -> str:
    """What each process of a tree and each of its threads waits for in the kernel, a line each; root sees the stack."""
    found = []
    for task in sorted(Path(f"/proc/{pid}/task").glob("*")):
        with contextlib.suppress(OSError):
            facts = [(task / name).read_text().strip() for name in ("comm", "wchan", "syscall")]
            stack = (task / "stack").read_text().split() if os.geteuid() == 0 else []
            found.append(" ".join([task.name, *facts, *(word for word in stack if "+" in word)]))
            for child in (task / "children").read_text().split():
                found.append(_waits(int(child)))
    return "\n".join(found)


def end() -> None:
    """Ends the process that is forked, if there is one."""
    if _server.cache_info().currsize:
        _server().end()
        _server.cache_clear()


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _at_start(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(_AT_START)}


@lru_cache(maxsize=1)
def _began_with() -> dict[str, str]:
    return _at_start(os.environ)


class _Server:
    """The process that is forked; it ends when this one does."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair()
        self._lock = threading.Lock()
        with theirs:
            argv = [PYTHON, "-I", __file__, str(theirs.fileno())]
            self._process = subprocess.Popen(argv, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)

    def ask(self, request: Mapping[str, Any], descriptors: list[int]) -> None:
        text = json.dumps(request).encode()
        with self._lock:
            socket.send_fds(self._socket, [len(text).to_bytes(_LENGTH, "little")], descriptors)
            self._socket.sendall(text)

    def end(self) -> None:
        self._socket.close()
        self._process.wait()


@lru_cache(maxsize=1)
def _server() -> _Server:
    return _Server()


def _number(connection: socket.socket) -> int:
    return int.from_bytes(_received(connection, _LENGTH), "little")


def _received(connection: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        more = connection.recv(size - len(found))
        if not more:
            raise EOFError("the process that starts commands has ended")
        found += more
    return found


def _serve(descriptor: int) -> None:
    """Forks for each request, until the process that asks has ended."""
    import gc

    for name in IMPORTED:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those that wait
    with socket.socket(fileno=descriptor) as requests:
        while True:
            length, descriptors, _, _ = socket.recv_fds(requests, _LENGTH, 4)
            if not length:
                return
            length += _received(requests, _LENGTH - len(length))
            request = json.loads(
                _received(requests, int.from_bytes(length, "little")).decode("utf-8", "surrogateescape")
            )
            if os.fork() == 0:
                requests.close()
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                _wait_for(request, *descriptors)
            for each in descriptors:
                os.close(each)


def _wait_for(request: dict[str, Any], answer: int, *streams: int) -> None:
    """Forks the command, and tells its number and how it ended."""
    pid = os.fork()
    if pid == 0:
        os.close(answer)
        _be_command(request, *streams)
    for each in streams:
        os.close(each)
    os.write(answer, pid.to_bytes(_LENGTH, "little"))
    _, status = os.waitpid(pid, 0)
    os.write(answer, status.to_bytes(_LENGTH, "little"))
    os._exit(0)


def _be_command(request: dict[str, Any], *streams: int) -> None:
    import runpy

    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.umask(request["umask"])
    os.sched_setaffinity(0, request["processors"])
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["environment"])
    # Those of the process that is forked know of its files what is not true of these.
    sys.stdin, sys.stdout, sys.stderr = (
        io.TextIOWrapper(os.fdopen(number, mode, closefd=False), old.encoding, old.errors, line_buffering=number == 2)
        for number, (mode, old) in enumerate((("rb", sys.stdin), ("wb", sys.stdout), ("wb", sys.stderr)))
    )
    sys.argv = [PYTHON.name, *request["words"]]
    runpy.run_module("tonnage.cli", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    _serve(int(sys.argv[1]))
