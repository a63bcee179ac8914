"""Whether the bytes of a Darshan log are those that were written: its header's places, and the check sums of what is
compressed. The library that reads logs looks at neither."""

from __future__ import annotations

import bz2
import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

_OLD, _NOW = (24, 16), (32, 64)
"""Bytes before the places (version, mark, compression, flags) and places of modules in a header, until version 3.41 and
since."""
_JOB_LEAST = 1080
"""Bytes of a job's record, which all versions have."""
_ZLIB, _BZIP2, _PLAIN = 0, 1, 2
_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class Region:
    """Where a part of the log lies, and what is wrong with it."""

    start: int
    end: int
    cut: bool = False
    """The log ends before it."""
    wrong: bool = False
    """Its bytes are not those that were written."""


@dataclass(frozen=True, slots=True)
class Regions:
    """Of one log."""

    job: Region
    names: Region | None
    modules: tuple[Region, ...]
    """In the order of their numbers."""
    gaps: bool
    """Some bytes of the log belong to no part, or to two: its header is wrong."""
    foreign: int
    """Bytes behind the last part that cannot be one."""

    @property
    def problems(self) -> tuple[str, ...]:
        """Sentences about what may be missing."""
        found = []
        if self.gaps:
            found.append("its header is damaged: parts of it are not where they belong, and one may be missing")
        if self.foreign:
            many = "s" if self.foreign > 1 else ""
            found.append(f"behind its end {self.foreign} byte{many}, no part of it: not read")
        if any(one.cut for one in self.modules):
            found.append("it is cut off: its last bytes are missing")
        return tuple(found)


class BadHeader(ValueError):
    """No part of the log can be found."""


class _Decompressor(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...


def regions_of(data: bytes) -> Regions:
    """BadHeader where the header has no places."""
    order = "<" if data[8:10] != b"\0\0" else ">"
    version = data[:8].rstrip(b"\0")
    before, modules = _NOW if version >= b"3.41" else _OLD
    after = before + 16 * (1 + modules)
    head = after + 4 * modules
    if len(data) < head:
        raise BadHeader("it breaks off within its header")
    pairs = list(struct.iter_unpack(f"{order}QQ", data[before:after]))
    places = [(start, start + length) if length else None for start, length in pairs]
    used = sorted(place for place in places if place is not None)
    first = used[0][0] if used else len(data)
    job = _checked(data, head, first, _JOB_LEAST)
    names, *others = [None if place is None else _checked(data, *place) for place in places]
    ends = [head, first, *(end for _, end in used)]
    behind = data[ends[-1] :]
    foreign = 0 if _is_whole(behind, data[16], 1) else len(behind)
    starts = [head, *(start for start, _ in used), max(len(data) - foreign, ends[-1])]
    return Regions(job, names, tuple(one for one in others if one is not None), starts != ends, foreign)


def _checked(data: bytes, start: int, end: int, least: int = 1) -> Region:
    if start > end or start >= len(data):
        return Region(start, end, cut=start <= end, wrong=start > end)
    if end > len(data):
        return Region(start, end, cut=True)
    return Region(start, end, wrong=not _is_whole(data[start:end], data[16], least))


def _is_whole(data: bytes, compression: int, least: int) -> bool:
    """Whether the streams of a part, one after the other, end with it and agree with their check sums."""
    if compression == _PLAIN:
        return len(data) >= least
    try:
        return sum(_lengths(data, compression)) >= least
    except (zlib.error, OSError, ValueError, EOFError):
        return False


def _lengths(data: bytes, compression: int) -> Iterator[int]:
    while data:
        stream, pieces = _opened(data, compression)
        yield sum(pieces)
        if not stream.eof:
            raise EOFError
        data = stream.unused_data


def _opened(data: bytes, compression: int) -> tuple[_Decompressor, Iterator[int]]:
    """A stream, and the lengths of its pieces, each of which is thrown away: a log may claim any size."""
    if compression == _ZLIB:
        whole = zlib.decompressobj()
        return whole, _pieces(whole.decompress, lambda: whole.unconsumed_tail, data)
    if compression == _BZIP2:
        packed = bz2.BZ2Decompressor()
        return packed, _pieces(packed.decompress, lambda: b"", data)
    raise ValueError(f"compression {compression}")


def _pieces(decompress: Callable[[bytes, int], bytes], left: Callable[[], bytes], data: bytes) -> Iterator[int]:
    piece = decompress(data, _PIECE)
    while piece:
        yield len(piece)
        try:
            piece = decompress(left(), _PIECE)
        except EOFError:
            return  # of bzip2, at the end of its stream
