"""What a choice is made of, and what comes of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from tonnage.placement.choice.plateau import Plateau


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """What is known of a job's use of storage."""

    bytes: int
    operations: int
    io_share: float = 1.0
    """Share of its time alone in which it waits for storage, 0…1; 1 where nothing is known."""
    bytes_per_s: int | None = None
    """To and from storage over the whole time of a copy alone; None where nobody measured it."""
    by_rate: float = 0.0
    """Tasks of the load line that this rate stands for; 0 where that is not known."""
    plateau_share: float | None = None
    """The rate as a share of the line's plateau; None where either is not known."""
    measured: bool = False
    """A run measured it."""
    source: str = "taken from the site file"
    """How that is known."""

    @property
    def tasks(self) -> float:
        """Tasks of the load line that one copy asks.

        It is at least one task for the share of its time in which it waits. Its rate may show more: several threads
        that do I/O at once, or few large requests.
        """
        return max(self.io_share, self.by_rate)

    def against(self, plateau: Plateau | None) -> Demand:
        """The same, with its rate compared with what a load line gives; no copy asks more than the line."""
        if plateau is None or self.bytes_per_s is None:
            return self
        share = self.bytes_per_s / plateau.bytes_per_s
        by_rate = min(plateau.tasks_of(self.bytes_per_s), float(plateau.tasks))
        return replace(self, by_rate=by_rate, plateau_share=share)


@dataclass(slots=True, kw_only=True)
class Candidate:
    """A host on which the job could run, with the server it would read from there.

    Mutable: a simulation keeps one a host and brings it up to date.
    """

    host: str
    server: str | None
    """None where nobody knows who serves the data."""
    near: bool
    """Beside the data."""
    bandwidth_bytes_per_s: float
    """Of one job alone from this host to the server's data."""
    latency_s: float
    slots: int | None
    """Jobs that the host takes at once; None: not known, taken as unbounded."""
    busy: int = 0
    """Slots in use."""
    waiting: int = 0
    """Jobs that wait for this host."""
    slot_s: float | None = None
    """Mean time a job there keeps its slot; None: not known."""
    line: float | None = None
    """The server's load line in tasks; None: not known."""
    on_server: float = 0.0
    """Tasks that use the server now, by the scheduler's count."""
    placed: float = 0.0
    """What was placed on it since those were counted, decayed."""
    pressure: float | None = None
    """Share of the server's capacity in use by its indices, 0…1; None where they are stale or unknown."""
    used_at_s: float = 0.0
    """When Tonnage last placed a job there; between equals the one longest unused wins."""
    problem: str | None = None
    """Why it takes no job of ours at all: down, unknown to the scheduler. It is passed over, and said so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """A candidate's score: the seconds until the job would have its data. ``score_s`` is the sum of the three."""

    host: str
    server: str | None
    near: bool
    access_s: float
    """Moving its bytes and operations, alone."""
    load_s: float
    """What the load on the server adds to that."""
    wait_s: float
    """Expected wait for a slot."""
    passed_over: str | None = None
    """Why it was not considered further, though its score may be the best; None if it was."""
    score_s: float = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "score_s", self.access_s + self.load_s + self.wait_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Where the job goes, and why."""

    hosts: tuple[str, ...]
    """Best first; empty: the scheduler decides."""
    bind: Literal["pin", "prefer", "free"]
    server: str | None
    cap: int | None
    """Copies at once; None: no limit."""
    why: tuple[str, ...]
    """Sentences for ``--dry-run`` and the record of the submission."""
    considered: tuple[Scored, ...]
    """Every candidate, best first."""
    room: int | None = None
    """Copies that the hosts beside the data take at once; None where that is no bound, or it is no array."""
    cap_why: str | None = None
    """How many run at once, and why, in one sentence, which ``why`` has too; None for a job alone whose demand nobody
    measured."""
