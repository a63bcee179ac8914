"""Gives a call that accesses a file system a time limit: an access to the mount of a dead server blocks for ever.

The call runs in a child process of its own. One that the kernel holds is left behind, never waited for.
"""

from __future__ import annotations

import marshal
import os
import select
import signal
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn, TypeVar, cast

from tonnage.errors import RequestError

_T = TypeVar("_T")
_GRACE_S = 0.2
"""How long a killed child gets to go: longer means that the kernel holds it, or that the machine is busy."""
_left: list[int] = []
"""Children that had not gone by then; collected by a later call, once they have."""


def in_time(call: Callable[[], _T], *, timeout_s: float) -> _T:
    """What ``call`` returns: numbers, text, bytes, and lists, tuples, sets and dictionaries of them.

    Raises TimeoutError where it did not return in time, and the OSError or RequestError that it raised.
    """
    readable, writable = os.pipe()
    with warnings.catch_warnings():
        # A child that another thread's lock would stop is ended at the limit like one that the kernel holds.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        _answer(call, writable)
    os.close(writable)
    try:
        raw = _read(readable, time.monotonic() + timeout_s)
    finally:
        os.close(readable)
        _reap(child)
    # The child is a fork of this program: no other program has written to the pipe.
    kind, value = marshal.loads(raw) if raw else ("error", [0, "the process that examined it ended without an answer"])
    if kind == "error":
        raise OSError(value[0], value[1], *value[2:])
    if kind == "refused":
        raise RequestError(value)
    return cast("_T", value)


def _answer(call: Callable[[], Any], writable: int) -> NoReturn:
    """The child process. It keeps no descriptor open that another process may wait for: it may outlive this process by
    far."""
    status = 1
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        nothing = os.open(os.devnull, os.O_RDWR)
        writable = os.dup2(writable, max(3, nothing, writable) + 1)
        for standard in (0, 1, 2):
            os.dup2(nothing, standard)
        os.closerange(3, writable)
        os.closerange(writable + 1, os.sysconf("SC_OPEN_MAX"))
        try:
            said: tuple[str, Any] = ("value", call())
        except OSError as error:
            named = [] if error.filename is None else [os.fsdecode(error.filename)]
            said = ("error", [error.errno, error.strerror, *named])
        except RequestError as error:
            said = ("refused", str(error))
        left = marshal.dumps(said)
        while left:
            left = left[os.write(writable, left) :]
        status = 0
    finally:
        os._exit(status)


def _read(readable: int, until_s: float) -> bytes:
    chunks: list[bytes] = []
    while True:
        ready, _, _ = select.select([readable], [], [], max(0.0, until_s - time.monotonic()))
        if not ready:
            raise TimeoutError
        chunk = os.read(readable, 1 << 16)
        if not chunk:
            return b"".join(chunks)
        chunks.append(chunk)


def _reap(child: int) -> None:
    """Ends and collects it; leaves one that does not go to a later call."""
    until_s = time.monotonic() + _GRACE_S
    for old in _left[:]:
        if _has_gone(old):
            with suppress(ValueError):  # another thread has just removed it
                _left.remove(old)
    with suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    while not _has_gone(child):
        if time.monotonic() > until_s:
            _left.append(child)
            return
        time.sleep(0.0005)


def _has_gone(child: int) -> bool:
    """Whether the child is collected now. Where SIGCHLD is ignored the kernel collects children itself."""
    try:
        return os.waitpid(child, os.WNOHANG)[0] != 0
    except ChildProcessError:
        return True
