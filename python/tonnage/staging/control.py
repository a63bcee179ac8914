"""The control socket of a mover: JSON lines over a UNIX socket in its state directory, for the same user and root."""

from __future__ import annotations

import json
import os
import socket
import stat
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tonnage.errors import TonnageError

SOCKET = "control.sock"
_LONGEST = 1 << 20
"""Bytes of a line, either way."""
_AT_ONCE = 32
_PATIENCE_S = 10.0
"""A mover whose process is stopped, or whose disk hangs, does not answer sooner."""

Answer = Callable[[Mapping[str, Any]], Mapping[str, Any]]


class ControlError(TonnageError):
    """The mover does not answer, or says no."""


class NoMover(ControlError):
    """Nobody listens: no mover runs with this state directory."""


class Server:
    """Answers in threads of its own until ``close``."""

    def __init__(self, state: Path, answer: Answer) -> None:
        """The caller holds the mover's lock: a socket that is there already is a dead mover's."""
        self._state, self._answer = state, answer
        self._places = threading.BoundedSemaphore(_AT_ONCE)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            with _short(state) as address:
                self._remove()
                self._socket.bind(address)
        except OSError as error:
            self._socket.close()
            raise ControlError(
                f"cannot make the control socket in {state}: {error.strerror or error}; "
                "hint: give --state a directory on a local file system"
            ) from None
        (state / SOCKET).chmod(0o600)
        self._socket.listen(_AT_ONCE)
        threading.Thread(target=self._accept, name="stage-control", daemon=True).start()

    def close(self) -> None:
        """From now on nobody answers."""
        # A thread in accept() wakes only by shutdown, not by close.
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._remove()

    def _remove(self) -> None:
        file = self._state / SOCKET
        with suppress(FileNotFoundError):
            if stat.S_ISSOCK(file.lstat().st_mode):
                file.unlink()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            if not _may_ask(connection) or not self._places.acquire(blocking=False):
                connection.close()
                continue
            threading.Thread(target=self._serve, args=(connection,), name="stage-answer", daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection, connection.makefile("rb") as lines, suppress(OSError):
                while line := lines.readline(_LONGEST):
                    connection.sendall(json.dumps(self._reply(line)).encode() + b"\n")
        finally:
            self._places.release()

    def _reply(self, line: bytes) -> Mapping[str, Any]:
        try:
            request = json.loads(line)
            if not isinstance(request, dict):
                return {"error": "a request is a JSON object on one line"}
            return {"ok": self._answer(request)}
        except (TonnageError, ValueError, KeyError, TypeError, OSError) as error:
            return {"error": str(error) or type(error).__name__}


class Client:
    """A connection to the mover of a state directory."""

    def __init__(self, state: Path) -> None:
        """NoMover where none runs."""
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(_PATIENCE_S)
        try:
            with _short(state) as address:
                self._socket.connect(address)
        except OSError as error:
            self._socket.close()
            if isinstance(error, (FileNotFoundError, NotADirectoryError, ConnectionRefusedError)):
                raise NoMover(f"no mover runs with the state {state}; hint: see `tonnage stage list`") from None
            if isinstance(error, PermissionError):
                raise ControlError(
                    f"the mover of {state} is another user's; hint: ask as that user, or as root"
                ) from None
            raise ControlError(
                f"the mover of {state} does not take connections: {error.strerror or error}; hint: try again"
            ) from None
        self._lines = self._socket.makefile("rb")

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self._lines.close()
        self._socket.close()

    def ask(self, do: str, **more: Any) -> dict[str, Any]:
        """One request; NoMover where the mover ended meanwhile, ControlError where it refuses or hangs."""
        try:
            self._socket.sendall(json.dumps({"do": do, **more}).encode() + b"\n")
            line = self._lines.readline(_LONGEST)
        except TimeoutError:
            raise ControlError(
                f"the mover does not answer within {_PATIENCE_S:g} s; hint: see whether its process is stopped (ps)"
            ) from None
        except OSError:
            line = b""
        if not line.endswith(b"\n"):
            raise NoMover("the mover has ended")
        reply = json.loads(line)
        if "error" in reply:
            raise ControlError(reply["error"])
        found: dict[str, Any] = reply["ok"]
        return found


def answers(state: Path) -> bool:
    """Whether a mover listens there."""
    try:
        with Client(state):
            return True
    except NoMover:
        return False
    except ControlError:
        return True


def _may_ask(connection: socket.socket) -> bool:
    """The same user, or root."""
    size = struct.calcsize("3i")
    _pid, uid, _gid = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
    return uid in (os.geteuid(), 0)


@contextmanager
def _short(state: Path) -> Iterator[str]:
    """The socket's address through a handle on its directory: a socket's may have 107 bytes, a directory's more."""
    directory = os.open(state, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{directory}/{SOCKET}"
    finally:
        os.close(directory)
