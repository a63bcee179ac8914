"""Output files at places that a user names: created, or replaced where the old file is an output of the same kind.
Anything else of that name is kept: another file of the user, a link, a file with a second name, a device.
"""

from __future__ import annotations

import ctypes
import errno
import os
import re
import secrets
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TextIO

from tonnage.errors import RequestError

_LONGEST_LINE = 1 << 16
_NOWHERE = Path(os.devnull)
"""The only device that may be named: scripts discard outputs there."""
_CWD, _EXCHANGE = -100, 2
"""``AT_FDCWD`` and ``RENAME_EXCHANGE`` of Linux."""

_FRESH = re.compile(r"\.tonnage-[0-9a-f]{16}")
"""The name that a file is made under."""


@dataclass(frozen=True, slots=True)
class Form:
    """What an output looks like. ``recognises`` gets a file at its beginning, which is not empty."""

    name: str
    recognises: Callable[[BinaryIO], bool]


def lines(name: str, first: str, others: str | None = None) -> Form:
    """The form of a text whose first line is ``first`` and each other one ``others``, as regular expressions."""
    head, rest = re.compile(first.encode()), re.compile(others.encode()) if others else None

    def recognises(file: BinaryIO) -> bool:
        wanted: re.Pattern[bytes] | None = head
        while line := file.readline(_LONGEST_LINE):
            if wanted is None or not wanted.fullmatch(line.removesuffix(b"\n")):
                return False
            wanted = rest
        return True

    return Form(name, recognises)


@dataclass(frozen=True, slots=True)
class Output:
    """One file that is to be written. ``asked_by``: the option that names it. ``otherwise``: what to do where it cannot
    be."""

    path: Path
    asked_by: str
    form: Form
    otherwise: str = "move it away, or give another place"

    def check(self) -> os.stat_result | None:
        """Returns the file of that name if it may be replaced; None: there is none. RequestError for anything else."""
        if self.path == _NOWHERE:
            return None
        parent = self.path.parent
        if not parent.is_dir():
            raise self._refused(f"{parent} is not a directory", "make it first, or give another place")
        try:
            found = self.path.lstat()
        except FileNotFoundError:
            if not _takes_files(parent):
                raise self._refused(f"nothing can be written in {parent}") from None
            return None
        except OSError as error:
            raise self._refused(f"{self.path} cannot be replaced: {error.strerror}") from None
        if stat.S_ISLNK(found.st_mode):
            raise self._refused(f"{self.path} is a link, and is not followed")
        if not stat.S_ISREG(found.st_mode):
            raise self._refused(f"{self.path} cannot be replaced: it is not a regular file")
        if found.st_nlink == 2:
            found = self._with_one_name(found)
        if found.st_nlink != 1:
            raise self._refused(f"{self.path} cannot be replaced: it has {found.st_nlink} names")
        # Root could write it, but a read-only file is meant to be kept.
        if not os.access(self.path, os.W_OK) or not found.st_mode & 0o222:
            raise self._refused(f"{self.path} cannot be replaced: {os.strerror(errno.EACCES)}")
        if not self._is_ours():
            raise self._refused(f"{self.path} is there and is not {self.form.name}")
        return found

    def write(self, text: str) -> None:
        """The whole file or none of it.

        RequestError for what ``check`` refuses, OSError where it cannot be written; the old file is then kept.
        """
        self._put(text, self.check())

    def make(self, text: str) -> None:
        """The same where nothing has the name: RequestError where anything has."""
        if self.path != _NOWHERE and os.path.lexists(self.path):
            raise self._refused(f"{self.path} is there")
        self.check()
        self._put(text, None)

    def begin(self, found: os.stat_result | None) -> TextIO:
        """An empty file in its place, for what comes line by line. ``found`` is what ``check`` returned before; what
        came since then stays, and is a RequestError. OSError where it cannot be made."""
        if self.path == _NOWHERE:
            return self.path.open("w", encoding="utf-8")
        with self._fresh(found) as (fresh, file):
            self._name(fresh, found)
            return file

    def refuse_changed(self, known: os.stat_result) -> None:
        """RequestError where the file of this name is not ``known``, or was written to since."""
        if self.path != _NOWHERE and not _is_same(self.path, known):
            raise self.changed()

    def changed(self) -> RequestError:
        """A change by another process meanwhile is kept."""
        return self._refused(f"{self.path} was changed while this was at work")

    def _put(self, text: str, found: os.stat_result | None) -> None:
        if self.path == _NOWHERE:
            return
        with self._fresh(found) as (fresh, file), file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
            self._name(fresh, found)

    def _refused(self, wrong: str, hint: str | None = None) -> RequestError:
        return RequestError(f"{self.asked_by}: {wrong}; hint: {hint or self.otherwise}")

    def _is_ours(self) -> bool:
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            raise self._refused(f"{self.path} cannot be replaced: {error.strerror}") from None
        with os.fdopen(descriptor, "rb") as file:
            found = os.fstat(descriptor)
            return stat.S_ISREG(found.st_mode) and (found.st_size == 0 or self.form.recognises(file))

    def _with_one_name(self, found: os.stat_result) -> os.stat_result:
        """A kill between giving a file its name and taking away the one that it was made under leaves both: the second
        goes. What lies there, as it is now."""
        for other in self.path.parent.glob(".tonnage-*"):
            if _FRESH.fullmatch(other.name):
                with suppress(OSError):
                    if os.path.samestat(other.lstat(), found):
                        other.unlink()
        return self.path.lstat()

    @contextmanager
    def _fresh(self, found: os.stat_result | None) -> Iterator[tuple[Path, TextIO]]:
        """A file under an unused name, removed after an error; it has the owner of ``found``."""
        fresh = self.path.with_name(f".tonnage-{secrets.token_hex(8)}")
        descriptor = os.open(fresh, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        try:
            if found is not None:
                with suppress(PermissionError):
                    os.fchown(descriptor, found.st_uid, found.st_gid)
                os.fchmod(descriptor, stat.S_IMODE(found.st_mode))
            yield fresh, os.fdopen(descriptor, "w", encoding="utf-8", errors="surrogateescape")
        except BaseException:
            with suppress(OSError):
                fresh.unlink()
            raise

    def _name(self, fresh: Path, found: os.stat_result | None) -> None:
        """Gives it its place. A file that was created there since the check is kept, and is a RequestError."""
        if found is None:
            try:
                os.link(fresh, self.path)
            except FileExistsError:
                raise self._refused(f"{self.path} came while this was at work") from None
            except OSError:
                # No second names on this file system: an empty file of ours holds the place.
                os.close(os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
                fresh.replace(self.path)
                return
            fresh.unlink()
            return
        self.refuse_changed(found)
        if not _exchange(fresh, self.path):
            fresh.replace(self.path)
            return
        if not _is_same(fresh, found):
            _exchange(fresh, self.path)
            raise self.changed()
        fresh.unlink()


class GrowingOutput:
    """An output that is written line by line. Once another process has changed or replaced the file, it is kept as it
    is. Both calls: RequestError then, OSError where it cannot be written."""

    def __init__(self, output: Output) -> None:
        """RequestError for what ``check`` refuses."""
        self._output = output
        self._found = output.check()
        self._file: TextIO | None = None
        self._known: os.stat_result | None = None

    def add(self, text: str) -> None:
        """Makes the file before its first text."""
        if self._file is None:
            self._file = self._output.begin(self._found)
        self.check()
        size = os.fstat(self._file.fileno()).st_size
        self._file.write(text)
        self._file.flush()
        self._known = os.fstat(self._file.fileno())
        added = self._known.st_size - size
        if stat.S_ISREG(self._known.st_mode) and added != len(text.encode(errors="surrogateescape")):
            raise self._output.changed()

    def check(self) -> None:
        """Whether the file has just what was added."""
        if self._known is not None:
            self._output.refuse_changed(self._known)

    def close(self) -> None:
        """Nothing more comes."""
        if self._file is not None:
            self._file.close()


def _takes_files(directory: Path) -> bool:
    """Whether a file can be made there, as far as that can be told without leaving one."""
    if not os.access(directory, os.W_OK | os.X_OK):
        return False
    try:
        os.close(os.open(directory, os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    except OSError as error:
        # Others say that they have no files without a name.
        return error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS)
    return True


def refuse_one_for_two(outputs: Iterable[Output], others: Iterable[str | Path], what: str) -> None:
    """RequestError where an output is one of ``others`` (``what`` they are), or another output, under whatever name."""
    taken = {key: what for other in others for key in _keys(Path(other))}
    for output in outputs:
        if output.path == _NOWHERE:
            continue
        for key in _keys(output.path):
            if key in taken:
                raise RequestError(
                    f"{output.asked_by}: {output.path} is {taken[key]} too; hint: give each a file of its own"
                )
        taken |= dict.fromkeys(_keys(output.path), f"the file of {output.asked_by}")


def _keys(path: Path) -> list[str | tuple[int, int]]:
    """What two spellings of one file have in common: the path without links, and the inode where there is one."""
    found: list[str | tuple[int, int]] = [os.path.realpath(path)]
    with suppress(OSError):
        info = path.stat()
        found.append((info.st_dev, info.st_ino))
    return found


def _is_same(path: Path, found: os.stat_result) -> bool:
    """Whether the file of this name is the one that was found, and unchanged since."""
    try:
        now = path.lstat()
    except OSError:
        return False
    return all(
        getattr(now, key) == getattr(found, key) for key in ("st_dev", "st_ino", "st_size", "st_mtime_ns", "st_nlink")
    )


def _exchange(one: Path, other: Path) -> bool:
    """The two swap names in one step; False where the C library or the file system cannot."""
    try:
        swap = ctypes.CDLL(None).renameat2
    except AttributeError:
        return False
    return bool(swap(_CWD, os.fsencode(one), _CWD, os.fsencode(other), _EXCHANGE) == 0)
