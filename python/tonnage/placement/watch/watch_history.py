"""The history of watches: rows of some minutes each, and episodes. Append-only JSON lines of bounded size.

``spans.jsonl`` and ``episodes.jsonl`` in a directory of this user's, and ``lock``: its first byte is locked by the
writer, and one of the others by the watch of each server. An episode is written when it begins, with each row that
becomes whole, and when it ends; its newest line counts.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar

from tonnage.errors import RequestError, TonnageError
from tonnage.machine.user_state import STATE_HINT, user_state
from tonnage.placement.append_log import append, lock, lock_within, rewrite
from tonnage.placement.watch.episodes import Episode
from tonnage.placement.watch.observation import ServerObservation
from tonnage.program_places import open_private

SPAN_S = 300
"""Of a row."""
HOUR_S = 3600
"""Of an old one."""
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
_NUMBERS = ("at_s", "known_s", "above_s", "unknown_s", "load_s", "most", "began_s", "seen_s", "ended_s")


@dataclass(slots=True, kw_only=True)
class Span:
    """One server's observations of some minutes, at one load line. Its fields are sums, so that several rows can be
    merged."""

    server: str
    at_s: int
    """Its begin, a whole number of ``span_s`` since 1970."""
    span_s: int
    line: int | None
    """None: what its line was is not known."""
    known_s: float = 0.0
    """Time after observations that showed whether the server was above its line, each until the next one."""
    above_s: float = 0.0
    """Of that, above it."""
    unknown_s: float = 0.0
    """Time after observations that did not show it."""
    load_s: float = 0.0
    """Load times seconds, of the known time: over ``known_s`` it is the mean."""
    most: float = 0.0
    """The highest load in one observation."""

    def add(self, other: Span) -> None:
        """What another one has."""
        self.known_s += other.known_s
        self.above_s += other.above_s
        self.unknown_s += other.unknown_s
        self.load_s += other.load_s
        self.most = max(self.most, other.most)


class Spans:
    """The incomplete rows of all servers."""

    def __init__(self) -> None:
        self._open: dict[str, Span] = {}
        self._last: dict[str, tuple[ServerObservation, float, float]] = {}

    def update(self, seen: ServerObservation, at_s: float, tick_s: float, *, longest_s: float) -> list[Span]:
        """Takes one more observation and returns the rows that it completes. Arguments as ``Tracker.update``."""
        before = self._last.get(seen.server)
        self._last[seen.server] = (seen, at_s, tick_s)
        if before is None:
            return []
        last, _, last_tick_s = before
        lasted_s = tick_s - last_tick_s
        if not 0 < lasted_s <= longest_s or (last.line is None and not last.missing):
            return []
        whole = []
        # By the current clock: the time of an observation before a clock step is unknown.
        for start, part_s in _divided(at_s - lasted_s, lasted_s):
            whole += self._add(last, start, part_s)
        return whole

    def close(self) -> list[Span]:
        """All that are not whole."""
        left, self._open = [*self._open.values()], {}
        return left

    def _add(self, seen: ServerObservation, start: int, part_s: float) -> list[Span]:
        whole = []
        span = self._open.get(seen.server)
        if span is None or (span.at_s, span.line) != (start, seen.line):
            whole = [] if span is None else [span]
            span = Span(server=seen.server, at_s=start, span_s=SPAN_S, line=seen.line)
            self._open[seen.server] = span
        if seen.above is None or seen.load is None:
            span.unknown_s += part_s
            return whole
        span.known_s += part_s
        span.above_s += part_s if seen.above else 0.0
        span.load_s += part_s * seen.load
        span.most = max(span.most, seen.load)
        return whole


def by_the_hour(spans: Iterable[Span], before_s: float) -> list[Span]:
    """Puts the rows that begin before a time together by the hour."""
    found: list[Span] = []
    hours: dict[tuple[str, int, int | None], Span] = {}
    for span in spans:
        if span.at_s >= before_s:
            found.append(span)
            continue
        start = span.at_s // HOUR_S * HOUR_S
        key = (span.server, start, span.line)
        if key not in hours:
            hours[key] = Span(server=span.server, at_s=start, span_s=HOUR_S, line=span.line)
        hours[key].add(span)
    return [*sorted(hours.values(), key=lambda one: one.at_s), *found]


def _divided(begin_s: float, lasted_s: float) -> Iterator[tuple[int, float]]:
    """(start of a span, seconds in it)."""
    left_s = lasted_s
    while left_s > 0:
        start = int(begin_s // SPAN_S) * SPAN_S
        part_s = min(left_s, start + SPAN_S - begin_s)
        if part_s <= 0:
            return  # of a float this large no smaller part is left
        yield start, part_s
        begin_s, left_s = float(start + SPAN_S), left_s - part_s


class HistoryError(TonnageError):
    """It cannot be read or written."""


class AlreadyWatched(RequestError):
    """Another watch has this server."""


@dataclass(frozen=True, slots=True)
class HistoryContent:
    """The content of the history."""

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
    def locked(self, servers: Iterable[str]) -> Iterator[None]:
        """Keeps other watches away from these servers; AlreadyWatched where one of them has one."""
        # One open file a lock: locks of one open file do not exclude each other.
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
            if spans and append(self.directory / SPANS, _json_lines(spans), durable=True) > MOST_BYTES:
                self._make_fewer(now_s)
            if episodes and append(self.directory / EPISODES, _json_lines(episodes), durable=True) > MOST_EPISODE_BYTES:
                found, _ = self._episodes()
                rewrite(self.directory / EPISODES, _newest(_json_lines(found), KEPT_EPISODE_BYTES))
        except OSError as error:
            raise HistoryError(f"cannot write {self.directory}: {error.strerror}") from None
        finally:
            os.close(descriptor)

    def read(self) -> HistoryContent:
        """All of it. HistoryError where it cannot be read."""
        spans, cut = self._spans()
        episodes, damaged = self._episodes()
        return HistoryContent(tuple(spans), tuple(episodes), cut + damaged)

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
            lines = _json_lines(spans)
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
            return open_private(self.directory / LOCK, os.O_RDWR)
        except OSError as error:
            raise HistoryError(f"cannot open {self.directory / LOCK}: {error.strerror}; {STATE_HINT}") from None


def _json_lines(records: Iterable[Span | Episode]) -> bytes:
    told = (_rounded(asdict(record)) for record in records)
    return b"".join(json.dumps(one, separators=(",", ":"), allow_nan=False).encode() + b"\n" for one in told)


def _rounded(record: Mapping[str, object]) -> dict[str, object]:
    return {name: round(value, 3) if isinstance(value, float) else value for name, value in record.items()}


def _newest(lines: bytes, most_bytes: int) -> bytes:
    return lines if len(lines) <= most_bytes else lines[-most_bytes:].partition(b"\n")[2]


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
