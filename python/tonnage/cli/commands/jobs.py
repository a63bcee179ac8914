"""``tonnage jobs``: what waits and runs, in the columns of ``bjobs``."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from tonnage.cli.command import Arguments
from tonnage.cli.shared_options import JSON, SCHEDULER, SITE
from tonnage.command_line import Command
from tonnage.command_option import Option
from tonnage.errors import RequestError
from tonnage.printable_text import columns

if TYPE_CHECKING:
    from tonnage.cluster.scheduler import Job, Scheduler

COMMAND = Command(
    "jobs",
    "list jobs, and where they run",
    "Lists the jobs that wait or run, and the file server by which Tonnage placed each of them.",
    (
        Option(("-d", "--done"), "also jobs that ended recently"),
        Option(("-u", "--user"), "jobs of this user, or of all users", "USER", "you"),
        SCHEDULER,
        SITE,
        JSON,
    ),
    (("tonnage jobs -d", "also jobs that ended recently"),),
    loads=("tonnage.placement.jobs",),
)

HEADINGS = (
    "JOBID",
    "USER",
    "STAT",
    "QUEUE",
    "FROM_HOST",
    "EXEC_HOST",
    "JOB_NAME",
    "SUBMIT_TIME",
    "SERVER",
    "REASON",
)


def run(arguments: Arguments) -> int:
    """Runs the command and returns its exit code."""
    from tonnage.machine.user_state import user_name
    from tonnage.placement.jobs import JobsAnswer, asked_scheduler

    site_scheduler = asked_scheduler(arguments.scheduler, arguments.site)
    user = user_name() if arguments.user is None else None
    if arguments.user in (None, "all"):
        found = site_scheduler.jobs(user=user, ended=arguments.done)
    else:
        found = _jobs_of_named(site_scheduler, arguments.user, ended=arguments.done)
    if arguments.json:
        print(json.dumps(asdict(JobsAnswer(scheduler=site_scheduler.name, jobs=tuple(found))), indent=2))
    elif found:
        print(text(found))
    else:
        print("No job found" if arguments.done else "No unfinished job found", file=sys.stderr)
    return 0


def _jobs_of_named(site_scheduler: Scheduler, user: str, *, ended: bool) -> list[Job]:
    """A scheduler may know users that this host does not; RequestError for one that neither has heard of."""
    from tonnage.cluster.scheduler import SchedulerError
    from tonnage.machine.user_state import knows_user

    known, why = knows_user(user), f"{site_scheduler.name} has no job of theirs"
    found: list[Job] = []
    try:
        found = site_scheduler.jobs(user=user, ended=ended)
    except SchedulerError as error:
        if known:
            raise
        why = str(error).partition("; hint: ")[0]
    if not found and not known:
        raise RequestError(f"this host knows no user {user!r}; {why}; hint: give -u NAME or -u all")
    return found


def text(found: Sequence[Job]) -> str:
    """Returns the table."""
    return columns([HEADINGS, *(_cells(job) for job in found)])


def _cells(job: Job) -> list[str]:
    from tonnage.compat.lsf import job_texts

    return [
        job.job,
        job.user or job_texts.UNKNOWN,
        job_texts.STATES[job.state],
        job.queue or job_texts.UNKNOWN,
        job.from_host or job_texts.UNKNOWN,
        job_texts.hosts(job),
        job_texts.name(job),
        job_texts.when(job.submitted_at_s),
        job.server or job_texts.UNKNOWN,
        job.reason,
    ]
