"""Summarises the history of a server: when it was above its line, whose jobs ran there, and its load by hour."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from tonnage.placement.server_load_lines import lines_about
from tonnage.placement.site import Server, Site
from tonnage.placement.watch.episodes import Episode
from tonnage.placement.watch.watch_history import HistoryContent, Span
from tonnage.records.load_line_files import KeptLine

BUSY_SHARE = 0.8
"""Of the time above the line: the shortest stretch of the day that has as much is the busiest."""
_HOURS = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Sum:
    """The sum of some rows of the history."""

    known_s: float
    """Time after observations that showed the load."""
    above_s: float
    """Of it, above the line."""
    unknown_s: float
    """Time after observations that did not show it."""
    mean: float | None
    """Load in tasks, over the known time."""
    most: float | None
    """The highest load."""

    @property
    def share(self) -> float | None:
        """Of the known time, above the line."""
        return self.above_s / self.known_s if self.known_s else None


@dataclass(frozen=True, slots=True, kw_only=True)
class HourOfDay:
    """One hour of all days, by this host's zone."""

    hour: int
    sum: Sum


@dataclass(frozen=True, slots=True, kw_only=True)
class Busiest:
    """The shortest stretch of the day that has 80 % of the time above the line."""

    from_hour: int
    until_hour: int
    """1 to 24; below ``from_hour``: past midnight."""
    sum: Sum
    of_above: float
    """Share of all time above the line that lies in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LineInUse:
    """A stretch of time in which one load line held."""

    line: int | None
    from_s: float
    until_s: float
    sum: Sum


@dataclass(frozen=True, slots=True, kw_only=True)
class UserInEpisodes:
    """Whose jobs were there."""

    user: str
    episodes: int
    most_tasks: int
    """At one look."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerReport:
    """One server."""

    server: str
    from_s: float
    until_s: float
    sum: Sum
    hours: tuple[HourOfDay, ...]
    """Those of which anything is known."""
    busiest: Busiest | None
    """None: it was never above its line."""
    episodes: tuple[Episode, ...]
    """The oldest first."""
    users: tuple[UserInEpisodes, ...]
    """Those of the most episodes first."""
    lines: tuple[LineInUse, ...]
    """Load lines as the watch found them, the oldest first."""
    measured: tuple[KeptLine, ...]
    """Load lines that were measured, since when ever, the oldest first."""
    stated: int | None
    """Tasks of the line that the site file states."""

    @property
    def longest(self) -> Episode | None:
        """By how long is known."""
        return max(self.episodes, key=lambda one: one.lasted_s, default=None)


def reports(
    kept: HistoryContent,
    site: Site,
    lines: Iterable[KeptLine],
    *,
    now_s: float,
    only: Sequence[str] = (),
    since_s: float | None = None,
) -> list[ServerReport]:
    """Of each server that the history has, or of those of the names ``only``, by name; what is before ``since_s`` does
    not count, but for the episodes that went on then."""
    every = tuple(lines)
    spans: dict[str, list[Span]] = {}
    for span in kept.spans:
        if since_s is None or span.at_s + span.span_s > since_s:
            spans.setdefault(span.server, []).append(span)
    episodes: dict[str, list[Episode]] = {}
    for episode in kept.episodes:
        end_s = episode.seen_s if episode.ended_s is None else episode.ended_s
        if since_s is None or end_s > since_s:
            episodes.setdefault(episode.server, []).append(episode)
    names = sorted({*spans, *episodes})
    return [
        _report(name, spans.get(name, []), episodes.get(name, []), site, every, now_s)
        for name in names
        if not only or name in only
    ]


def _report(
    name: str, spans: list[Span], episodes: list[Episode], site: Site, lines: Sequence[KeptLine], now_s: float
) -> ServerReport:
    spans.sort(key=lambda one: one.at_s)
    server = site.named(name) or Server(name=name)
    hours = _hours(spans)
    begins = [float(span.at_s) for span in spans] + [one.began_s for one in episodes]
    # The newest row is not over yet.
    ends = [min(now_s, float(span.at_s + span.span_s)) for span in spans] + [one.seen_s for one in episodes]
    return ServerReport(
        server=name,
        from_s=min(begins),
        until_s=max(ends),
        sum=_sum(spans),
        hours=tuple(HourOfDay(hour=hour, sum=_sum(found)) for hour, found in enumerate(hours) if found),
        busiest=_busiest(hours),
        episodes=tuple(episodes),
        users=_users(episodes),
        lines=tuple(_in_use(spans, now_s)),
        measured=tuple(lines_about(site, server, lines)),
        stated=None if server.line is None else server.line.tasks,
    )


def _sum(spans: Iterable[Span]) -> Sum:
    every = [*spans]
    known_s = sum(span.known_s for span in every)
    return Sum(
        known_s=known_s,
        above_s=sum(span.above_s for span in every),
        unknown_s=sum(span.unknown_s for span in every),
        mean=sum(span.load_s for span in every) / known_s if known_s else None,
        most=max((span.most for span in every if span.known_s), default=None),
    )


def _hours(spans: Iterable[Span]) -> list[list[Span]]:
    found: list[list[Span]] = [[] for _ in range(_HOURS)]
    for span in spans:
        found[datetime.fromtimestamp(span.at_s).hour].append(span)
    return found


def _busiest(hours: Sequence[Sequence[Span]]) -> Busiest | None:
    above_s = [sum(span.above_s for span in found) for found in hours]
    whole_s = sum(above_s)
    if not whole_s:
        return None
    for length in range(1, _HOURS + 1):
        stretches = [[(first + step) % _HOURS for step in range(length)] for first in range(_HOURS)]
        best = max(stretches, key=lambda one: sum(above_s[hour] for hour in one))
        in_it_s = sum(above_s[hour] for hour in best)
        if in_it_s >= BUSY_SHARE * whole_s or length == _HOURS:
            break
    return Busiest(
        from_hour=0 if length == _HOURS else best[0],
        until_hour=_HOURS if length == _HOURS else best[-1] + 1,
        sum=_sum(span for hour in best for span in hours[hour]),
        of_above=in_it_s / whole_s,
    )


def _users(episodes: Iterable[Episode]) -> tuple[UserInEpisodes, ...]:
    number: Counter[str] = Counter()
    most: dict[str, int] = {}
    for episode in episodes:
        number.update(episode.users.keys())
        for user, tasks in episode.users.items():
            most[user] = max(tasks, most.get(user, 0))
    found = [UserInEpisodes(user=user, episodes=count, most_tasks=most[user]) for user, count in number.items()]
    return tuple(sorted(found, key=lambda one: (-one.episodes, -one.most_tasks, one.user)))


def _in_use(spans: Sequence[Span], now_s: float) -> Iterable[LineInUse]:
    # An unknown line is no other line: it interrupts none.
    known = [span for span in spans if span.line is not None]
    for line, group in groupby(known, key=lambda one: one.line):
        found = [*group]
        until_s = min(now_s, float(found[-1].at_s + found[-1].span_s))
        yield LineInUse(line=line, from_s=float(found[0].at_s), until_s=until_s, sum=_sum(found))
