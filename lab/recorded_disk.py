"""Image files whose every write and flush is recorded, for loop devices on them: what a power cut would have left.

As a program: ``python lab/recorded_disk.py IMAGES MOUNT LOG``. Each file of the directory ``IMAGES`` is seen below
``MOUNT``, and what is done to it goes to ``LOG`` in the order in which it was done. What is written to the file
``mark`` goes there as well, and nowhere else.
"""

from __future__ import annotations

import errno
import os
import random
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from stat import S_IFDIR, S_IFREG
from typing import Any

_HEAD = struct.Struct("<cBQQ")
MARK = "mark"


@dataclass(frozen=True)
class Record:
    """One line of the log."""

    kind: str
    """``write``, ``flush`` or ``mark``."""
    device: int
    """Which of the images, in the order of their names."""
    offset: int
    data: bytes


_KINDS = {b"w": "write", b"f": "flush", b"m": "mark"}


def records(log: Path) -> Iterator[Record]:
    with log.open("rb") as stream:
        while head := stream.read(_HEAD.size):
            kind, device, offset, length = _HEAD.unpack(head)
            yield Record(_KINDS[kind], device, offset, stream.read(length))


class Cut:
    """What lies on each device when the power goes after so many records: all that was flushed, and any of the rest."""

    def __init__(self, images: list[Path], liar: random.Random | None = None) -> None:
        """``liar``: the devices lose a tenth of what they were to flush."""
        self._images, self._liar = images, liar
        self._since: list[list[Record]] = [[] for _ in images]

    def add(self, record: Record) -> None:
        """The next one was done."""
        if record.kind == "write":
            self._since[record.device].append(record)
        elif record.kind == "flush":
            kept = [one for one in self._since[record.device] if not self._liar or self._liar.random() < 0.9]
            self._store(self._images[record.device], kept)
            self._since[record.device].clear()

    def unflushed(self, device: int) -> int:
        return len(self._since[device])

    def leave(self, device: int, to: Path, rng: random.Random, share: float) -> None:
        """A copy of the device with this share of what was not flushed; 1 is all of it, in the order it was written."""
        copy_sparse(self._images[device], to)
        some = [record for record in self._since[device] if share == 1 or rng.random() < share]
        self._store(to, some)

    def _store(self, image: Path, found: list[Record]) -> None:
        file = os.open(image, os.O_WRONLY)
        try:
            for record in found:
                os.pwrite(file, record.data, record.offset)
        finally:
            os.close(file)


def copy_sparse(image: Path, to: Path) -> None:
    """Copies a file without its holes."""
    size = image.stat().st_size
    source = os.open(image, os.O_RDONLY)
    copy = os.open(to, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        os.ftruncate(copy, size)
        end = 0
        while end < size:
            try:
                begin = os.lseek(source, end, os.SEEK_DATA)
            except OSError as error:
                if error.errno != errno.ENXIO:
                    raise
                break
            end = os.lseek(source, begin, os.SEEK_HOLE)
            at = begin
            while at < end:
                at += os.pwrite(copy, os.pread(source, min(end - at, 4 << 20), at), at)
    finally:
        os.close(source)
        os.close(copy)


class Images:
    """The directory of images, as FUSE asks for it."""

    use_ns = True

    def __init__(self, images: Path, log: Path) -> None:
        self.files = {f"/{path.name}": os.open(path, os.O_RDWR) for path in sorted(images.iterdir())}
        self.order = {name: number for number, name in enumerate(self.files)}
        self.log = log.open("ab", buffering=0)

    def _say(self, kind: bytes, device: int, offset: int = 0, data: bytes = b"") -> None:
        self.log.write(_HEAD.pack(kind, device, offset, len(data)) + data)

    def getattr(self, path: str, fh: int | None = None) -> dict[str, Any]:
        if path == "/":
            return {"st_mode": S_IFDIR | 0o700, "st_nlink": 2}
        if path == f"/{MARK}":
            return {"st_mode": S_IFREG | 0o600, "st_nlink": 1, "st_size": 0}
        if path not in self.files:
            raise OSError(errno.ENOENT, path)
        return {"st_mode": S_IFREG | 0o600, "st_nlink": 1, "st_size": os.fstat(self.files[path]).st_size}

    def readdir(self, path: str, fh: int) -> list[str]:
        return [".", "..", *(name[1:] for name in self.files)]

    def open(self, path: str, flags: int) -> int:
        return self.files.get(path, 0)

    def release(self, path: str, fh: int) -> int:
        return 0

    def truncate(self, path: str, length: int, fh: int | None = None) -> None:
        if path != f"/{MARK}":
            raise OSError(errno.EPERM, path)

    def read(self, path: str, size: int, offset: int, fh: int) -> bytes:
        return os.pread(self.files[path], size, offset)

    def write(self, path: str, data: bytes, offset: int, fh: int) -> int:
        if path == f"/{MARK}":
            self._say(b"m", 0, 0, data)
            return len(data)
        self._say(b"w", self.order[path], offset, data)
        return os.pwrite(self.files[path], data, offset)

    def fsync(self, path: str, datasync: int, fh: int) -> int:
        if path in self.order:
            self._say(b"f", self.order[path])
        return 0


def serve(images: Path, mount: Path, log: Path) -> None:
    """Until it is unmounted."""
    import mfusepy

    class Served(Images, mfusepy.Operations):  # type: ignore[misc, name-defined]
        """With the library's answers to what is not here."""

    # Past the kernel's cache: a write of the device is a write here. One at a time: the log has their order.
    mfusepy.FUSE(
        Served(images, log), os.fspath(mount), foreground=True, nothreads=True, fsname="recorded", direct_io=True
    )


if __name__ == "__main__":
    serve(*map(Path, sys.argv[1:4]))
