"""What a scheduler's tool printed is what it was asked for, or is told as what it is: never an empty list."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from tonnage.cluster.hostlist import how_many, unfold
from tonnage.cluster.scheduler import Job, SchedulerError
from tonnage.machine.user import user_name

_SHOWN = 100
"""Characters of an answer that an error shows."""
_MOST_HOSTS = 1 << 20
"""A few words can stand for more names than memory holds."""
_LATEST_S = 1 << 36
"""Beyond that, in seconds since 1970, no job has a time."""


class Nonsense(SchedulerError):
    """A tool answered with what it was not asked for."""

    def __init__(self, tool: str, what: str, text: str) -> None:
        """``what`` it was asked for; ``text`` as it was printed: what a terminal would obey is escaped."""
        super().__init__(f"{tool} printed what is no {what}: {text.strip()[:_SHOWN]!a}")


def document(text: str, tool: str, what: str) -> dict[str, Any]:
    """A JSON object; empty where nothing was printed. Nonsense for all else."""
    try:
        found = json.loads(text.strip() or "{}")
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise Nonsense(tool, what, text)
    return found


def moment(told: object) -> float | None:
    """Seconds since 1970; None for what is no time of a job."""
    try:
        found = float(told)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None
    return found if 0 <= found < _LATEST_S else None


def hosts(text: str) -> tuple[str, ...]:
    """Those of ``a[1-3],b``. ValueError where they are more than any cluster has."""
    if how_many(text) > _MOST_HOSTS:
        raise ValueError(f"more than {_MOST_HOSTS} hosts")
    return unfold(text)


def with_key(jobs: Iterable[Job], key: str) -> Job | None:
    """The one that this user submitted with that key: others can choose the same."""
    me = user_name()
    return next((job for job in jobs if job.key == key and job.user == me), None)
