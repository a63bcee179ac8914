"""Polls any scheduler for one job until the job has ended; ``wait_for`` waits as ``bsub -K`` does."""

from __future__ import annotations

import time

from tonnage.cluster.scheduler import Job, Scheduler, SchedulerError

_FIRST_S, _LAST_S = 0.2, 2.0
"""Seconds between two queries: short at first, for short jobs, then longer, to spare the scheduler."""
FORGOTTEN_S = 30.0
"""A job that is in no list for so long has been forgotten: an accounting writes a job down a moment after its end."""
OVER = ("done", "failed", "cancelled")
"""States of a job that has ended."""


class JobRows:
    """What a scheduler lists of one job, with the copies that ended, for repeated queries."""

    def __init__(
        self,
        scheduler: Scheduler,
        job: str,
        *,
        first_s: float,
        last_s: float,
        key: str | None = None,
        user: str | None = None,
    ) -> None:
        """``first_s``, ``last_s``: between two questions, at first and at last. ``key``: its submission's. ``user``:
        whose job it is."""
        self._scheduler, self._job, self._key, self._user = scheduler, job, key, user
        self._first_s, self._last_s = first_s, last_s
        self.pause_s = first_s
        """Before the next question."""
        self._answered_at_s = time.monotonic()
        self._asked_at_s = self._answered_at_s - last_s

    def are_due(self, *, soon: bool) -> bool:
        """Whether to ask now; ``soon``: its end is near."""
        return time.monotonic() - self._asked_at_s >= (self._first_s if soon else self.pause_s)

    def ask(self) -> list[Job]:
        """Its rows; none where the scheduler does not list it. SchedulerError."""
        self._asked_at_s = time.monotonic()
        self.pause_s = min(self._last_s, 1.3 * self.pause_s)
        every = self._scheduler.jobs(user=self._user, ended=True)
        self._answered_at_s = time.monotonic()
        return [one for one in every if one.is_of(self._job, self._key)]

    @property
    def silent_s(self) -> float:
        """Since the scheduler answered last, or since this was made."""
        return time.monotonic() - self._answered_at_s


def wait_for(scheduler: Scheduler, job: str, *, key: str | None = None, copies: int | None = None) -> tuple[int, str]:
    """The worst exit status of the job, or of its copies, when the last has ended, and what the scheduler says of why.

    A copy that failed without a status of its own (it was cancelled, its host failed, its end was not seen) counts as
    1. SchedulerError where the scheduler does not know the job any more; one that does not answer for a moment is asked
    again.
    """
    rows, seen_at_s = JobRows(scheduler, job, key=key, first_s=_FIRST_S, last_s=_LAST_S), time.monotonic()
    while True:
        try:
            found = rows.ask()
        except SchedulerError:
            if time.monotonic() - seen_at_s > FORGOTTEN_S:
                raise
            found = []
        over = [one for one in found if one.state in OVER or _is_lost(one)]
        if over and len(over) == len(found) and sum(one.count for one in over) >= (copies or 1):
            worst = max(over, key=_status)
            return _status(worst), worst.reason
        if len(over) < len(found):
            seen_at_s = time.monotonic()
        elif time.monotonic() - seen_at_s > FORGOTTEN_S:
            known = f"of {len(over)} of its {copies} copies only" if copies and over else "nothing"
            raise SchedulerError(f"the scheduler knows {known} of job {job} any more; hint: look at its output")
        time.sleep(rows.pause_s)


def _is_lost(job: Job) -> bool:
    """Whether it has ended in an unknown way; a job without current information may still run."""
    return job.state == "unknown" and job.ended_at_s is not None


def _status(job: Job) -> int:
    if job.state == "done":
        return job.exit_status or 0
    return job.exit_status or 1
