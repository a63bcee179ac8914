"""The files of a run on the disk: appended to whole or not at all, replaced in one rename, and never through a link."""

from __future__ import annotations

import errno
import json
import os
import secrets
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tonnage.errors import RecordError
from tonnage.records.file_names import APPENDED, CHAIN, DIRECTORIES, ODD_BYTES, ORIGINALS, OUTPUT, TRIALS
from tonnage.records.hash_chain import read_regular

_COPY = "hint: copy the run directory (cp -r), not link it, and go on with the copy"


class Lost(FileNotFoundError):
    """A file of a run that goes on is not there, or not what was written."""

    def __init__(self, path: Path, why: str, *, spoils: bool = True) -> None:
        """``spoils``: what was recorded so far cannot be gone on with."""
        super().__init__(errno.ENOENT, why, str(path))
        self.why = why
        self.spoils = spoils


_LINE = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def encode_line(line: Mapping[str, Any]) -> bytes:
    """Returns a line of one of the run's files of lines."""
    return _LINE.encode(line).encode(errors=ODD_BYTES) + b"\n"


def make_directory(path: Path) -> None:
    """A directory of a run, made where there is none. RecordError for a link: what is behind it is not the run's."""
    path.mkdir(parents=True, exist_ok=True)
    if path.is_symlink():
        raise RecordError(f"{path} is a symbolic link, and a run's directories are none; {_COPY}")


def refuse_links(run: Path) -> None:
    """RecordError where something that is written to when a run goes on has another name, or is a link."""
    for name in (*DIRECTORIES, OUTPUT, ORIGINALS):
        if os.path.lexists(run / name):
            make_directory(run / name)
    for name in (*APPENDED, CHAIN):
        with suppress(FileNotFoundError):
            _refuse_linked(run / name, (run / name).lstat())


def _refuse_linked(path: Path, found: os.stat_result) -> None:
    """RecordError where writing to a file would change a file that has another name (a link)."""
    if stat.S_ISLNK(found.st_mode):
        raise RecordError(f"{path} is a symbolic link, and a run's files are none; {_COPY}")
    if not stat.S_ISREG(found.st_mode):
        raise RecordError(f"{path} is no regular file; {_COPY}")
    if found.st_nlink > 1:
        raise RecordError(f"{path} has {found.st_nlink} names, and all of them would change; {_COPY}")


def _open_own(path: Path, flags: int = 0) -> int:
    """A descriptor to write to a file that has this name only."""
    flags |= os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    descriptor = os.open(path, flags, 0o644)
    try:
        _refuse_linked(path, os.fstat(descriptor))
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def truncate(path: Path, size: int) -> None:
    descriptor = _open_own(path)
    try:
        os.ftruncate(descriptor, size)
    finally:
        os.close(descriptor)


def append_bytes(path: Path, data: bytes, size_bytes: int | None = None) -> None:
    """Appends to a file of a run, whole or not at all; the bytes are on the disk when this returns.

    ``size_bytes``: that the file must have by now, else it is Lost; None: any, and it may be made."""
    try:
        descriptor = _open_own(path, os.O_APPEND | (0 if size_bytes is not None else os.O_CREAT))
    except FileNotFoundError:
        if size_bytes is None or not path.parent.is_dir():
            raise
        raise Lost(path, "it was removed while the run went on") from None
    try:
        before = os.fstat(descriptor).st_size
        if size_bytes is not None and before != size_bytes:
            raise Lost(path, f"it has {before} bytes, and {size_bytes} were written to it")
        try:
            write_all(descriptor, data)
            os.fsync(descriptor)
        except OSError as error:
            # A disk that is full must not leave half a line that the next append would complete into nonsense.
            with suppress(OSError):
                os.ftruncate(descriptor, before)
            raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        os.close(descriptor)


def replace_file(path: Path, data: bytes) -> None:
    """Either the old file or the new one is there at any moment, and the new one after this returns. OSError names
    ``path``."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        try:
            write_all(descriptor, data)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        temporary.replace(path)
        sync_directory(path.parent)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror, str(path)) from error


def write_all(descriptor: int, data: bytes) -> None:
    """Writes ``data`` in as many calls as it takes."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def sync_directory(path: Path) -> None:
    """Has the names in a directory on the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def truncate_torn_line(path: Path) -> None:
    """Takes away half a line that a killed writer left: the next one would make nonsense of it. Nothing where there is
    no such file. The caller keeps other writers away."""
    try:
        data = read_regular(path)
    except FileNotFoundError:
        return
    whole = data.rfind(b"\n") + 1
    if whole < len(data):
        truncate(path, whole)


MOST_GATHERED_BYTES = 8 << 20


@dataclass(slots=True)
class _FileBuffer:
    """Of one file: its size on the disk, None where it is not there, and what follows."""

    on_disk_bytes: int | None
    data: bytearray = field(default_factory=bytearray)


class WriteBuffer:
    """Appends of many records, which are written in one piece a file."""

    def __init__(self) -> None:
        self._parts: dict[str, _FileBuffer] = {}
        self.size_bytes = 0
        self.records = 0
        self.with_files: set[str] = set()
        """Records that have files of their own: of the others none is looked for."""

    def add(self, name: str, data: bytes, size_bytes: int | None) -> None:
        """``size_bytes``: of the file with all that was appended before."""
        part = self._parts.get(name)
        if part is None:
            part = self._parts[name] = _FileBuffer(size_bytes)
        part.data += data
        self.size_bytes += len(data)

    def taken(self) -> Iterator[tuple[str, bytes, int | None]]:
        """Yields name, bytes and previous size of each file; trials come last, for their lines make all others
        valid."""
        parts, self._parts, self.size_bytes = self._parts, {}, 0
        for name in sorted(parts, key=lambda name: name == TRIALS):
            yield name, bytes(parts[name].data), parts[name].on_disk_bytes
