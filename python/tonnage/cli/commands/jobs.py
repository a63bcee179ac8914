"""``tonnage jobs``: what waits and runs, in the columns of ``bjobs``."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import asdict

from tonnage.cli.placement.columns import columns
from tonnage.cluster.scheduler import Job
from tonnage.compat.lsf import words
from tonnage.machine.user import user_name
from tonnage.placement.answers.jobs import Answer
from tonnage.placement.jobs import asked_scheduler

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


def run(arguments: Namespace) -> int:
    """Exit code."""
    site_scheduler = asked_scheduler(arguments.scheduler, arguments.site)
    user = {None: user_name(), "all": None}.get(arguments.user, arguments.user)
    found = site_scheduler.jobs(user=user, ended=arguments.done)
    if arguments.json:
        print(json.dumps(asdict(Answer(scheduler=site_scheduler.name, jobs=tuple(found))), indent=2))
    elif found:
        print(text(found))
    else:
        print("No job found" if arguments.done else "No unfinished job found", file=sys.stderr)
    return 0


def text(found: Sequence[Job]) -> str:
    """The table."""
    return columns([HEADINGS, *(_cells(job) for job in found)])


def _cells(job: Job) -> list[str]:
    return [
        job.job,
        job.user or words.UNKNOWN,
        words.STATES[job.state],
        job.queue or words.UNKNOWN,
        job.from_host or words.UNKNOWN,
        words.hosts(job),
        words.name(job),
        words.when(job.submitted_at_s),
        job.server or words.UNKNOWN,
        job.reason,
    ]
