"""``tonnage cancel``: ends jobs, after a look at whose they are."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from tonnage.cli.placement.asked import asked_scheduler
from tonnage.cluster.scheduler import Job, Scheduler, SchedulerError
from tonnage.machine.user import user_name


@dataclass(frozen=True, slots=True)
class _Answer:
    job: str
    cancelled: bool
    problem: str | None


def run(arguments: Namespace) -> int:
    """Exit code: 1 where one of the jobs was not cancelled; the others are all the same."""
    site_scheduler = asked_scheduler(arguments)
    jobs = list(dict.fromkeys(arguments.jobs))
    known = site_scheduler.jobs(user=user_name())
    found = [_cancel(site_scheduler, job, known, any_job=arguments.any) for job in jobs]
    if arguments.json:
        print(json.dumps({"scheduler": site_scheduler.name, "jobs": [asdict(one) for one in found]}, indent=2))
    else:
        for one in found:
            if one.problem is None:
                print(f"Job <{one.job}> is being terminated")
            else:
                print(f"tonnage: error: job {one.job}: {one.problem}", file=sys.stderr)
    return int(any(not one.cancelled for one in found))


def _cancel(site_scheduler: Scheduler, job: str, known: Sequence[Job], *, any_job: bool) -> _Answer:
    own = [one for one in known if one.job == job]
    if not own:
        return _Answer(job, False, "it is no job of yours that waits or runs; hint: `tonnage jobs` lists them")
    # The local scheduler takes jobs from tonnage alone.
    if not any_job and site_scheduler.name != "local" and all(one.key is None for one in own):
        return _Answer(job, False, "it was not submitted by tonnage; hint: add --any to cancel it all the same")
    try:
        site_scheduler.cancel(job)
    except SchedulerError as error:
        return _Answer(job, False, str(error))
    return _Answer(job, True, None)
