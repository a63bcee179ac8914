"""Reads the load indices of servers, for a decision and for a user who watches; keeps them in the cache."""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Protocol

from tonnage.errors import RequestError
from tonnage.machine.user_state import user_state
from tonnage.placement.indices.reading import (
    SHORTEST_S,
    Counters,
    Reading,
    Source,
    SourceError,
    reading_between,
    source,
)
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


ANSWER_S = 5.0
"""The time limit of one request, also in the background."""
_THREADS = 64
"""Servers that are asked at once."""
_UNDER_WAY: set[tuple[str, str]] = set()
"""Servers, each with its address, that this process has asked and that have neither answered nor come to the end of
their time. Two servers may have one address."""
_UNDER_WAY_LOCK = threading.Lock()
_GAP_S = 0.5
"""Seconds between two samples where there was none before."""


@dataclass(frozen=True, slots=True)
class IndexedServer:
    """A server of which the site file says where its indices are."""

    name: str
    address: str
    source: Source | None
    """None where the address is none; ``problem`` says so."""
    problem: str

    @classmethod
    def at(cls, name: str, address: str) -> IndexedServer:
        """Makes the address from the site file's two words."""
        try:
            return cls(name, address, source(address), "")
        except SourceError as error:
            return cls(name, address, None, str(error))

    @property
    def source_name(self) -> str:
        return self.source.name if self.source else ""

    def is_slow(self, kept: CacheEntry, wait_ns: int) -> bool:
        """Whether there is no sense in waiting so long for it, by how long it took before."""
        if kept.took_ns is not None:
            return kept.took_ns > wait_ns
        return self.source is not None and not self.source.prompt

    def latest(self, kept: CacheEntry, now_s: float) -> Reading:
        """Returns the current reading."""
        nothing = Reading(
            server=self.name, source=self.source_name, at_s=now_s, problem="it was asked, and has not answered yet"
        )
        return kept.reading or nothing

    def ask(self, kept: CacheEntry) -> CacheEntry:
        """Asks it now; what is known of it after that."""
        began_ns = time.monotonic_ns()
        problem = self.problem
        if self.source is not None:
            try:
                counters = self.source.read(ANSWER_S)
                return kept.answered(self.name, self.source.name, counters, time.monotonic_ns() - began_ns)
            except SourceError as error:
                problem = str(error)
        took_ns = time.monotonic_ns() - began_ns
        return kept.failed(self.name, self.source_name, kept.asked_s, problem, took_ns)


def ask_all(
    servers: Sequence[IndexedServer], kept: Mapping[str, CacheEntry], cache: Cache, *, wait_ns: int
) -> dict[str, CacheEntry]:
    """Name → what is known after at most ``wait_ns``: its answer, or that it gave none in this time."""
    return _Round(servers, kept, cache).run(wait_ns) if servers else {}


class _Round:
    """One question to each. A thread whose server answers after the end keeps the answer itself."""

    def __init__(self, servers: Sequence[IndexedServer], kept: Mapping[str, CacheEntry], cache: Cache) -> None:
        now_s = time.time()
        self._before = {server.name: kept[server.name].asked(now_s) for server in servers}
        self._servers, self._cache = servers, cache
        self._todo: SimpleQueue[IndexedServer] = SimpleQueue()
        self._heard: SimpleQueue[tuple[IndexedServer, CacheEntry]] = SimpleQueue()
        # Held while late servers are determined: a missing-answer entry must not replace an answer.
        self._lock = threading.Lock()
        self._over = False

    def run(self, wait_ns: int) -> dict[str, CacheEntry]:
        end_ns = time.monotonic_ns() + wait_ns
        for server in self._servers:
            self._todo.put(server)
        for _ in range(min(len(self._servers), _THREADS)):
            # Daemon threads do not delay the end of the process: a server that hangs holds up no command.
            threading.Thread(target=self._work, name="indices", daemon=True).start()
        found: dict[str, CacheEntry] = {}
        while len(found) < len(self._servers) and self._hear(found, end_ns - time.monotonic_ns()):
            pass
        with self._lock:
            self._over = True
            while self._hear(found, 0):
                pass
            for server in self._servers:
                if server.name not in found:
                    found[server.name] = self._silent(server, wait_ns)
                self._cache.put(server.name, server.address, found[server.name])
        return found

    def _hear(self, found: dict[str, CacheEntry], left_ns: int) -> bool:
        """Takes one answer; False where none came."""
        try:
            server, kept = self._heard.get(timeout=max(left_ns, 0) / 1e9)
        except Empty:
            return False
        found[server.name] = kept
        return True

    def _silent(self, server: IndexedServer, wait_ns: int) -> CacheEntry:
        before = self._before[server.name]
        problem = f"it did not answer within {wait_ns / 1e6:g} ms"
        return before.failed(server.name, server.source_name, before.asked_s, problem, wait_ns + 1)

    def _work(self) -> None:
        while True:
            try:
                server = self._todo.get_nowait()
            except Empty:
                return
            asked = (server.name, server.address)
            with _UNDER_WAY_LOCK:
                is_asked = asked in _UNDER_WAY
                _UNDER_WAY.add(asked)
            if is_asked:
                # A server that hangs does not get another request: the earlier one will be answered or time out.
                continue
            try:
                kept = server.ask(self._before[server.name])
            finally:
                with _UNDER_WAY_LOCK:
                    _UNDER_WAY.discard(asked)
            with self._lock:
                if self._over:
                    self._cache.put(server.name, server.address, kept)
                else:
                    self._heard.put((server, kept))


def ask_apart(servers: Sequence[IndexedServer]) -> None:
    """Starts it, and does not wait: the answers are in the cache when they have come."""
    # Imported here: most decisions do not need it.
    import subprocess

    isolated = ["-I"] if sys.flags.isolated else []
    try:
        process = subprocess.Popen(
            [sys.executable, *isolated, "-m", "tonnage.placement.indices"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        assert process.stdin
        with process.stdin:
            process.stdin.write(json.dumps({server.name: server.address for server in servers}).encode())
    except OSError:
        # No process could be started: the old figures stay, with their age.
        return
    threading.Thread(target=process.wait, name="indices-apart", daemon=True).start()


class Indexed(Protocol):
    """What this package needs of a server (``placement.site.Server``)."""

    @property
    def name(self) -> str: ...

    @property
    def indices(self) -> str | None: ...


class Refreshed(Protocol):
    """What it needs of the policy (``placement.site.Policy``)."""

    @property
    def index_refresh(self) -> int: ...


def read_indices(servers: Iterable[Indexed], policy: Refreshed, *, now_s: float, wait_ns: int) -> dict[str, Reading]:
    """Server → its reading, for a decision: as kept if that is younger than the policy's ``index_refresh``, else asked.

    No longer than ``wait_ns`` is waited for all of them together. A server that misses this limit keeps its old
    figures, with a ``problem``; a later answer is kept for the next caller. A server that was too slow before is asked
    by a process of its own, which outlives this one. A server whose indices the site file does not name is left out.
    """
    cache = Cache()
    asked = [IndexedServer.at(server.name, server.indices) for server in servers if server.indices]
    kept = {one.name: cache.get(one.name, one.address) for one in asked}
    due = [one for one in asked if kept[one.name].is_due(now_s, policy.index_refresh)]
    slow = [one for one in due if one.is_slow(kept[one.name], wait_ns)]
    for one in slow:
        # Other readers leave the request to that process meanwhile.
        kept[one.name] = kept[one.name].asked(now_s)
        cache.put(one.name, one.address, kept[one.name])
    if slow:
        ask_apart(slow)
    kept |= ask_all([one for one in due if one not in slow], kept, cache, wait_ns=wait_ns)
    return {one.name: one.latest(kept[one.name], now_s) for one in asked}


def fresh_indices(servers: Iterable[Indexed], *, wait_ns: int, refresh_ns: int = 0) -> dict[str, Reading]:
    """Server → its reading of this moment, for a person who looks: each is asked, twice where rates need it.

    Takes up to ``wait_ns`` for each of the two samples, and half a second between them. Figures younger than
    ``refresh_ns`` are taken as they are kept.
    """
    addresses = {server.name: server.indices for server in servers if server.indices}
    return fresh_indices_at(addresses, wait_ns=wait_ns, refresh_ns=refresh_ns)


def fresh_indices_at(addresses: Mapping[str, str], *, wait_ns: int, refresh_ns: int = 0) -> dict[str, Reading]:
    """Returns the same for server → address."""
    cache = Cache()
    asked = [IndexedServer.at(name, address) for name, address in addresses.items()]
    kept = {one.name: cache.get(one.name, one.address) for one in asked}
    now_s = time.time()

    def is_due(known: CacheEntry) -> bool:
        # One sample gives no rates, however recent it is.
        return known.reading is None or known.again or known.is_due(now_s, refresh_ns)

    due = [one for one in asked if is_due(kept[one.name])]
    kept |= ask_all(due, kept, cache, wait_ns=wait_ns)
    if once := [one for one in due if kept[one.name].again]:
        time.sleep(_GAP_S)
        kept |= ask_all(once, kept, cache, wait_ns=wait_ns)
    return {one.name: one.latest(kept[one.name], time.time()) for one in asked}
