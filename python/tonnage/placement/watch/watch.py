"""Observes servers, follows their episodes, and keeps the history."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from tonnage.cluster.scheduler import Job
from tonnage.placement.running_caps import RunningCaps
from tonnage.placement.server_load import LoadReader, LoadRow
from tonnage.placement.submission_ledger import Ledger
from tonnage.placement.watch.episodes import Episode, Event, Tracker
from tonnage.placement.watch.observation import ServerObservation, observations
from tonnage.placement.watch.watch_history import History, HistoryError, Span, Spans

_SHORTEST_S = 60.0
"""Between observations further apart than three intervals, and than this, the time is unknown."""
_FRESH_S = 900.0
"""A running watch writes an episode that goes on more often than this, unless its interval is very long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """The state of one server."""

    row: LoadRow
    seen: ServerObservation
    since_s: float | None
    """When its episode began; None outside of one."""
    lasts_s: float | None
    """How long that goes on."""
    known: bool
    """Whether the last observation showed the load."""
    episodes: int
    """Episodes that began since the watch did."""

    @property
    def above(self) -> bool:
        """Whether an episode goes on."""
        return self.since_s is not None


def _clock() -> tuple[float, float]:
    """The wall clock, and a monotonic clock that also runs while this host sleeps."""
    return time.time(), time.clock_gettime(time.CLOCK_BOOTTIME)


class Watch:
    """Of some servers."""

    def __init__(
        self,
        reader: LoadReader,
        *,
        every_s: float,
        history: History | None,
        clock: Callable[[], tuple[float, float]] = _clock,
    ) -> None:
        """``history``: None where nothing is kept. ``clock``: seconds since 1970, and those of an even clock."""
        self._reader, self._clock, self._history = reader, clock, history
        self._longest_s = max(_SHORTEST_S, 3 * every_s)
        self._trackers = {server.name: Tracker(server.name) for server in reader.servers}
        self._spans = Spans()
        self.states: tuple[State, ...] = ()
        """After the last observation."""
        self.problem: str | None = None
        """Why the last observation could not be kept."""

    @property
    def servers(self) -> list[str]:
        """Their names."""
        return [*self._trackers]

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keeps other watches away from these servers. AlreadyWatched, HistoryError."""
        if self._history is None:
            yield
            return
        with self._history.locked(self.servers):
            yield

    def resume(self) -> None:
        """Continues the episodes that the history has as going on, of any watch."""
        if self._history is not None:
            at_s, tick_s = self._clock()
            for server, episode in self._history.open_episodes().items():
                if server in self._trackers:
                    self._trackers[server].resume(episode, at_s, tick_s)

    def _adopt(self, seen: Sequence[ServerObservation]) -> None:
        """For a reader that keeps nothing: takes the begin of episodes from a watch that runs now."""
        if self._history is None:
            return
        at_s, tick_s = self._clock()
        found = self._history.open_episodes()
        for one in seen:
            episode, tracker = found.get(one.server), self._trackers[one.server]
            if one.above and tracker.episode is None and episode and abs(at_s - episode.seen_s) < _FRESH_S:
                tracker.resume(episode, at_s, tick_s)

    def observe(self) -> tuple[list[LoadRow], list[ServerObservation]]:
        """Observes once. An interrupt loses this observation alone."""
        rows = self._reader()
        return rows, observations(self._reader, rows)

    def raise_caps(self) -> tuple[str, ...]:
        """After an observation: raises the caps of this user's own arrays to what others have left; returns a sentence
        for each."""
        reader, snapshot = self._reader, self._reader.snapshot
        if reader.scheduler is None or snapshot.jobs is None:
            return ()
        jobs = [job for job in snapshot.jobs if isinstance(job, Job)]
        return RunningCaps(reader.site, Ledger(), reader.scheduler, self.servers, snapshot.readings).rise(jobs=jobs)

    def observe_only(self) -> tuple[State, ...]:
        """Observes once and keeps nothing."""
        rows, seen = self.observe()
        self._adopt(seen)
        self._see(rows, seen)
        return self.states

    def record(self, rows: Sequence[LoadRow], seen: Sequence[ServerObservation]) -> list[Event]:
        """Updates the episodes from an observation and keeps them; returns the events."""
        events, whole, changed, at_s = self._see(rows, seen)
        self._keep(whole, changed, at_s)
        return events

    def _see(
        self, rows: Sequence[LoadRow], seen: Sequence[ServerObservation]
    ) -> tuple[list[Event], list[Span], list[Episode], float]:
        at_s, tick_s = self._clock()
        events: list[Event] = []
        whole: list[Span] = []
        changed: list[Episode] = []
        states = []
        for row, one in zip(rows, seen, strict=True):
            tracker = self._trackers[one.server]
            found = tracker.update(one, at_s, tick_s, longest_s=self._longest_s)
            spans = self._spans.update(one, at_s, tick_s, longest_s=self._longest_s)
            if tracker.ended is not None:
                changed.append(tracker.ended)
            if tracker.episode is not None and (spans or any(event.kind == "began" for event in found)):
                changed.append(tracker.episode)
            events += found
            whole += spans
            states.append(_state(row, one, tracker, tick_s))
        self.states = tuple(states)
        return events, whole, changed, at_s

    def close(self) -> None:
        """Keeps what is not kept yet."""
        open_episodes = [tracker.episode for tracker in self._trackers.values() if tracker.episode is not None]
        self._keep(self._spans.close(), open_episodes, self._clock()[0])

    def _keep(self, spans: Sequence[Span], episodes: Sequence[Episode], at_s: float) -> None:
        if self._history is None or not (spans or episodes):
            return
        try:
            self._history.add(spans, episodes, now_s=at_s)
        except HistoryError as error:
            self.problem = str(error)
        else:
            self.problem = None


def _state(row: LoadRow, seen: ServerObservation, tracker: Tracker, tick_s: float) -> State:
    return State(
        row=row,
        seen=seen,
        since_s=tracker.since_s(),
        lasts_s=tracker.lasts_s(tick_s),
        known=tracker.known,
        episodes=tracker.episodes,
    )
