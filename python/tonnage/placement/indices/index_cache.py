"""Keeps the load indices of each server between commands: one small file a server, replaced atomically."""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from tonnage.errors import RequestError
from tonnage.machine.user_state import user_state
from tonnage.placement.indices.reading import SHORTEST_S, Counters, Reading, reading_between
from tonnage.program_places import keep_file

_LARGEST = 1 << 20
"""Bytes of an entry that are read."""
_CLOCKS_S = 1.0
"""By how much the clocks of hosts that share the directory may differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheEntry:
    """One server's entry."""

    asked_s: float = 0.0
    """When it was asked last, whether it answered or not."""
    took_ns: int | None = None
    """How long it took to answer then, at least; None: not known."""
    counters: Counters | None = None
    """The last sample of counters that rates end at, or may begin at."""
    reading: Reading | None = None
    again: bool = False
    """The server answered, and one more sample gives rates."""

    def is_due(self, now_s: float, refresh_ns: int) -> bool:
        """Whether to ask the server again: after ``refresh_ns``, or as soon as a second sample gives rates."""
        wait_s = 2 * SHORTEST_S if self.again else refresh_ns / 1e9
        return not -_CLOCKS_S <= now_s - self.asked_s < wait_s

    def asked(self, now_s: float) -> CacheEntry:
        """The entry after a request was sent to the server."""
        return replace(self, asked_s=now_s, again=False)

    def answered(self, server: str, source: str, counters: Counters, took_ns: int) -> CacheEntry:
        """Returns the entry after the server answered with its counters."""
        before = self.counters
        if before is not None and 0 <= counters.at_s - before.at_s < SHORTEST_S and self.reading is not None:
            # Another process asked at the same time: two samples this close together give no rate.
            return replace(self, took_ns=took_ns, again=self.reading.ut_permille is None)
        counters = counters.after(before)
        reading = reading_between(server, source, before, counters)
        return replace(self, took_ns=took_ns, counters=counters, reading=reading, again=reading.ut_permille is None)

    def failed(self, server: str, source: str, now_s: float, problem: str, took_ns: int) -> CacheEntry:
        """The entry after a failed request: the old figures stay, with the reason why there are no new ones."""
        old = self.reading or Reading(server=server, source=source, at_s=now_s)
        return replace(self, took_ns=took_ns, reading=replace(old, problem=problem), again=False)


class Cache:
    """The entries of this user; of this process alone where nothing can be kept."""

    def __init__(self) -> None:
        self._memory: dict[Path, CacheEntry] = {}
        self._place: Path | None
        try:
            self._place = user_state("indices")
        except RequestError:
            self._place = None

    def get(self, server: str, address: str) -> CacheEntry:
        """An empty entry where there is none, or none that can be read."""
        file = self._file(server, address)
        if self._place is None:
            return self._memory.get(file, CacheEntry())
        try:
            with file.open(encoding="utf-8") as text:
                return _read(json.loads(text.read(_LARGEST)))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return CacheEntry()

    def put(self, server: str, address: str, kept: CacheEntry) -> None:
        """Keeps it, where that can be done."""
        file = self._file(server, address)
        if self._place is None:
            self._memory[file] = kept
            return
        keep_file(file, json.dumps(asdict(kept)).encode())

    def _file(self, server: str, address: str) -> Path:
        # Many hosts share a home directory, and ``proc:`` means another host on each of them.
        whose = os.uname().nodename if address == "proc:" else ""
        digest = hashlib.blake2s(os.fsencode("\0".join((server, address, whose))), digest_size=8).hexdigest()
        name = f"{re.sub(r'[^A-Za-z0-9._-]+', '-', server)[:64].lstrip('.')}-{digest}.json"
        return (self._place or Path()) / name


def _read(found: Any) -> CacheEntry:
    counters, told = found["counters"], found["reading"]
    return CacheEntry(
        asked_s=float(found["asked_s"]),
        took_ns=None if found["took_ns"] is None else int(found["took_ns"]),
        counters=None if counters is None else Counters.from_dict(counters),
        reading=None if told is None else Reading.from_dict(told),
        again=bool(found["again"]),
    )
