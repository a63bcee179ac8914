"""Of ``tonnage history --servers``."""

from __future__ import annotations

from dataclasses import dataclass

from tonnage.placement.watch.report import Busiest, HourOfDay, LineInUse, Sum, UserInEpisodes


@dataclass(frozen=True, kw_only=True)
class EpisodeTold:
    """A time for which a server was above its line."""

    began_s: float
    ended_s: float | None
    """Null: it goes on, or the watch ended first."""
    seen_s: float
    """The last look at it."""
    lasted_s: float
    """Without what is not known."""
    unknown_s: float
    line: int
    most: float
    """The highest load."""
    users: dict[str, int]
    """User: most tasks at one look; the first 32."""
    only_own: bool | None
    """Whether the scheduler told of this user's jobs alone."""


@dataclass(frozen=True, kw_only=True)
class MeasuredLine:
    """A load line that was measured."""

    measured_at_s: float
    operation: str
    access: str
    transfer_bytes: int
    tasks: int
    low: int
    high: int
    plateau_bytes_per_s: int
    host: str
    target: str


@dataclass(frozen=True, kw_only=True)
class ServerTold:
    """One server. Times are seconds since 1970; hours of the day are by this host's zone."""

    server: str
    from_s: float
    until_s: float
    sum: Sum
    share_above: float | None
    """Of the known time."""
    hours: tuple[HourOfDay, ...]
    busiest: Busiest | None
    episodes: tuple[EpisodeTold, ...]
    users: tuple[UserInEpisodes, ...]
    lines: tuple[LineInUse, ...]
    measured: tuple[MeasuredLine, ...]
    stated: int | None


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What watches kept."""

    zone: str
    """Of the hours of the day, such as ``+01:00``."""
    servers: tuple[ServerTold, ...]
    notes: tuple[str, ...]
