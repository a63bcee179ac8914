"""Opens the files that are a copy's input, output and errors.

Their names can be foreseen, and their directory may be one that others can write to. So nothing that another user put
there is followed or written to, and no open waits for somebody at the other end.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path

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
        self._ahead = [*reversed(path.absolute().parts[1:])]
        self._links = 0
        self._way = Path("/")
        self._found: int | None = None
        self.directory = os.open("/", _LOOK | os.O_DIRECTORY)
        """The one that has the file, once it was looked at;"""
        self.name = "."
        """and the file's name there."""

    def __enter__(self) -> Walk:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.directory)
        if self._found is not None:
            os.close(self._found)

    @property
    def shown(self) -> Path:
        """Where it has come to."""
        return self._way / self.name

    def open_path(self) -> int | None:
        """A handle of what is there, which nobody can read or write through, open as long as the walk is; None where
        nothing is. UnfitError, OSError."""
        while True:
            self.name = self._ahead.pop() if self._ahead else "."
            is_last = not self._ahead and self.name != ".."
            try:
                # Of a directory that is mounted on demand: what is mounted there.
                found = os.open(self.name, _LOOK | (0 if is_last else os.O_DIRECTORY), dir_fd=self.directory)
            except NotADirectoryError:
                found = os.open(self.name, _LOOK, dir_fd=self.directory)
                if not stat.S_ISLNK(os.fstat(found).st_mode):
                    os.close(found)
                    raise
            except FileNotFoundError:
                if is_last:
                    return None
                raise
            if stat.S_ISLNK(os.fstat(found).st_mode):
                self._follow_link(found)
            elif is_last:
                self._found = found
                return found
            else:
                self._enter(found, self._way.parent if self.name == ".." else self.shown)

    def _follow_link(self, link: int) -> None:
        try:
            self._links += 1
            if self._links > _MOST_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
            if os.fstat(link).st_uid not in {0, os.geteuid()}:
                raise UnfitError(
                    f"{self.shown} is a link of another user's; hint: name the file by the way that has no such link"
                )
            to = Path(os.readlink("", dir_fd=link))
        finally:
            os.close(link)
        if to.is_absolute():
            self._enter(os.open("/", _LOOK | os.O_DIRECTORY), Path("/"))
        self._ahead += reversed(to.parts[1:] if to.is_absolute() else to.parts)

    def _enter(self, directory: int, way: Path) -> None:
        os.close(self.directory)
        self.directory, self._way = directory, way


def file_name(pattern: str, request: JobRequest, number: int, copy: int) -> Path:
    """The file that a pattern means: ``%J`` is the job, ``%I`` the copy (0 if it is no array), other ``%`` stay."""
    head, *parts = pattern.split("%")
    meanings = {"J": str(number), "I": str(copy)}
    name = head + "".join(meanings.get(part[:1], f"%{part[:1]}") + part[1:] for part in parts)
    return Path(request.directory) / name


def open_streams(request: JobRequest, number: int, copy: int, opened: list[int]) -> None:
    """Standard input, output and error of a copy, each appended to ``opened`` once it is open. UnfitError."""
    output = request.output or ("tonnage-%J.out" if request.copies is None else "tonnage-%J_%I.out")
    names = (request.input or os.devnull, output, request.error or output)
    paths = [file_name(name, request, number, copy) for name in names]
    for what, path in zip(("input", "output", "error output"), paths, strict=True):
        try:
            if what == "input":
                opened.append(open_input(path))
            elif what == "error output" and path == paths[1]:
                opened.append(os.dup(opened[1]))
            else:
                opened.append(open_output(path, named=what != "output" or request.output is not None))
        except OSError as error:
            raise UnfitError(f"its {what} {path} cannot be opened: {error.strerror}") from None


def open_output(path: Path, *, named: bool) -> int:
    """To append to, as several copies may share one; made where it is missing. UnfitError, OSError.

    ``named``: the user chose the name, so that it may be a device's.
    """
    for _ in range(_TRIES):
        with Walk(path) as walk:
            found = walk.open_path()
            if found is None:
                with suppress(FileExistsError):  # somebody was faster: look what it is
                    return os.open(walk.name, _WRITE | os.O_CREAT | os.O_EXCL, 0o666, dir_fd=walk.directory)
                continue
            _check_output(walk, found, named=named)
            # The file that was looked at, whatever has its name by now.
            handle = os.open(f"/proc/self/fd/{found}", _WRITE | os.O_NONBLOCK)
        os.set_blocking(handle, True)
        return handle
    raise UnfitError(f"{path} does not stay what it is")


def open_input(path: Path) -> int:
    """To read. UnfitError, OSError."""
    handle = os.open(path, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK)
    try:
        _check_input(path, os.fstat(handle))
    except (UnfitError, OSError):
        os.close(handle)
        raise
    os.set_blocking(handle, True)
    return handle


def unfit_stream(request: JobRequest) -> str | None:
    """Why a file would not be opened, of those whose names are known before the job is; None where nothing is known
    against them: what is not so now may be so when the job runs."""
    streams = ((request.output, False), (request.error, False), (request.input, True))
    for name, is_input in streams:
        if name is None or "%J" in name or ("%I" in name and request.copies is not None):
            continue
        path = file_name(name, request, 0, 0)
        try:
            if is_input:
                _check_input(path, path.stat())
            else:
                with Walk(path) as walk:
                    found = walk.open_path()
                    if found is not None:
                        _check_output(walk, found, named=True)
        except UnfitError as error:
            return str(error)
        except IsADirectoryError:
            return f"{path} is a directory; hint: name a file in it"
        except OSError:
            pass
    return None


def _check_input(path: Path, found: os.stat_result) -> None:
    _refuse_directory(found)
    if stat.S_ISFIFO(found.st_mode):
        raise UnfitError(f"{path} is a FIFO")


def _refuse_directory(found: os.stat_result) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))


def _check_output(walk: Walk, handle: int, *, named: bool) -> None:
    found = os.fstat(handle)
    _refuse_directory(found)
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
