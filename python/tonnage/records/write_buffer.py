"""Buffers appends to the files of a run until they are written to disk."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tonnage.records.file_names import TRIALS

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
