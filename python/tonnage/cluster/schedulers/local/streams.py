"""Opens the files that are a copy's input, output and errors.

Their names can be foreseen, and their directory may be one that others can write to. So nothing that another user put
there is followed or written to, and no open waits for somebody at the other end.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from types import TracebackType

from tonnage.cluster.scheduler import JobRequest

_WRITE = os.O_WRONLY | os.O_APPEND | os.O_NOCTTY
_LOOK = os.O_PATH | os.O_NOFOLLOW
_MOST_LINKS = 40
"""As many as the kernel follows."""
_TRIES = 8


class UnfitError(Exception):
    """A file that is not opened; says which, and why."""


class Walk:
    """The way to a file, each step from a directory that is held open: what is exchanged meanwhile is not entered."""

    def __init__(self, path: Path) -> None:
        """UnfitError, OSError with the path."""
        self._path = path.absolute()
        self._remaining = [*reversed(self._path.parts[1:])]
        self._links = 0
        self._trusted = {0, os.geteuid()}
        self._resolved = Path("/")
        self.directory = os.open("/", _LOOK | os.O_DIRECTORY)
        """The one that has the file, once it was looked at;"""
        self.name = "."
        """and the file's name there."""

    def __enter__(self) -> Walk:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        os.close(self.directory)

    @property
    def shown(self) -> Path:
        """Where it has come to."""
        return self._resolved / self.name

    def open_path(self) -> int | None:
        """A handle of what is there, which nobody can read or write through; None where nothing is."""
        while True:
            self._descend()
            try:
                found = os.open(self.name, _LOOK, dir_fd=self.directory)
            except FileNotFoundError:
                return None
            if not stat.S_ISLNK(os.fstat(found).st_mode):
                return found
            self._follow_link(found)

    def _descend(self) -> None:
        while self._remaining:
            self.name = self._remaining.pop()
            if not self._remaining and self.name != "..":
                return
            try:
                # Of a directory that is mounted on demand: what is mounted there.
                fresh = os.open(self.name, _LOOK | os.O_DIRECTORY, dir_fd=self.directory)
            except NotADirectoryError:
                found = os.open(self.name, _LOOK, dir_fd=self.directory)
                if not stat.S_ISLNK(os.fstat(found).st_mode):
                    os.close(found)
                    raise
                self._follow_link(found)
            else:
                self._enter(fresh, self._resolved.parent if self.name == ".." else self._resolved / self.name)
        self.name = "."

    def _follow_link(self, link: int) -> None:
        try:
            self._links += 1
            if self._links > _MOST_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
            if os.fstat(link).st_uid not in self._trusted:
                raise UnfitError(
                    f"{self.shown} is a link of another user's; hint: name the file by the way that has no such link"
                )
            to = Path(os.readlink("", dir_fd=link))
        finally:
            os.close(link)
        if to.is_absolute():
            self._enter(os.open("/", _LOOK | os.O_DIRECTORY), Path("/"))
        self._remaining += reversed(to.parts[1:] if to.is_absolute() else to.parts)

    def _enter(self, directory: int, way: Path) -> None:
        os.close(self.directory)
        self.directory, self._resolved = directory, way


def file_name(pattern: str, request: JobRequest, number: int, copy: int) -> Path:
    """The file that a pattern means: ``%J`` is the job, ``%I`` the copy (0 if it is no array), other ``%`` stay."""
    head, *parts = pattern.split("%")
    meanings = {"J": str(number), "I": str(copy)}
    name = head + "".join(meanings.get(part[:1], f"%{part[:1]}") + part[1:] for part in parts)
    return Path(request.directory) / name


def open_output(path: Path, *, named: bool) -> int:
    """To append to, as several copies may share one; made where it is missing. UnfitError, OSError.

    ``named``: the user chose the name, so that it may be a device's.
    """
    try:
        for _ in range(_TRIES):
            with Walk(path) as walk:
                found = walk.open_path()
                if found is None:
                    try:
                        return os.open(walk.name, _WRITE | os.O_CREAT | os.O_EXCL, 0o666, dir_fd=walk.directory)
                    except FileExistsError:
                        continue  # somebody was faster: look what it is
                try:
                    _check(walk, found, named=named)
                    # The file that was looked at, whatever has its name by now.
                    handle = os.open(f"/proc/self/fd/{found}", _WRITE | os.O_NONBLOCK)
                finally:
                    os.close(found)
            os.set_blocking(handle, True)
            return handle
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    raise UnfitError(f"{path} does not stay what it is")


def open_input(path: Path) -> int:
    """To read. UnfitError, OSError."""
    handle = os.open(path, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK)
    if stat.S_ISFIFO(os.fstat(handle).st_mode):
        os.close(handle)
        raise UnfitError(f"{path} is a FIFO")
    os.set_blocking(handle, True)
    return handle


def unfit_output(path: Path) -> str | None:
    """Why a file that the user named would not be written to; None where nothing is known against it."""
    try:
        with Walk(path) as walk:
            found = walk.open_path()
            if found is not None:
                try:
                    _check(walk, found, named=True)
                finally:
                    os.close(found)
    except UnfitError as error:
        return str(error)
    except IsADirectoryError:
        return _directory(path)
    except OSError:
        pass  # what is not so now may be so when the job runs
    return None


def unfit_input(path: Path) -> str | None:
    """The same of an input."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return None
    return f"{path} is a FIFO" if stat.S_ISFIFO(mode) else _directory(path) if stat.S_ISDIR(mode) else None


def _directory(path: Path) -> str:
    return f"{path} is a directory; hint: name a file in it"


def _check(walk: Walk, handle: int, *, named: bool) -> None:
    found = os.fstat(handle)
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if stat.S_ISCHR(found.st_mode) and named:
        return
    if not stat.S_ISREG(found.st_mode):
        raise UnfitError(f"{walk.shown} is {'a FIFO' if stat.S_ISFIFO(found.st_mode) else 'no regular file'}")
    if found.st_uid != os.geteuid():
        raise UnfitError(f"{walk.shown} belongs to another user")
    if found.st_nlink > 1 and _others_name_files(os.fstat(walk.directory)):
        raise UnfitError(f"{walk.shown} has other names, and others can write to its directory")


def _others_name_files(directory: os.stat_result) -> bool:
    mine = directory.st_uid in (0, os.geteuid())
    return not mine or bool(directory.st_mode & (stat.S_IWGRP | stat.S_IWOTH))
