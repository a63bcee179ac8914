"""Asks many servers at once, within one time limit, and keeps what they say, also what comes too late."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue

from tonnage.placement.indices.cache import Cache, Kept
from tonnage.placement.indices.reading import Reading
from tonnage.placement.indices.source import Source, SourceError, source

ANSWER_S = 5.0
"""No server is waited for longer, also where nobody waits."""
_THREADS = 64
"""Servers that are asked at once."""
_UNDER_WAY: set[tuple[str, str]] = set()
"""Servers, each with its address, that this process has asked and that have neither answered nor come to the end of
their time. Two servers may have one address."""
_UNDER_WAY_LOCK = threading.Lock()


@dataclass(frozen=True, slots=True)
class Asked:
    """A server of which the site file says where its indices are."""

    name: str
    address: str
    source: Source | None
    """None where the address is none; ``problem`` says so."""
    problem: str

    @classmethod
    def at(cls, name: str, address: str) -> Asked:
        """From the site file's two words."""
        try:
            return cls(name, address, source(address), "")
        except SourceError as error:
            return cls(name, address, None, str(error))

    @property
    def source_name(self) -> str:
        return self.source.name if self.source else ""

    def is_slow(self, kept: Kept, wait_ns: int) -> bool:
        """Whether there is no sense in waiting so long for it, by how long it took before."""
        if kept.took_ns is not None:
            return kept.took_ns > wait_ns
        return self.source is not None and not self.source.prompt

    def told(self, kept: Kept, now_s: float) -> Reading:
        """The reading to go by."""
        nothing = Reading(
            server=self.name, source=self.source_name, at_s=now_s, problem="it was asked, and has not answered yet"
        )
        return kept.reading or nothing

    def ask(self, kept: Kept) -> Kept:
        """Asks it now; what is known of it after that."""
        began_ns = time.monotonic_ns()
        problem = self.problem
        if self.source is not None:
            try:
                look = self.source.look(ANSWER_S)
                return kept.answered(self.name, self.source.name, look, time.monotonic_ns() - began_ns)
            except SourceError as error:
                problem = str(error)
        took_ns = time.monotonic_ns() - began_ns
        return kept.failed(self.name, self.source_name, kept.asked_s, problem, took_ns)


def ask_all(servers: Sequence[Asked], kept: Mapping[str, Kept], cache: Cache, *, wait_ns: int) -> dict[str, Kept]:
    """Name → what is known after at most ``wait_ns``: its answer, or that it gave none in this time."""
    return _Round(servers, kept, cache).run(wait_ns) if servers else {}


class _Round:
    """One question to each. A thread whose server answers after the end keeps the answer itself."""

    def __init__(self, servers: Sequence[Asked], kept: Mapping[str, Kept], cache: Cache) -> None:
        now_s = time.time()
        self._before = {server.name: kept[server.name].asked(now_s) for server in servers}
        self._servers, self._cache = servers, cache
        self._todo: SimpleQueue[Asked] = SimpleQueue()
        self._heard: SimpleQueue[tuple[Asked, Kept]] = SimpleQueue()
        # Held for every decision on who is late: an answer must not be replaced by word of its absence.
        self._lock = threading.Lock()
        self._over = False

    def run(self, wait_ns: int) -> dict[str, Kept]:
        end_ns = time.monotonic_ns() + wait_ns
        for server in self._servers:
            self._todo.put(server)
        for _ in range(min(len(self._servers), _THREADS)):
            # Nobody waits for a daemon at the end of the process: a server that hangs holds no command.
            threading.Thread(target=self._work, name="indices", daemon=True).start()
        found: dict[str, Kept] = {}
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

    def _hear(self, found: dict[str, Kept], left_ns: int) -> bool:
        """Takes one answer; False where none came."""
        try:
            server, kept = self._heard.get(timeout=max(left_ns, 0) / 1e9)
        except Empty:
            return False
        found[server.name] = kept
        return True

    def _silent(self, server: Asked, wait_ns: int) -> Kept:
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
                # One that hangs is not asked once more by each look: its earlier question will be answered, or end.
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
