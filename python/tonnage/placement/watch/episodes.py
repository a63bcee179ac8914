"""Detects when an episode above the line begins and ends. Does no I/O and reads no clock."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Literal

from tonnage.placement.watch.observation import RunningJobs, ServerObservation

IN_A_ROW = 2
"""Observations in a row that agree before an episode begins or ends: one noisy observation makes none."""
MOST_USERS = 32
"""The largest number of users that an episode keeps by name."""
_CLOCK_SET_S = 5.0
"""A clock step of more than this shifts earlier times to the new clock."""
Kind = Literal["began", "ended", "unknown", "known", "no-line"]


@dataclass(slots=True, kw_only=True)
class Episode:
    """A time for which a server was above its line."""

    identity: str
    server: str
    began_s: float
    """Seconds since 1970: the first of the observations above its line."""
    seen_s: float
    """The last observation of it."""
    ended_s: float | None = None
    """The first of the observations at its line or below; None: it goes on, or the watch ended first."""
    unknown_s: float = 0.0
    """The part of it without observations, or with failed ones."""
    line: int
    """The newest."""
    most: float
    """The highest load."""
    users: dict[str, int] = field(default_factory=dict)
    """User → the largest number of tasks in one observation."""
    others: int = 0
    """Observations that had more users than are kept."""
    only_own: bool | None = None

    @property
    def lasted_s(self) -> float:
        """Its length without unknown time."""
        end_s = self.seen_s if self.ended_s is None else self.ended_s
        return max(0.0, end_s - self.began_s - self.unknown_s)

    def saw(self, seen: ServerObservation, at_s: float) -> None:
        """Adds one more observation above its line."""
        self.seen_s = at_s
        if seen.line is not None and seen.load is not None:
            self.line, self.most = seen.line, max(self.most, seen.load)
        if seen.there is not None:
            self.add(seen.there)

    def add(self, there: RunningJobs) -> None:
        """Whose jobs are there."""
        self.only_own = there.only_own
        for user in there.users:
            if user.user not in self.users and len(self.users) >= MOST_USERS:
                self.others += 1
                break
            self.users[user.user] = max(self.users.get(user.user, 0), user.tasks)


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A change that an observation showed."""

    at_s: float
    kind: Kind
    seen: ServerObservation
    since_s: float | None = None
    """Began, ended: when the episode began. Unknown, known: since when nothing was known."""
    until_s: float | None = None
    """Ended: when."""
    lasted_s: float | None = None
    """Ended: how long of it is known."""
    above: bool = False
    """In an episode, also where that is not known now."""


@dataclass(frozen=True, slots=True)
class _Mark:
    """A moment, by the wall clock and by a clock that is never set."""

    at_s: float
    tick_s: float


class Tracker:
    """Follows one server through its observations."""

    def __init__(self, server: str) -> None:
        self.server = server
        self.episode: Episode | None = None
        self.episodes = 0
        """Episodes that began since this was made."""
        self.ended: Episode | None = None
        """The episode that the last observation ended."""
        self.known = False
        """Whether the last observation showed whether it is above its line."""
        self._began = _Mark(0.0, 0.0)
        self._unknown: _Mark | None = None
        self._streak: list[tuple[_Mark, ServerObservation]] = []
        """The last observations in a row that contradict the current state."""
        self._last: _Mark | None = None
        self._told_no_line = False

    def resume(self, episode: Episode, at_s: float, tick_s: float) -> None:
        """Continues an episode that another watch left; the time since its last observation is unknown."""
        gap_s = max(0.0, at_s - episode.seen_s)
        if episode.began_s > at_s:
            episode.began_s = at_s  # the clock was set back since
            episode.unknown_s = gap_s = 0.0
        episode.unknown_s += gap_s
        episode.seen_s = at_s
        self.episode, self._began = episode, _Mark(episode.began_s, tick_s - (at_s - episode.began_s))
        self._last, self.known = _Mark(at_s, tick_s), False

    def update(self, seen: ServerObservation, at_s: float, tick_s: float, *, longest_s: float) -> list[Event]:
        """Takes an observation and returns what it changes. ``at_s``: seconds since 1970; ``tick_s``: of a monotonic
        clock. Between observations further apart than ``longest_s`` the time is unknown."""
        now, last = _Mark(at_s, tick_s), self._last
        self._last, self.ended = now, None
        gap_s = 0.0 if last is None else max(0.0, tick_s - last.tick_s)
        if self.episode is not None and (not self.known or gap_s > longest_s) and last is not None:
            self.episode.unknown_s += gap_s
        if gap_s > longest_s:
            self._streak = []
        self._set_clock(now)
        above = seen.above
        self.known = above is not None
        if seen.line is None and not seen.missing and self.episode is None:
            return self._no_line(seen, now)
        if above is None:
            return self._not_known(seen, now)
        events = self._known_again(seen, now)
        if above == (self.episode is not None):
            self._streak = []
            if self.episode is not None:
                self.episode.saw(seen, at_s)
            return events
        self._streak.append((now, seen))
        if self.episode is not None:
            self.episode.seen_s = at_s
        if len(self._streak) >= IN_A_ROW:
            events.append(self._begin(seen, now) if above else self._end(seen, now))
        return events

    def since_s(self) -> float | None:
        """Returns when the episode began; None outside of one."""
        return None if self.episode is None else self.episode.began_s

    def lasts_s(self, tick_s: float) -> float | None:
        """How long it goes on by now."""
        return None if self.episode is None else max(0.0, tick_s - self._began.tick_s)

    def _begin(self, seen: ServerObservation, now: _Mark) -> Event:
        first, _ = self._streak[0]
        self._began, self.episodes = first, self.episodes + 1
        self.episode = Episode(
            identity=os.urandom(6).hex(),
            server=self.server,
            began_s=first.at_s,
            seen_s=now.at_s,
            line=seen.line or 0,
            most=0.0,
        )
        for mark, one in self._streak:
            self.episode.saw(one, mark.at_s)
        self._streak = []
        return Event(at_s=now.at_s, kind="began", seen=seen, since_s=self.episode.began_s, above=True)

    def _end(self, seen: ServerObservation, now: _Mark) -> Event:
        episode = self.episode
        assert episode is not None
        first, _ = self._streak[0]
        episode.ended_s = episode.seen_s = first.at_s
        self.episode, self.ended, self._streak = None, episode, []
        return Event(
            at_s=now.at_s,
            kind="ended",
            seen=seen,
            since_s=episode.began_s,
            until_s=episode.ended_s,
            lasted_s=episode.lasted_s,
        )

    def _not_known(self, seen: ServerObservation, now: _Mark) -> list[Event]:
        self._streak = []
        if self.episode is not None:
            self.episode.seen_s = now.at_s
        if self._unknown is not None:
            return []
        self._unknown = now
        above = self.episode is not None
        return [Event(at_s=now.at_s, kind="unknown", seen=seen, since_s=now.at_s, above=above)]

    def _known_again(self, seen: ServerObservation, now: _Mark) -> list[Event]:
        before, self._unknown, had_none = self._unknown, None, self._told_no_line
        self._told_no_line = False
        if before is None and not had_none:
            return []
        since_s = None if before is None else before.at_s
        return [Event(at_s=now.at_s, kind="known", seen=seen, since_s=since_s, above=self.episode is not None)]

    def _no_line(self, seen: ServerObservation, now: _Mark) -> list[Event]:
        self._streak, self._unknown = [], None
        if self._told_no_line:
            return []
        self._told_no_line = True
        return [Event(at_s=now.at_s, kind="no-line", seen=seen)]

    def _set_clock(self, now: _Mark) -> None:
        """After a clock step, earlier times are converted to the new clock, so that lengths stay right."""
        if self.episode is not None:
            self._began = self._by(now, self._began)
            self.episode.began_s = self._began.at_s
        if self._unknown is not None:
            self._unknown = self._by(now, self._unknown)
        self._streak = [(self._by(now, mark), seen) for mark, seen in self._streak]

    @staticmethod
    def _by(now: _Mark, mark: _Mark) -> _Mark:
        at_s = now.at_s - (now.tick_s - mark.tick_s)
        return mark if abs(at_s - mark.at_s) <= _CLOCK_SET_S else _Mark(at_s, mark.tick_s)
