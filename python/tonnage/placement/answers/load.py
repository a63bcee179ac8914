"""Of ``tonnage load``."""

from __future__ import annotations

from dataclasses import dataclass

from tonnage.placement.load import ServerLoad


@dataclass(frozen=True, kw_only=True)
class Answer:
    """One look."""

    at_s: float
    """Seconds since 1970."""
    servers: tuple[ServerLoad, ...]
    notes: tuple[str, ...]
