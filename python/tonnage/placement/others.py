"""What uses a server beside the jobs that were sent to it: by its indices, whoever does it."""

from __future__ import annotations

from collections.abc import Sequence

from tonnage.placement.candidates import World, asks, server_of
from tonnage.placement.choice import Plateau
from tonnage.placement.indices import Reading
from tonnage.placement.site import Policy


def others_on(
    names: Sequence[str], world: World, policy: Policy, *, line: int, plateau: Plateau | None
) -> tuple[int | None, bool]:
    """(tasks, silent): whole tasks of the load line that the servers of these names carry together, beyond what the
    jobs that were sent there and run explain. None where an index of one of them is missing or stale; ``silent`` then
    says that the site file names some.

    The devices' rate stands for as many tasks as at the plateau. Where that is not known, the share of time in which
    some task waited for I/O is the share of the line: one task alone that waits all the time makes it 100 %, so that
    the jobs that run explain as much of it. CPUs do not count: beside the data they are the jobs' own. Less than half a
    task is nothing: every disk writes a log.
    """
    readings = [world.readings.get(name) for name in names]
    fresh = [one for one in readings if one is not None and not one.is_stale(world.now_s, policy.index_age)]
    if not names or len(fresh) < len(names):
        return None, any(one is not None for one in readings)
    run = _running_tasks(names, world, min(one.at_s for one in fresh))
    found = _beyond(fresh, run, line, plateau)
    return (None if found is None else round(max(0.0, min(found, float(line))))), False


def _beyond(fresh: Sequence[Reading], run: float, line: int, plateau: Plateau | None) -> float | None:
    rates = [one.bio_bytes_per_s for one in fresh if one.bio_bytes_per_s is not None]
    if plateau is not None and len(rates) == len(fresh):
        return plateau.tasks_of(sum(rates)) - run
    waits = [one.pressure_permille for one in fresh if one.pressure_permille is not None]
    if waits:
        return (max(waits) / 1000 - min(run, 1.0)) * line
    return None


def _running_tasks(names: Sequence[str], world: World, until_s: float) -> float:
    """Tasks of the jobs that were sent there and ran when the indices were read."""
    known = {entry.key: entry for entry in world.placements}
    found = 0.0
    for job in world.jobs or ():
        entry = known.get(job.key or "")
        if job.state == "running" and (job.server or server_of(entry)) in names:
            found += job.count * asks(entry) if (job.started_at_s or 0.0) <= until_s else 0.0
    return found
