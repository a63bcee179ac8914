"""Of ``tonnage watch``: an object for each event, or with ``--once`` for each server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tonnage.placement.watch.seen import UserJobs

Word = Literal["began", "ended", "unknown", "known", "no-line", "above", "below"]


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What is known of one server at one look."""

    at_s: float
    """Of the look, in seconds since 1970."""
    time: str
    """The same in ISO 8601."""
    server: str
    event: Word
    """``above`` and ``below`` with ``--once`` alone."""
    above: bool
    """In an episode, also where that is not known now."""
    load: float | None
    """Tasks that use it: of the scheduler's jobs, and ``others``; null is unknown."""
    others: float | None
    """Of it, what the indices show beyond those jobs; null where they do not tell."""
    line: int | None
    since_s: float | None
    """When the episode began; of ``unknown`` and ``known``: since when nothing was known."""
    until_s: float | None
    """Of ``ended``: when."""
    lasted_s: float | None
    """Of ``ended``: without what is not known."""
    jobs: int | None
    """That run there, as far as the scheduler tells; null where it does not."""
    users: tuple[UserJobs, ...]
    only_own: bool | None
    """Whether the scheduler tells of this user's jobs alone; null: it does not say."""
    missing: tuple[str, ...]
    """A sentence for each thing that could not be looked at."""
