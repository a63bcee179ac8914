"""Looks made by hand, and a clock that a test sets."""

from __future__ import annotations

from dataclasses import dataclass, field

from tonnage.placement.watch.episodes import Event, Tracker
from tonnage.placement.watch.observation import RunningJobs, ServerObservation, UserJobs

NOON_S = 1_795_521_600.0
"""2026-11-24 12:00 UTC."""
EVERY_S = 30.0
LONGEST_S = 90.0
ANN = UserJobs(user="ann", jobs=2, tasks=6, names=("align", "sort"))
BOB = UserJobs(user="bob", jobs=1, tasks=3, names=("bwa",))


def saw(
    load: float | None, line: int | None = 8, *, server: str = "rcss1", users: tuple[UserJobs, ...] = ()
) -> ServerObservation:
    """One look; ``load`` None: it failed."""
    if load is None:
        return ServerObservation(server=server, line=line, missing=("it did not answer",))
    return ServerObservation(server=server, line=line, load=load, there=RunningJobs(users=users))


@dataclass
class Clock:
    """Of the calendar, and one that nobody sets."""

    at_s: float = NOON_S
    tick_s: float = 1000.0

    def __call__(self) -> tuple[float, float]:
        return self.at_s, self.tick_s

    def go(self, seconds: float) -> None:
        self.at_s += seconds
        self.tick_s += seconds


@dataclass
class Looks:
    """A tracker that is shown one look after the other, half a minute apart."""

    clock: Clock = field(default_factory=Clock)
    tracker: Tracker = field(default_factory=lambda: Tracker("rcss1"))

    def __call__(self, *loads: float | None, line: int | None = 8, every_s: float = EVERY_S) -> list[Event]:
        """What they changed."""
        found: list[Event] = []
        for load in loads:
            self.clock.go(every_s)
            found += self.tracker.update(saw(load, line), *self.clock(), longest_s=LONGEST_S)
        return found


def kinds(events: list[Event]) -> list[str]:
    return [event.kind for event in events]
