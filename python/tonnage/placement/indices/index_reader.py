"""Reads the load indices of servers, for a decision and for a user who watches; keeps them in the cache."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Protocol

from tonnage.placement.indices.index_cache import Cache, CacheEntry
from tonnage.placement.indices.index_source import Source, SourceError, source
from tonnage.placement.indices.reading import Reading

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
    """What this room needs to know of a server (``placement.site.Server``)."""

    @property
    def name(self) -> str: ...

    @property
    def indices(self) -> str | None: ...


class Refreshed(Protocol):
    """What it needs to know of the policy (``placement.site.Policy``)."""

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
