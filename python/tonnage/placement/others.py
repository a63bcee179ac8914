"""What uses a server beside the jobs that are counted: by its indices, whoever does it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from tonnage.cluster.scheduler import Job
from tonnage.placement.candidates import World, asks, server_of
from tonnage.placement.choice import Plateau
from tonnage.placement.entries import Entry
from tonnage.placement.indices import Reading
from tonnage.placement.lists import ListedJob
from tonnage.placement.site import Policy

Counted: TypeAlias = tuple[Job | ListedJob, Entry | None]
"""A job whose tasks somebody counts already, with what the ledger has of it."""
_NOTHING = 0.5
"""Tasks below which nothing is told: every disk writes a log."""


def others_on(
    names: Sequence[str],
    world: World,
    policy: Policy,
    *,
    line: int,
    plateau: Plateau | None,
    counted: Iterable[Counted],
) -> tuple[float | None, bool]:
    """(tasks, silent): tasks of the load line that the servers of these names carry together, beyond what the jobs of
    ``counted`` that run explain. None where an index of one of them is missing or stale; ``silent`` then says that the
    site file names some.

    The devices' rate stands for as many tasks as at the plateau, beyond it for more than the line. Where the plateau is
    not known, the share of time in which some task waited for I/O is the share of the line: one task alone that waits
    all the time makes it 100 %, so that the jobs that run explain as much of it. CPUs do not count: beside the data
    they are the jobs' own. Less than half a task is nothing.
    """
    readings = [world.readings.get(name) for name in names]
    fresh = [one for one in readings if one is not None and not one.is_stale(world.now_s, policy.index_age)]
    if not names or len(fresh) < len(names):
        return None, any(one is not None for one in readings)
    found = _beyond(fresh, _running_tasks(counted, min(one.at_s for one in fresh)), line, plateau)
    return (None if found is None else found if found > _NOTHING else 0.0), False


def sent_to(names: Sequence[str], world: World) -> Iterator[Counted]:
    """The jobs that were sent to servers of these names, which are promised of their lines."""
    known = {entry.key: entry for entry in world.placements}
    for job in world.jobs or ():
        entry = known.get(job.key or "")
        if (job.server or server_of(entry)) in names:
            yield job, entry


def _beyond(fresh: Sequence[Reading], run: float, line: int, plateau: Plateau | None) -> float | None:
    rates = [one.bio_bytes_per_s for one in fresh if one.bio_bytes_per_s is not None]
    if plateau is not None and len(rates) == len(fresh):
        return plateau.tasks_of(sum(rates)) - run
    waits = [one.pressure_permille for one in fresh if one.pressure_permille is not None]
    if waits:
        return (max(waits) / 1000 - min(run, 1.0)) * line
    return None


def _running_tasks(counted: Iterable[Counted], until_s: float) -> float:
    """Tasks of those that ran when the indices were read."""
    began = (one for one in counted if one[0].state == "running" and (one[0].started_at_s or 0.0) <= until_s)
    return sum(job.count * asks(entry) for job, entry in began)
