"""What the four commands share: which jobs are meant."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from tonnage.cluster.scheduler import Job
from tonnage.compat.front_end import Given
from tonnage.compat.lsf import job_texts
from tonnage.placement.jobs import job_and_copies

FAILED = 255
"""LSF's commands exit with it where something is not there."""


def matches(job: Job, given: Given) -> bool:
    """Whether it is what ``-J``, ``-q`` and ``-m`` ask for; ``*`` in a name stands for anything."""
    wanted, queue, host = given.text_if("-J"), given.text_if("-q"), given.text_if("-m")
    if wanted is not None:
        # In LSF's names brackets are copies, not sets of letters.
        pattern = wanted.replace("[", "[[]")
        if not any(fnmatchcase(known, pattern) for known in (job.name, job_texts.name(job))):
            return False
    if queue is not None and queue not in job.queue.split(","):
        return False
    return host is None or host in job.hosts


def named(jobs: Sequence[Job], word: str) -> list[Job]:
    """The lines of a job, or of the copies that are named; waiting copies are one line."""
    number, copies = job_and_copies(word, jobs)
    return [
        job
        for job in jobs
        if job.job == number and (not copies or job.copy in copies or (job.copy is None and job.state == "pending"))
    ]
