"""Of ``tonnage queues``."""

from __future__ import annotations

from dataclasses import dataclass

from tonnage.cluster.scheduler import Queue


@dataclass(frozen=True, kw_only=True)
class Answer:
    """All queues."""

    scheduler: str
    queues: tuple[Queue, ...]
