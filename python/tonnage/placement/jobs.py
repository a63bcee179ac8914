"""The scheduler's jobs and queues: finds the scheduler, ends jobs, and has the types that ``--json`` prints."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tonnage.cluster.scheduler import Job, Queue, Scheduler, SchedulerError
from tonnage.cluster.schedulers import scheduler_here
from tonnage.errors import RequestError
from tonnage.placement.scheduler_lists import forget_lists
from tonnage.placement.site import load_site

_OF_COPIES = re.compile(r"(?P<job>[^\[\]_]+)(?:_(?P<one>\d{1,9})|\[(?P<some>[\d,-]+)\])(?P<rest>\..*)?")
_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")
_MOST_COPIES = 10_000
"""Named in one word: each is a request to the scheduler."""


def asked_scheduler(name: str | None, site_file: str | None) -> Scheduler:
    """The one of this name, else the site's. RequestError where the site file is wrong, or this host has none of it."""
    site = load_site(Path(), Path(site_file) if site_file else None)
    return scheduler_here(name or site.scheduler, timeout_s=site.policy.scheduler_timeout / 1e9)


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The result of an order to end a job."""

    job: str
    """As it was named."""
    cancelled: bool
    problem: str | None


@dataclass(frozen=True, kw_only=True)
class CancelAnswer:
    """The result of each order."""

    scheduler: str
    jobs: tuple[Cancelled, ...]


@dataclass(frozen=True, kw_only=True)
class JobsAnswer:
    """The jobs that were asked for."""

    scheduler: str
    jobs: tuple[Job, ...]


@dataclass(frozen=True, kw_only=True)
class QueuesAnswer:
    """All queues."""

    scheduler: str
    queues: tuple[Queue, ...]


def job_and_copies(word: str, known: Sequence[Job]) -> tuple[str, tuple[int, ...]]:
    """``12`` is a job; ``12_3``, ``12[3]`` and ``12[1-3,7]`` are copies of one. PBS calls the job itself ``12[].host``.

    RequestError where a range has no end.
    """
    numbers = {job.job for job in known}
    match = None if word in numbers else _OF_COPIES.fullmatch(word)
    if match is None:
        return word, ()
    rest = match["rest"] or ""
    job = next((name for name in (f"{match['job']}[]{rest}",) if name in numbers), f"{match['job']}{rest}")
    copies: list[int] = []
    for part in (match["one"] or match["some"]).split(","):
        if (bounds := _RANGE.fullmatch(part)) is None:
            raise RequestError(f"{word!r} names no copies; hint: write it like {match['job']}[1-3,7]")
        first, last = int(bounds[1]), int(bounds[2] or bounds[1])
        if not first <= last < first + _MOST_COPIES:
            raise RequestError(f"{word!r} names no copies, or more than {_MOST_COPIES}; hint: see `tonnage jobs`")
        copies += range(first, last + 1)
    return job, tuple(dict.fromkeys(copies))


def cancel_jobs(
    found: Scheduler, words: Sequence[str], known: Sequence[Job], *, any_job: bool = False
) -> list[Cancelled]:
    """Ends jobs, or copies of them, that are among ``known``: this user's own that wait or run.

    ``any_job``: also those that Tonnage did not submit. One that cannot be ended keeps none of the others from it.
    """
    ends = [one for word in dict.fromkeys(words) for one in _cancel(found, word, known, any_job=any_job)]
    # The kept lists still contain the ended jobs, whose part of a load line is free now.
    if any(one.cancelled for one in ends):
        forget_lists(found)
    return ends


def _cancel(found: Scheduler, word: str, known: Sequence[Job], *, any_job: bool) -> list[Cancelled]:
    job, copies = job_and_copies(word, known)
    own = [one for one in known if one.job == job]
    if not own:
        problem = "it is no job of yours that waits or runs; hint: `tonnage jobs` lists them"
        return [Cancelled(word, False, problem)]
    # The local scheduler takes jobs from tonnage alone.
    if not any_job and found.name != "local" and all(one.key is None for one in own):
        problem = "it was not submitted by tonnage; hint: `tonnage cancel --any` cancels it all the same"
        return [Cancelled(word, False, problem)]
    return [_end(found, job, copy) for copy in (copies or (None,))]


def _end(found: Scheduler, job: str, copy: int | None) -> Cancelled:
    named = job if copy is None else f"{job}[{copy}]"
    try:
        found.cancel(job, copy)
    except (SchedulerError, RequestError) as error:
        return Cancelled(named, False, str(error))
    return Cancelled(named, True, None)
