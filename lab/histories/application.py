"""The application: a process that does to the source what it is told, one call after the other, and can be killed.

It keeps descriptors and mappings open across calls under the names of slots, until it closes them or is killed.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import mmap
import multiprocessing
import os
import random
import signal
import socket
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

_LIBC = ctypes.CDLL(None, use_errno=True)
_AT_FDCWD = -100
_EXCHANGE = 2
_FICLONE = 0x40049409
PREALLOCATE, PUNCH, ZERO = 1, 3, 16
"""Modes of fallocate, each of which keeps the size or is told a range within it."""

Written = tuple[bool, list[str]]
"""Whether the file was made, and which of its names it had while it was open."""


def body(size: int, seed: int) -> bytes:
    """Bytes that no other seed gives."""
    return random.Random(seed).randbytes(size)


def _called(result: int) -> None:
    if result:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _write(file: int, data: bytes, offset: int) -> None:
    while data:
        written = os.pwrite(file, data, offset)
        data, offset = data[written:], offset + written


class Calls:
    """Each method is one verb. Those that change a file's bytes return which of its names it had while it was open."""

    def __init__(self, root: Path) -> None:
        self._root = os.fspath(root)
        self._files: dict[str, int] = {}
        self._maps: dict[str, mmap.mmap] = {}

    def at(self, path: str) -> str:
        return f"{self._root}/{path}"

    def _names(self, file: int, names: list[str]) -> list[str]:
        about, kept = os.fstat(file), []
        for name in names:
            with contextlib.suppress(OSError):
                found = os.lstat(self.at(name))
                if (found.st_dev, found.st_ino) == (about.st_dev, about.st_ino):
                    kept.append(name)
        return kept

    @contextlib.contextmanager
    def _opened(self, path: str, flags: int = os.O_RDWR) -> Iterator[int]:
        file = os.open(self.at(path), flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o644)
        try:
            yield file
        finally:
            os.close(file)

    @contextlib.contextmanager
    def _emptied(self, path: str) -> Iterator[tuple[int, bool]]:
        """And whether it was made just now."""
        try:
            file = os.open(self.at(path), os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
            made = True
        except FileExistsError:
            file = os.open(self.at(path), os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            made = False
        try:
            os.ftruncate(file, 0)
            yield file, made
        finally:
            os.close(file)

    def write(self, path: str, size: int, seed: int, names: list[str]) -> Written:
        with self._emptied(path) as (file, made):
            _write(file, body(size, seed), 0)
            return made, self._names(file, names)

    def append(self, path: str, size: int, seed: int, names: list[str]) -> list[str]:
        with self._opened(path) as file:
            _write(file, body(size, seed), os.fstat(file).st_size)
            return self._names(file, names)

    def pwrite(self, path: str, offset: int, size: int, seed: int, names: list[str]) -> list[str]:
        with self._opened(path) as file:
            _write(file, body(size, seed), offset)
            return self._names(file, names)

    def rewrite(self, path: str, seed: int, names: list[str]) -> list[str]:
        """Rewrites a file in place, with the same size, and puts its time of change back."""
        with self._opened(path) as file:
            about = os.fstat(file)
            _write(file, body(about.st_size, seed), 0)
            os.utime(file, ns=(about.st_atime_ns, about.st_mtime_ns))
            return self._names(file, names)

    def truncate(self, path: str, size: int, names: list[str]) -> list[str]:
        with self._opened(path) as file:
            os.ftruncate(file, size)
            return self._names(file, names)

    def store(self, path: str, offset: int, size: int, seed: int, names: list[str]) -> list[str]:
        """Through a mapping whose pages are read before, after its descriptor is closed."""
        with self._opened(path) as file:
            named = self._opened(path, os.O_PATH)
            mapped = mmap.mmap(file, 0)
        with named as file, mapped:
            sum(mapped[::4096])
            mapped[offset : offset + size] = body(size, seed)
            return self._names(file, names)

    def open(self, slot: str, path: str, names: list[str]) -> list[str]:
        self.close(slot)
        self._files[slot] = os.open(self.at(path), os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
        return self._names(self._files[slot], names)

    def fwrite(self, slot: str, offset: int, size: int, seed: int) -> None:
        _write(self._files[slot], body(size, seed), offset)

    def map(self, slot: str, path: str, names: list[str]) -> list[str]:
        """The descriptor is closed, its pages are read."""
        self.close(slot)
        with self._opened(path) as file:
            self._maps[slot] = mmap.mmap(file, 0)
            sum(self._maps[slot][::4096])
            return self._names(file, names)

    def mstore(self, slot: str, offset: int, size: int, seed: int) -> None:
        self._maps[slot][offset : offset + size] = body(size, seed)

    def close(self, slot: str) -> None:
        if slot in self._files:
            os.close(self._files.pop(slot))
        if slot in self._maps:
            self._maps.pop(slot).close()

    def fallocate(self, path: str, mode: int, offset: int, size: int, names: list[str]) -> list[str]:
        with self._opened(path) as file:
            if mode != PREALLOCATE:
                size = min(size, max(0, os.fstat(file).st_size - offset))
            if not size:
                raise OSError(errno.EINVAL, "nothing there")
            _called(_LIBC.fallocate(file, mode, ctypes.c_long(offset), ctypes.c_long(size)))
            return self._names(file, names)

    @contextlib.contextmanager
    def _pair(self, path: str, other: str) -> Iterator[tuple[int, int, bool]]:
        with self._opened(path, os.O_RDONLY) as source:
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(source), os.lstat(self.at(other))):
                    raise OSError(errno.EINVAL, "the same file")
            with self._emptied(other) as (file, made):
                yield source, file, made

    def clone(self, path: str, other: str, names: list[str]) -> Written:
        """As ``cp --reflink=auto``: where the file system cannot clone, the bytes are written."""
        with self._pair(path, other) as (source, file, made):
            try:
                fcntl.ioctl(file, _FICLONE, source)
            except OSError:
                _write(file, os.pread(source, os.fstat(source).st_size, 0), 0)
            return made, self._names(file, names)

    def copyrange(self, path: str, other: str, names: list[str]) -> Written:
        with self._pair(path, other) as (source, file, made):
            while os.copy_file_range(source, file, 1 << 20):
                pass
            return made, self._names(file, names)

    def tmpfile(self, path: str, size: int, seed: int) -> None:
        """A file without a name, which gets one when it is whole."""
        directory = os.path.dirname(self.at(path))
        file = os.open(directory, os.O_TMPFILE | os.O_RDWR, 0o640)
        try:
            _write(file, body(size, seed), 0)
            os.link(f"/proc/self/fd/{file}", self.at(path), follow_symlinks=True)
        finally:
            os.close(file)

    def rename(self, path: str, other: str) -> None:
        os.rename(self.at(path), self.at(other))

    def exchange(self, path: str, other: str) -> None:
        old, new = os.fsencode(self.at(path)), os.fsencode(self.at(other))
        _called(_LIBC.renameat2(_AT_FDCWD, old, _AT_FDCWD, new, _EXCHANGE))

    def link(self, path: str, other: str) -> None:
        os.link(self.at(path), self.at(other), follow_symlinks=False)

    def unlink(self, path: str) -> None:
        os.unlink(self.at(path))

    def symlink(self, path: str, text: str) -> None:
        os.symlink(text, self.at(path))

    def fifo(self, path: str) -> None:
        os.mkfifo(self.at(path), 0o640)

    def socket(self, path: str) -> None:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(self.at(path))

    def mkdir(self, path: str) -> None:
        os.mkdir(self.at(path), 0o750)

    def rmdir(self, path: str) -> None:
        os.rmdir(self.at(path))

    def chmod(self, path: str, mode: int) -> None:
        os.chmod(self.at(path), mode)

    def chown(self, path: str, owner: int) -> None:
        os.lchown(self.at(path), owner, owner)

    def utime(self, path: str, ns: int) -> None:
        os.utime(self.at(path), ns=(ns, ns), follow_symlinks=False)

    def xattr(self, path: str, name: str, size: int, seed: int) -> None:
        os.setxattr(self.at(path), f"user.{name}", body(size, seed), follow_symlinks=False)

    def unxattr(self, path: str, name: str) -> None:
        os.removexattr(self.at(path), f"user.{name}", follow_symlinks=False)


def _serve(pipe: Connection, root: Path) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.umask(0o022)
    # A mover's standard input would never end while this process has a copy of it.
    os.closerange(3, pipe.fileno())
    os.closerange(pipe.fileno() + 1, 4096)
    calls = Calls(root)
    while True:
        try:
            verb, words = pipe.recv()
        except EOFError:
            return
        try:
            pipe.send((True, getattr(calls, verb)(*words)))
        except (OSError, ValueError, IndexError) as error:
            pipe.send((False, str(error)))


class Application:
    """The process. It starts again by itself with the first call after it was killed."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._process: Any = None
        self._pipe: Any = None

    def do(self, verb: str, *words: Any) -> tuple[bool, Any]:
        """Does the call; returns whether it succeeded, and its result or error."""
        if not self._process:
            context = multiprocessing.get_context("fork")
            self._pipe, theirs = context.Pipe()
            self._process = context.Process(target=_serve, args=(theirs, self._root), daemon=True)
            self._process.start()
            theirs.close()
        self._pipe.send((verb, words))
        answer: tuple[bool, Any] = self._pipe.recv()
        return answer

    def freeze(self, stopped: bool) -> None:
        if self._process:
            os.kill(self._process.pid, signal.SIGSTOP if stopped else signal.SIGCONT)

    def kill(self) -> bool:
        """Whether there was one to kill. All that it had open is closed by the kernel."""
        if not self._process:
            return False
        self._process.kill()
        self._process.join()
        self._process.close()
        self._pipe.close()
        self._process = self._pipe = None
        return True
