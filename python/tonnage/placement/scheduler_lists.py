"""The scheduler's lists, kept for a moment: a burst of submissions asks for them once in a while, not each time.

One small file a list in this user's own directory, replaced whole. A decision takes this user's newer jobs from the
ledger; it learns of the jobs of others as late as the list is old.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from operator import attrgetter
from pathlib import Path
from threading import Thread
from typing import Any, Generic, TypeVar

from tonnage.cluster.scheduler import Scheduler, State
from tonnage.errors import RequestError, TonnageError
from tonnage.machine.user_state import user_state
from tonnage.program_places import keep_file

_T = TypeVar("_T")
_TOLD_BY = ("SLURM_", "LSF_", "LSB_", "PBS_", "FLUX_")
"""What in the environment says which cluster is asked begins with these."""


@dataclass(slots=True)  # one that is frozen takes three times as long to make
class ListedJob:
    """What a decision needs of a ``Job``, under the same names: in a burst a thousand are read for each."""

    job: str
    key: str | None
    server: str | None
    state: State
    queue: str
    count: int
    submitted_at_s: float | None
    started_at_s: float | None
    hosts: tuple[str, ...]
    cap: int | None = None


@dataclass(slots=True)
class ListedHost:
    """What a decision needs of a ``ClusterHost``, in the same way: a site may have ten thousand."""

    name: str
    up: bool
    slots: int
    slots_used: int
    reason: str
    queues: tuple[str, ...] | None


class BackgroundCall(Generic[_T]):
    """A query to the scheduler that runs beside others. Ctrl-C does not wait for one that hangs."""

    def __init__(self, question: Callable[[], _T]) -> None:
        self._question = question
        self._answer: _T | None = None
        self._error: TonnageError | None = None
        self._thread = Thread(target=self._ask, daemon=True)
        self._thread.start()

    def _ask(self) -> None:
        try:
            self._answer = self._question()
        except TonnageError as error:
            self._error = error

    def get(self, notes: list[str]) -> _T | None:
        """The answer; None, and a note, where it failed. RequestError where what this user keeps is damaged: no job is
        submitted with that."""
        self._thread.join()
        if isinstance(self._error, RequestError):
            raise self._error
        if self._error is not None:
            note = f"{self._error}; the decision does without"
            if note not in notes:
                notes.append(note)
        return self._answer


class Listed(Generic[_T]):
    """A list, and when it was asked for (seconds since 1970)."""

    def __init__(self, at_s: float, rows: Sequence[_T]) -> None:
        self.at_s = at_s
        self.rows: Sequence[_T] = rows


class Lists:
    """What one scheduler lists, at most ``age_ns`` old; 0: always as it is now."""

    def __init__(self, scheduler: Scheduler, age_ns: int) -> None:
        self._scheduler = scheduler
        self._age_s = age_ns / 1e9
        self._place: Path | None = None
        if age_ns:
            with suppress(RequestError):
                self._place = user_state("lists")

    def hosts(self) -> Listed[ListedHost]:
        """SchedulerError where it must be asked and does not answer."""
        return self._listed("hosts", _names(ListedHost), self._scheduler.hosts, _host)

    def jobs(self) -> Listed[ListedJob]:
        """Returns the jobs, with the rules of ``hosts``."""
        return self._listed("jobs", _names(ListedJob), self._scheduler.jobs, _job)

    def _listed(
        self,
        what: str,
        names: list[str],
        ask: Callable[[], Iterable[object]],
        made: Callable[[Sequence[Any]], _T],
    ) -> Listed[_T]:
        file = None if self._place is None else _file(self._place, self._scheduler, what)
        if file is not None and (kept := self._kept(file, names, made)) is not None:
            return kept
        at_s = time.time()
        rows = [*map(attrgetter(*names), ask())]
        if file is not None:
            told = {"at_s": at_s, "names": names, "rows": rows}
            keep_file(file, json.dumps(told, separators=(",", ":")).encode())
        return Listed(at_s, [made(row) for row in rows])

    def _kept(self, file: Path, names: list[str], made: Callable[[Sequence[Any]], _T]) -> Listed[_T] | None:
        """None where there is none, it is too old, or of another version."""
        try:
            found = json.loads(file.read_bytes())
            if found["names"] != names or not 0 <= time.time() - found["at_s"] < self._age_s:
                return None
            return Listed(found["at_s"], [made(row) for row in found["rows"]])
        except (OSError, ValueError, KeyError, TypeError):
            return None


def forget_lists(scheduler: Scheduler) -> None:
    """Called after a change: the next decision asks the scheduler anew."""
    with suppress(RequestError, OSError):
        place = user_state("lists")
        for what in ("hosts", "jobs"):
            _file(place, scheduler, what).unlink(missing_ok=True)


def _file(place: Path, scheduler: Scheduler, what: str) -> Path:
    return place / f"{scheduler.name}-{what}-{_cluster()}.json"


def _names(kind: type[ListedHost | ListedJob]) -> list[str]:
    return [field.name for field in fields(kind)]


def _host(row: Sequence[Any]) -> ListedHost:
    made = ListedHost(*row)
    # JSON knows no tuples.
    made.queues = None if made.queues is None else tuple(made.queues)
    return made


def _job(row: Sequence[Any]) -> ListedJob:
    made = ListedJob(*row)
    made.hosts = tuple(made.hosts)
    return made


def _cluster() -> str:
    """Tells the hosts that share a home directory apart, and the clusters that one host may ask."""
    told = sorted(f"{name}={value}" for name, value in os.environ.items() if name.startswith(_TOLD_BY))
    return hashlib.blake2s("\0".join((os.uname().nodename, *told)).encode(errors="replace"), digest_size=8).hexdigest()
