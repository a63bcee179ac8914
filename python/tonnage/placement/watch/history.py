"""What watches saw, kept from one to the next: rows of minutes, and episodes. Append-only JSON lines, bounded.

``spans.jsonl`` and ``episodes.jsonl`` in a directory of this user's, and ``lock``: its first byte is held by whoever
writes, one of the others by the watch of each server. An episode is written when it begins, with each row that becomes
whole, and when it ends; its newest line counts.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar

from tonnage.errors import RequestError, TonnageError
from tonnage.machine.state import STATE_HINT, user_state
from tonnage.placement.appended import append, lock, lock_within, rewrite
from tonnage.placement.watch.episodes import Episode
from tonnage.placement.watch.spans import Span, by_the_hour

SPANS, EPISODES, LOCK = "spans.jsonl", "episodes.jsonl", "lock"
MOST_BYTES, KEPT_BYTES = 16 << 20, 12 << 20
"""Rows beyond the first are made fewer: those older than 14 days are put together by the hour, then those older than a
day, then the oldest go, until the second is kept."""
MOST_EPISODE_BYTES, KEPT_EPISODE_BYTES = 4 << 20, 3 << 20
"""Of episodes, beyond the first each one's newest line is kept, then the newest, up to the second."""
COARSER_S = (14 * 86400.0, 86400.0)
_PATIENCE_S = 10.0
_LARGEST_S = 2.0**40
_T = TypeVar("_T")


class HistoryError(TonnageError):
    """It cannot be read or written."""


class AlreadyWatched(RequestError):
    """Another watch has this server."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What the history says."""

    spans: tuple[Span, ...]
    episodes: tuple[Episode, ...]
    """The oldest first."""
    damaged: int
    """Lines that cannot be read: a watch that was killed leaves its last one cut."""


class History:
    """This user's, on every host that shares the home directory."""

    def __init__(self, directory: Path | None = None) -> None:
        """RequestError where others could write there."""
        self.directory = user_state("watch") if directory is None else directory
        self._stamp: tuple[int, int, int] | None = None
        self._open: dict[str, Episode] = {}

    @contextmanager
    def held(self, servers: Iterable[str]) -> Iterator[None]:
        """Keeps other watches away from these servers; AlreadyWatched where one of them has one."""
        # A lock for each: locks of one open file do not keep each other away.
        descriptor = self._open_lock()
        try:
            for server in servers:
                number = int.from_bytes(blake2b(server.encode(), digest_size=7).digest(), "little") + 1
                try:
                    free = lock(descriptor, number)
                except OSError as error:
                    raise HistoryError(f"cannot lock {self.directory / LOCK}: {error.strerror}; {STATE_HINT}") from None
                if not free:
                    raise AlreadyWatched(
                        f"{server} is watched already, by another `tonnage watch` of this user; "
                        "hint: end that one, name other servers, or look once with --once"
                    )
            yield
        finally:
            os.close(descriptor)

    def add(self, spans: Sequence[Span], episodes: Sequence[Episode], *, now_s: float) -> None:
        """Durable when it returns. HistoryError where nothing can be kept."""
        if not spans and not episodes:
            return
        descriptor = self._open_lock()
        try:
            if not lock_within(descriptor, 0, _PATIENCE_S):
                raise HistoryError(f"another process has {self.directory} locked; hint: see which with lsof")
            if spans and append(self.directory / SPANS, _lines(spans), durable=True) > MOST_BYTES:
                self._make_fewer(now_s)
            if episodes and append(self.directory / EPISODES, _lines(episodes), durable=True) > MOST_EPISODE_BYTES:
                found, _ = self._episodes()
                rewrite(self.directory / EPISODES, _newest(_lines(found), KEPT_EPISODE_BYTES))
        except OSError as error:
            raise HistoryError(f"cannot write {self.directory}: {error.strerror}") from None
        finally:
            os.close(descriptor)

    def read(self) -> Kept:
        """All of it. HistoryError where it cannot be read."""
        spans, cut = self._spans()
        episodes, damaged = self._episodes()
        return Kept(tuple(spans), tuple(episodes), cut + damaged)

    def open_episodes(self) -> dict[str, Episode]:
        """Server → its newest episode, where that has not ended. Read again only where the file changed."""
        try:
            found = (self.directory / EPISODES).stat()
        except OSError:
            return {}
        stamp = (found.st_ino, found.st_size, found.st_mtime_ns)
        if stamp != self._stamp:
            newest = {episode.server: episode for episode in self._episodes()[0]}
            self._open = {name: one for name, one in newest.items() if one.ended_s is None}
            self._stamp = stamp
        return dict(self._open)

    def _make_fewer(self, now_s: float) -> None:
        spans, _ = self._spans()
        for age_s in COARSER_S:
            spans = by_the_hour(spans, now_s - age_s)
            lines = _lines(spans)
            if len(lines) <= KEPT_BYTES:
                break
        rewrite(self.directory / SPANS, _newest(lines, KEPT_BYTES))

    def _spans(self) -> tuple[list[Span], int]:
        return self._parsed(SPANS, _span)

    def _episodes(self) -> tuple[list[Episode], int]:
        found, damaged = self._parsed(EPISODES, _episode)
        newest = {episode.identity: episode for episode in found}
        return sorted(newest.values(), key=lambda one: one.began_s), damaged

    def _parsed(self, name: str, made: Callable[[Any], _T]) -> tuple[list[_T], int]:
        try:
            lines = (self.directory / name).read_bytes().split(b"\n")
        except FileNotFoundError:
            return [], 0
        except OSError as error:
            raise HistoryError(f"cannot read {self.directory / name}: {error.strerror}") from None
        found, damaged = [], 0
        for line in filter(None, lines):
            try:
                found.append(made(json.loads(line)))
            except (ValueError, TypeError, KeyError, RecursionError):
                damaged += 1
        return found, damaged

    def _open_lock(self) -> int:
        try:
            return os.open(self.directory / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise HistoryError(f"cannot open {self.directory / LOCK}: {error.strerror}; {STATE_HINT}") from None


def _lines(records: Iterable[Span | Episode]) -> bytes:
    told = (_rounded(asdict(record)) for record in records)
    return b"".join(json.dumps(one, separators=(",", ":"), allow_nan=False).encode() + b"\n" for one in told)


def _rounded(record: dict[str, Any]) -> dict[str, Any]:
    return {name: round(value, 3) if isinstance(value, float) else value for name, value in record.items()}


def _newest(lines: bytes, most_bytes: int) -> bytes:
    return lines if len(lines) <= most_bytes else lines[-most_bytes:].partition(b"\n")[2]


_NUMBERS = ("at_s", "known_s", "above_s", "unknown_s", "load_s", "most", "began_s", "seen_s", "ended_s")


def _checked(record: Any, kind: type[Span] | type[Episode]) -> dict[str, Any]:
    """ValueError, TypeError or KeyError where it is no such record."""
    found = {one.name: record[one.name] for one in fields(kind)}
    for name in _NUMBERS:
        value = found.get(name)
        if value is not None and not (type(value) in (int, float) and 0 <= value < _LARGEST_S):
            raise ValueError(name)
    if not isinstance(found["server"], str) or (found["line"] is not None and type(found["line"]) is not int):
        raise ValueError("server")
    return found


def _span(record: Any) -> Span:
    found = _checked(record, Span)
    if type(found["at_s"]) is not int or type(found["span_s"]) is not int:
        raise ValueError("at_s")
    return Span(**found)


def _episode(record: Any) -> Episode:
    found = _checked(record, Episode)
    users = found["users"]
    if not isinstance(users, dict) or not all(type(tasks) is int for tasks in users.values()):
        raise ValueError("users")
    return Episode(**found)
