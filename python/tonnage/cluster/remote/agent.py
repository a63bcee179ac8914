"""``tonnage agent``: a process on a remote host that performs services until its pipe ends.

Started by ``tonnage.cluster.remote`` over ssh or by a scheduler, never by hand. Imports little, so that a host answers
soon; each service runs in a thread of its own, so that one which a dead mount holds does not hold the others.
"""

from __future__ import annotations

import json
import os
import platform
import signal
import sys
import threading
from types import FrameType
from typing import Any, TypedDict

from tonnage import __version__
from tonnage.cluster.host_group import SERVICES, Answer, Arguments, perform
from tonnage.cluster.remote.programs import end_programs

HELLO = b"tonnage-agent "
MOST_LINE = 128 << 20
"""Bytes of one line: two full outputs of a program fit, each byte escaped."""
MOST_NOISE = 64 << 10
"""Bytes that a login may print before the first line."""


class Hello(TypedDict):
    """Of the far end."""

    version: str
    host: str
    python: str
    pid: int


class Request(TypedDict):
    """A service that is wanted; the answer has its number."""

    id: int
    service: str
    arguments: Arguments


class Reply(TypedDict):
    """``host_group.Answer`` to a request."""

    id: int
    value: Any
    problem: str | None


def line(value: Hello | Request | Reply) -> bytes:
    """As it goes over the pipe; text that is no Unicode (a path's bytes) survives."""
    return json.dumps(value, separators=(",", ":")).encode("ascii") + b"\n"


def read(raw: bytes) -> Any:
    """The object of a line, of whichever kind was to come; ValueError where it is none."""
    try:
        value = json.loads(raw)
    except RecursionError:
        raise ValueError("too deep") from None
    if not isinstance(value, dict):
        raise ValueError("not an object")
    return value


_FOR_A_TERMINAL = "agent is what Tonnage starts on other hosts; hint: see `tonnage explain doctor-hosts`"


def serve() -> int:
    """Until standard input ends or a signal says so; ends every program that was started."""
    if os.isatty(0):
        sys.stderr.write(f"tonnage: error: {_FOR_A_TERMINAL}\n")
        return 2
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, _end)
    try:
        _answer_all()
    finally:
        end_programs()
        # Threads whose service the kernel holds would be waited for by Python's own exit.
        os._exit(0)


def _end(_number: int, _frame: FrameType | None) -> None:
    raise SystemExit


def _answer_all() -> None:
    # Whatever a service, or a program that it starts, prints must not get between the answers.
    outward, inward = os.dup(1), os.dup(0)
    os.dup2(2, 1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    said = _Replies(outward)
    hello = Hello(version=__version__, host=platform.node(), python=platform.python_version(), pid=os.getpid())
    said.write(HELLO + line(hello))
    with os.fdopen(inward, "rb") as requests:
        while raw := requests.readline(MOST_LINE):
            request = read(raw)
            threading.Thread(target=_do, args=(request, said), name=request["service"], daemon=True).start()


class _Replies:
    """The way back: whole lines, one after the other."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor, self._lock = descriptor, threading.Lock()

    def write(self, raw: bytes) -> None:
        with self._lock:
            left = memoryview(raw)
            while left:
                left = left[os.write(self._descriptor, left) :]


def _do(request: Request, said: _Replies) -> None:
    service = request["service"]
    try:
        answer = (
            perform(service, request["arguments"])
            if service in SERVICES
            else Answer(problem=f"it has no service {service!r}")
        )
        raw = line(Reply(id=request["id"], value=answer.value, problem=answer.problem))
    except Exception as error:
        # An error of this program: the caller gets it as an answer and does not wait.
        problem = f"{service} failed: {type(error).__name__}: {error}"
        raw = line(Reply(id=request["id"], value=None, problem=problem))
    try:
        said.write(raw)
    except OSError:
        # The caller is gone.
        os.kill(os.getpid(), signal.SIGTERM)
