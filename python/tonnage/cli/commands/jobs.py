"""``tonnage jobs``: what waits and runs, in the columns of ``bjobs``."""

from __future__ import annotations

import json
import sys
import time
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import asdict

from tonnage.cli.placement.answers.jobs import Answer
from tonnage.cli.placement.asked import asked_scheduler
from tonnage.cli.placement.columns import columns
from tonnage.cluster.scheduler import Job
from tonnage.machine.user import user_name

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
_STATES = {
    "pending": "PEND",
    "running": "RUN",
    "suspended": "SUSP",
    "done": "DONE",
    "failed": "EXIT",
    "cancelled": "EXIT",
    "unknown": "UNKWN",
}
_UNKNOWN = "-"


def run(arguments: Namespace) -> int:
    """Exit code."""
    site_scheduler = asked_scheduler(arguments)
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
    copy = "" if job.copy is None else f"[{job.copy}]"
    # As LSF writes several of one thing.
    several = f"{job.count}*" if job.count > 1 else ""
    submitted = None if job.submitted_at_s is None else time.localtime(job.submitted_at_s)
    return [
        job.job,
        job.user or _UNKNOWN,
        _STATES[job.state],
        job.queue or _UNKNOWN,
        job.from_host or _UNKNOWN,
        _hosts(job),
        f"{several}{job.name or _UNKNOWN}{copy}",
        # Not strftime's %b, which is another word in every language.
        _UNKNOWN if submitted is None else f"{_MONTHS[submitted.tm_mon - 1]} {submitted.tm_mday:2} {_clock(submitted)}",
        job.server or _UNKNOWN,
        job.reason,
    ]


_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def _clock(moment: time.struct_time) -> str:
    return f"{moment.tm_hour:02}:{moment.tm_min:02}"


def _hosts(job: Job) -> str:
    if not job.hosts:
        return _UNKNOWN
    if len(job.hosts) == 1 and job.slots > 1:
        return f"{job.slots}*{job.hosts[0]}"
    return ":".join(job.hosts)
