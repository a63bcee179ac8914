"""Of ``tonnage jobs``."""

from __future__ import annotations

from dataclasses import dataclass

from tonnage.cluster.scheduler import Job


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The jobs that were asked for."""

    scheduler: str
    jobs: tuple[Job, ...]
