"""Staying until a job has ended, as ``bsub -K`` and ``sbatch --wait`` do, by asking any scheduler."""

from __future__ import annotations

import time

from tonnage.cluster.scheduler import Job, Scheduler, SchedulerError

_FIRST_S, _LAST_S = 0.2, 2.0
"""Between two questions: short at first, as short jobs are, and never a burden to a scheduler with many who wait."""
_FORGOTTEN_S = 30.0
"""A job that is in no list for so long has been forgotten: an accounting writes a job down a moment after its end."""
_OVER = ("done", "failed", "cancelled")


def wait_for(scheduler: Scheduler, job: str, *, copies: int | None = None) -> int:
    """The worst exit status of the job, or of its copies, when the last has ended.

    A copy that failed without a status of its own (it was cancelled, its host died, nobody saw its end) counts as 1.
    SchedulerError where the scheduler does not know the job any more; one that does not answer for a moment is asked
    again.
    """
    pause_s, seen_at_s = _FIRST_S, time.monotonic()
    while True:
        try:
            found = [one for one in scheduler.jobs(ended=True) if one.job == job]
        except SchedulerError:
            if time.monotonic() - seen_at_s > _FORGOTTEN_S:
                raise
            found = []
        over = [one for one in found if one.state in _OVER or _is_lost(one)]
        if over and len(over) == len(found) and sum(one.count for one in over) >= (copies or 1):
            return max(_status(one) for one in over)
        if len(over) < len(found):
            seen_at_s = time.monotonic()
        elif time.monotonic() - seen_at_s > _FORGOTTEN_S:
            known = f"of {len(over)} of its {copies} copies only" if copies and over else "nothing"
            raise SchedulerError(f"the scheduler knows {known} of job {job} any more; hint: look at its output")
        time.sleep(pause_s)
        pause_s = min(_LAST_S, 1.3 * pause_s)


def _is_lost(job: Job) -> bool:
    """Whether it has ended and nobody knows how; one of which nothing is known for now may yet run."""
    return job.state == "unknown" and job.ended_at_s is not None


def _status(job: Job) -> int:
    if job.state == "done":
        return job.exit_status or 0
    return job.exit_status or 1
