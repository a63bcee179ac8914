"""Of ``tonnage load``."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from tonnage.placement.load import Row, ServerLoad


@dataclass(frozen=True, kw_only=True)
class Answer:
    """One look."""

    at_s: float
    """Seconds since 1970."""
    servers: tuple[ServerLoad, ...]
    notes: tuple[str, ...]


def answer(found: Sequence[Row], notes: Sequence[str]) -> Answer:
    """Of a look that was just taken."""
    return Answer(at_s=round(time.time(), 3), servers=tuple(row.told() for row in found), notes=tuple(notes))
