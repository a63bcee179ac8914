"""Looks made into rows of five minutes, so that months of them stay small."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tonnage.placement.watch.seen import Seen

SPAN_S = 300
"""Of a row."""
HOUR_S = 3600
"""Of an old one."""


@dataclass(slots=True, kw_only=True)
class Span:
    """One server's looks of some minutes, at one load line. Sums, so that several make one."""

    server: str
    at_s: int
    """Its begin, a whole number of ``span_s`` since 1970."""
    span_s: int
    line: int | None
    """None: what its line was is not known."""
    known_s: float = 0.0
    """Time after looks that told whether the server was above its line, each until the next one."""
    above_s: float = 0.0
    """Of that, above it."""
    unknown_s: float = 0.0
    """Time after looks that did not tell."""
    load_s: float = 0.0
    """Load times seconds, of the known time: over ``known_s`` it is the mean."""
    most: float = 0.0
    """The highest load at one look."""

    def add(self, other: Span) -> None:
        """What another one has."""
        self.known_s += other.known_s
        self.above_s += other.above_s
        self.unknown_s += other.unknown_s
        self.load_s += other.load_s
        self.most = max(self.most, other.most)


class Spans:
    """Those that are not whole yet, of all servers."""

    def __init__(self) -> None:
        self._open: dict[str, Span] = {}
        self._last: dict[str, tuple[Seen, float, float]] = {}

    def look(self, seen: Seen, at_s: float, tick_s: float, *, longest_s: float) -> list[Span]:
        """Takes one more look, and gives the rows that it makes whole. Arguments as ``Tracker.look``."""
        before = self._last.get(seen.server)
        self._last[seen.server] = (seen, at_s, tick_s)
        if before is None:
            return []
        last, _, last_tick_s = before
        lasted_s = tick_s - last_tick_s
        if not 0 < lasted_s <= longest_s or (last.line is None and not last.missing):
            return []
        whole = []
        # By the clock as it is set now: of a look before it was set nobody knows when that was by it.
        for start, part_s in _divided(at_s - lasted_s, lasted_s):
            whole += self._add(last, start, part_s)
        return whole

    def close(self) -> list[Span]:
        """All that are not whole."""
        left, self._open = [*self._open.values()], {}
        return left

    def _add(self, seen: Seen, start: int, part_s: float) -> list[Span]:
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
    """With those that begin before a time put together by the hour."""
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
