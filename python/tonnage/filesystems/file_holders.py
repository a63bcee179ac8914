"""The devices that hold files or objects, as types of the record format (docs/record-format.md)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tonnage.records.line_types import DeviceBalance, DeviceItem, Devices


@dataclass(frozen=True, slots=True)
class FileShare:
    """What one device has of a file."""

    device: str
    """As the storage's own tools call it: ``osd.2``, ``scratch-OST0003``, ``host:/brick``, ``nvme0n1p2``."""
    bytes: int
    copy: int = 0
    """0 for the copy that is read where all is well; 1 and on for the others, and for parity."""


@dataclass(frozen=True, slots=True)
class Holding:
    """Where one file is. In the order of its bytes: the first part is where it begins."""

    parts: tuple[FileShare, ...]


@dataclass(frozen=True, slots=True)
class Item:
    """One examined file or object."""

    name: str
    bytes: int
    parts: tuple[FileShare, ...]
    file: int | None = None
    """Its number among the files of the phase."""
    task: int | None = None
    """The only task that works on it; None where several do."""


@dataclass(frozen=True, slots=True)
class FileLayout:
    """Which devices hold the files, as found after a phase."""

    items: tuple[Item, ...] = ()
    of: str = "files"
    """``files`` or ``objects``."""
    total: int | None = None
    """How many there are; None where unknown."""
    devices: tuple[tuple[str, str | None], ...] = ()
    """(device, server) of all that could hold something, where the storage tells; the server None where it does not."""
    how: tuple[str, ...] = ()
    """Sentences that name the tool or attribute that said so."""
    problem: str | None = None
    """Why it is unknown, in one sentence."""

    @property
    def sampled(self) -> bool:
        """Whether only a sample of them was examined."""
        return self.total is not None and len(self.items) < self.total

    def summary(self, record: str) -> Devices:
        """Returns ``devices`` of the trial line."""
        return {
            "of": self.of,
            "record": record,
            "examined": len(self.items),
            "total": self.total,
            "sampled": self.sampled,
            "how": list(self.how),
            "problem": self.problem,
            "balance": balance(self.items, dict(self.devices)),
        }

    def lines(self) -> list[DeviceItem]:
        """Lines of ``devices.jsonl``, without what the trial line has; none where one device has everything."""
        if len({part.device for item in self.items for part in item.parts}) < 2:
            return []
        return [
            {
                "name": item.name,
                "file": item.file,
                "task": item.task,
                "bytes": item.bytes,
                "parts": [{"device": part.device, "bytes": part.bytes, "copy": part.copy} for part in item.parts],
            }
            for item in self.items
        ]


def balance(items: Iterable[Item], servers: dict[str, str | None]) -> list[DeviceBalance]:
    """What each device holds of ``items``; of the devices in ``servers`` also those that hold nothing.

    ``first``: items that begin there; ``holds``: items with anything there; ``first_bytes``: bytes of their first
    copies, each byte counted once; ``bytes``: of all copies.
    """
    found = {device: _empty(device, server) for device, server in servers.items()}
    for item in items:
        for part in item.parts:
            row = found.setdefault(part.device, _empty(part.device, None))
            row["bytes"] += part.bytes
            row["first_bytes"] += part.bytes if part.copy == 0 else 0
        for device in {part.device for part in item.parts}:
            found[device]["holds"] += 1
        if item.parts:
            found[item.parts[0].device]["first"] += 1
    return [found[device] for device in sorted(found, key=natural)]


def _empty(device: str, server: str | None) -> DeviceBalance:
    return {"device": device, "server": server, "first": 0, "holds": 0, "first_bytes": 0, "bytes": 0}


def natural(name: str) -> list[tuple[int, str]]:
    """A key that sorts ``osd.2`` before ``osd.10``, and ``OST000a`` after ``OST0009``: Lustre counts in hexadecimal."""
    plain = re.sub(r"(?<=OST|MDT)[0-9a-f]{4}$", lambda match: str(int(match[0], 16)), name)
    return [(int(word), "") if word.isdecimal() else (-1, word) for word in re.split(r"([0-9]+)", plain)]


def whole(devices: Sequence[str], size: int) -> Holding:
    """Of a file that each of ``devices`` holds all of: the first serves it, the others are copies."""
    return Holding(tuple(FileShare(device, size, copy) for copy, device in enumerate(devices)))


def striped(devices: Sequence[str], size: int, unit: int, *, copy: int = 0, start: int = 0) -> tuple[FileShare, ...]:
    """Returns the parts of ``size`` bytes that go to ``devices`` in turn, ``unit`` at a time, from ``start`` bytes into
    the layout on."""
    shares = [0] * len(devices)
    row = unit * len(devices)
    for number in range(len(devices)):
        shares[number] = _upto(start + size, number, unit, row) - _upto(start, number, unit, row)
    return tuple(FileShare(device, share, copy) for device, share in zip(devices, shares, strict=True))


def _upto(offset: int, number: int, unit: int, row: int) -> int:
    """Bytes before ``offset`` that are in column ``number``."""
    return offset // row * unit + min(max(offset % row - number * unit, 0), unit)


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """What one file system says of several files."""

    holdings: dict[str, Holding]
    """By path; a file without a known holder is missing."""
    devices: tuple[tuple[str, str | None], ...] = ()
    """As of ``FileLayout``."""
    how: tuple[str, ...] = ()
    problem: str | None = None
