"""The control socket of a mover: JSON lines over a UNIX socket in its state directory, for the same user and root."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import socket
import stat
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import cast

from tonnage.errors import TonnageError
from tonnage.staging.mover_status import Reply, Status

SOCKET = "control.sock"
_LOCK = "lock"
"""Held by the mover of a state directory as long as its process lives (``crates/mover/src/preflight/lock.rs``)."""
_LONGEST_REQUEST = 1 << 16
_LONGEST_ANSWER = 1 << 24
"""Bytes of a line."""
_AT_ONCE = 32
_IDLE_S = 2.0
"""A connection that brings no whole request for so long, or takes no answer, makes room for others."""
_PATIENCE_S = 10.0
"""A mover whose process is stopped, or whose disk hangs, does not answer sooner."""
_LOOK_S = 0.05

Answer = Callable[[Mapping[str, object]], Mapping[str, object]]


class ControlError(TonnageError):
    """The mover does not answer, or says no."""


class NoMover(ControlError):
    """No mover runs with this state directory."""


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
        self._made = (state / SOCKET).lstat()
        self._socket.listen(_AT_ONCE)
        threading.Thread(target=self._accept, name="stage-control", daemon=True).start()

    def close(self) -> None:
        """Closes the socket; no request is answered any more."""
        # A thread in accept() wakes only by shutdown, not by close.
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._remove(self._made)

    def _remove(self, made: os.stat_result | None = None) -> None:
        """``made``: only that one; where the state directory was replaced, another mover has its own there."""
        file = self._state / SOCKET
        with suppress(FileNotFoundError, NotADirectoryError):
            found = file.lstat()
            if stat.S_ISSOCK(found.st_mode) and (made is None or os.path.samestat(found, made)):
                file.unlink()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError as error:
                if self._socket.fileno() < 0 or error.errno in (errno.EINVAL, errno.EBADF):
                    return
                # Without a free descriptor no client can be served; those in use are released later.
                time.sleep(_LOOK_S)
                continue
            connection.settimeout(_IDLE_S)
            if not _may_ask(connection):
                connection.close()
            elif not self._places.acquire(blocking=False):
                _refuse(connection)
            else:
                self._begin(connection)

    def _begin(self, connection: socket.socket) -> None:
        try:
            threading.Thread(target=self._serve, args=(connection,), name="stage-answer", daemon=True).start()
        except RuntimeError:
            # No more threads for this user.
            self._places.release()
            _refuse(connection)

    def _serve(self, connection: socket.socket) -> None:
        try:
            # A connection that says nothing for its time, or is gone, needs no answer.
            with connection, suppress(OSError):
                for line in _requests(connection):
                    connection.sendall(_line(self._reply(line)))
        finally:
            self._places.release()

    def _reply(self, line: bytes) -> Mapping[str, object]:
        if len(line) > _LONGEST_REQUEST:
            return {"error": f"a request has at most {_LONGEST_REQUEST:,} bytes"}
        try:
            request = json.loads(line)
            if not isinstance(request, dict):
                return {"error": "a request is a JSON object on one line"}
            return {"ok": self._answer(request)}
        except Exception as error:
            return {"error": str(error) or type(error).__name__}


def _requests(connection: socket.socket) -> Iterator[bytes]:
    """Lines as they come, and what is left at the end; of one that is too long its beginning. TimeoutError where a line
    is not whole in its time."""
    held, until = b"", time.monotonic() + _IDLE_S
    while True:
        line, end, rest = held.partition(b"\n")
        if end:
            connection.settimeout(_IDLE_S)
            yield line
            held, until = rest, time.monotonic() + _IDLE_S
            continue
        left = until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        connection.settimeout(left)
        came = connection.recv(_LONGEST_REQUEST)
        if not came:
            break
        # The rest of a request that is too long is read and dropped, so that its sender gets the answer.
        _, end, rest = came.partition(b"\n")
        held = held + came if len(held) <= _LONGEST_REQUEST else held + end + rest
    if held:
        connection.settimeout(_IDLE_S)
        yield held


def _refuse(connection: socket.socket) -> None:
    """Says why; a new connection has room for one line."""
    said = f"{_AT_ONCE} others are being served; hint: try again in {_IDLE_S:g} s"
    with connection, suppress(OSError):
        connection.sendall(_line({"error": said, "busy": True}))


def _line(answer: Mapping[str, object]) -> bytes:
    return json.dumps(answer).encode() + b"\n"


class Client:
    """A connection to the mover of a state directory. One that the mover gave up is made anew."""

    def __init__(self, state: Path) -> None:
        """NoMover where none runs; ControlError where one does and cannot be reached."""
        self._state = state
        self._connect(time.monotonic() + _PATIENCE_S)

    def _connect(self, until: float) -> None:
        while not (made := _connected(self._state)):
            if not holds(self._state):
                raise NoMover(f"no mover runs with the state {self._state}; hint: see `tonnage stage list`")
            # It is about to listen, or about to go.
            if time.monotonic() > until:
                raise ControlError(
                    f"a process holds the state {self._state} and does not listen; hint: see which it is in "
                    f"{self._state / _LOCK}, and end it"
                )
            time.sleep(_LOOK_S)
        self._socket, self._lines = made, made.makefile("rb")

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self._lines.close()
        self._socket.close()

    def status(self) -> Status:
        """Returns everything at one moment; errors as of :meth:`ask`."""
        return cast("Status", self.ask("status"))

    def rescan(self) -> int:
        """Asks for a scan of the whole source, which is over when ``scans`` of the status has reached the number."""
        return cast("int", self.ask("rescan")["scans"])

    def ask(self, do: str, **more: int | None) -> Mapping[str, object]:
        """One request; NoMover where the mover ended meanwhile, ControlError where it refuses or hangs."""
        until = time.monotonic() + _PATIENCE_S
        while True:
            reply = self._asked(json.dumps({"do": do, **more}).encode() + b"\n", until)
            if reply is not None and not reply.get("busy"):
                break
            if reply is not None and time.monotonic() > until:
                raise ControlError(f"the mover of {self._state} is busy: {reply['error']}")
            if reply is None and not holds(self._state):
                raise NoMover("the mover has ended")
            time.sleep(_LOOK_S)
            self.__exit__()
            self._connect(until)
        if "ok" not in reply:
            raise ControlError(str(reply.get("error", "the mover's answer is none")))
        return reply["ok"]

    def _asked(self, request: bytes, until: float) -> Reply | None:
        """None where the connection ended without an answer."""
        try:
            self._socket.settimeout(max(until - time.monotonic(), _LOOK_S))
            # One that was turned away has its answer before it asks.
            with suppress(BrokenPipeError, ConnectionResetError):
                self._socket.sendall(request)
            line = self._lines.readline(_LONGEST_ANSWER)
        except TimeoutError:
            raise ControlError(
                f"the mover does not answer within {_PATIENCE_S:g} s; hint: see whether its process is stopped (ps)"
            ) from None
        except OSError:
            line = b""
        if not line.endswith(b"\n"):
            return None
        try:
            reply = json.loads(line)
        except ValueError:
            reply = None
        if not isinstance(reply, dict):
            raise ControlError(f"what listens in {self._state} is no mover; hint: see `tonnage stage list`")
        return cast("Reply", reply)


def _connected(state: Path) -> socket.socket | None:
    """None where no process listens."""
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    made.settimeout(_PATIENCE_S)
    try:
        with _short(state) as address:
            made.connect(address)
        return made
    except OSError as error:
        made.close()
        if isinstance(error, (FileNotFoundError, NotADirectoryError, ConnectionRefusedError)):
            return None
        if isinstance(error, PermissionError):
            raise ControlError(f"the mover of {state} is another user's; hint: ask as that user, or as root") from None
        raise ControlError(
            f"the mover of {state} does not take connections: {error.strerror or error}; hint: try again"
        ) from None


def holds(state: Path) -> bool:
    """Whether a process has the lock of a state directory, and so may be its mover. ControlError where that cannot be
    found out."""
    try:
        lock = os.open(state / _LOCK, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise ControlError(
            f"cannot find out whether a mover runs with the state {state}: {error.strerror}; hint: ask as its user"
        ) from None
    try:
        # A shared lock, for a moment: a mover that wants it exclusively tries again.
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        # A file system without locks has no mover either: it could not have begun.
        return False
    finally:
        os.close(lock)
    return False


def answers(state: Path) -> bool:
    """Whether a mover runs there, as far as can be found out without waiting for it."""
    try:
        if made := _connected(state):
            made.close()
            return True
        return holds(state)
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
