"""Of ``tonnage cancel``."""

from __future__ import annotations

from dataclasses import dataclass

from tonnage.placement.jobs import Cancelled


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What became of each order."""

    scheduler: str
    jobs: tuple[Cancelled, ...]
