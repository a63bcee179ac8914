"""Follows a job of the run: the observer gets its measurements as if they were made here."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tonnage.campaign.observer import Observer, Progress, Step, read_progress
from tonnage.campaign.stop_signals import Interrupts
from tonnage.cluster.scheduler import Job, Scheduler, SchedulerError
from tonnage.cluster.wait_for_job import FORGOTTEN_S, OVER, JobRows
from tonnage.errors import MeasurementError
from tonnage.machine.user_state import user_name
from tonnage.printable_text import typed
from tonnage.records.file_names import TRIALS
from tonnage.records.line_types import TrialLine

_LOOK_S = 0.25
"""Seconds between two reads of the run directory."""
_FIRST_S, _LAST_S = 0.25, 5.0
"""Between two questions to the scheduler: short at first, and never a burden to one with many who wait."""
SILENCE_S = 600.0
"""A scheduler that has not answered for so long is given up; the job goes on."""
CANCEL_S = 60.0
"""From cancelling a job to giving up on its end: a site gives programs half a minute to clear up."""
LAG_S = 3.0
"""A shared file system may show a job's last writes so much later than the scheduler reports its end."""
RECORDS_LAG_S = 60.0
"""… and its records, which the job says are there: what is not seen would be measured again."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How a job ended, by the scheduler's words and its own."""

    state: str
    """As ``Job.state``."""
    reason: str
    hosts: tuple[str, ...]
    cancelled: bool
    """By this process."""
    progress: Progress | None
    """The last progress of the job; None: it never began, or its run directory is not this one."""

    @property
    def code(self) -> int | None:
        """What its part came to, by itself; None: it did not come to an end of its own."""
        return None if self.progress is None else self.progress.ended


class JobReader:
    """One follower for a whole run, so that each record is reported once."""

    def __init__(self, run: Path, scheduler: Scheduler, observer: Observer, interrupts: Interrupts) -> None:
        self._run = run
        self._scheduler = scheduler
        self._observer = observer
        self._interrupts = interrupts
        self._read_bytes = self._size()
        self._notes = 0
        self._noted: set[str] = set()
        self._step: Step | None = None

    def wait_for_end(self, number: int, job: str, where: str, *, key: str | None = None) -> Ending:
        """Returns when the job has ended, also after it was cancelled because this process has to end. SchedulerError
        where the scheduler does not answer for ``SILENCE_S``; MeasurementError where a cancelled job does not end
        within ``CANCEL_S``. There is no limit on the wait for a pending job; the observer learns why it waits. ``key``:
        its submission's, as its number may be another job's by now.
        """
        self._notes, self._step = 0, None
        cancelled_at_s: float | None = None
        answers = _Answers(self._scheduler, job, key)
        while True:
            progress = self.poll(number)
            if self._interrupts and cancelled_at_s is None:
                cancelled_at_s = self._cancel(job, key)
            if cancelled_at_s is not None and time.monotonic() - cancelled_at_s > CANCEL_S:
                raise MeasurementError(
                    f"job {job} was cancelled and did not end within {CANCEL_S:g} s; "
                    f"hint: look at it with `tonnage jobs`, then go on with `tonnage run --resume {typed(self._run)}`"
                )
            if answers.are_due(soon=progress is not None and progress.ended is not None):
                found = answers.get()
                if found is not None and found.state in OVER:
                    last = self._last_progress(number)
                    hosts = found.hosts
                    return Ending(found.state, found.reason, hosts, cancelled_at_s is not None, last)
                if found is not None and found.state == "pending":
                    why = f": {found.reason}" if found.reason else ""
                    self._observer.waiting(f"job {job} ({where}) waits{why}")
                elif found is not None and progress is None:
                    self._observer.waiting(f"job {job} ({where}) is {found.state} and has not begun to measure")
            time.sleep(_LOOK_S)

    def poll(self, number: int) -> Progress | None:
        """Tells the observer what is new in the run directory; the job's own latest words."""
        self._report_records()
        progress = read_progress(self._run)
        if progress is None or progress.job != number:
            return None
        for note in progress.notes[self._notes :]:
            # Each job finds the same anew.
            if note not in self._noted:
                self._noted.add(note)
                self._observer.note(note)
        self._notes = max(self._notes, len(progress.notes))
        if progress.step is not None and progress.step != self._step:
            self._step = progress.step
            self._observer.step(progress.step)
        if progress.live is not None:
            self._observer.tick(progress.live)
        return progress

    def _last_progress(self, number: int) -> Progress | None:
        # The local scheduler's jobs write on this host, and it reports their end when their processes are gone.
        began_s, lag_s = time.monotonic(), 0.0 if self._scheduler.name == "local" else LAG_S
        while True:
            progress = self.poll(number)
            ended = progress is not None and progress.ended is not None
            if progress is not None and ended and self._read_bytes >= progress.recorded_bytes:
                return progress
            if time.monotonic() - began_s > (RECORDS_LAG_S if ended else lag_s):
                return progress
            time.sleep(_LOOK_S)

    def _cancel(self, job: str, key: str | None) -> float:
        self._observer.note(f"cancelling job {job}; waiting at most {CANCEL_S:g} s for its end")
        try:
            if self._is_anothers(job, key):
                self._observer.note(f"note: job {job} is not of this run any more, and is left alone")
            else:
                self._scheduler.cancel(job)
        except SchedulerError as error:
            # It may have ended by itself at this moment; if not, the limit tells.
            self._observer.note(f"note: {error}")
        return time.monotonic()

    def _is_anothers(self, job: str, key: str | None) -> bool:
        """Whether the number is known to be another job's; for a scheduler that does not list its jobs the answer is
        False."""
        with suppress(SchedulerError):
            rows = [one for one in self._scheduler.jobs(user=user_name()) if one.job == job]
            return bool(rows) and not any(one.is_of(job, key) for one in rows)
        return False

    def _size(self) -> int:
        try:
            return (self._run / TRIALS).stat().st_size
        except OSError:
            return 0

    def _report_records(self) -> None:
        try:
            with (self._run / TRIALS).open("rb") as stream:
                stream.seek(self._read_bytes)
                data = stream.read()
        except OSError:
            return
        whole = data.rfind(b"\n") + 1
        self._read_bytes += whole
        for line in data[:whole].splitlines():
            record: TrialLine = json.loads(line)
            self._observer.recorded(record)


class _Answers:
    """Asks the scheduler about one job, no more often than necessary."""

    def __init__(self, scheduler: Scheduler, job: str, key: str | None) -> None:
        self._job = job
        self._rows = JobRows(scheduler, job, key=key, first_s=_FIRST_S, last_s=_LAST_S, user=user_name())
        self._known_at_s = time.monotonic()

    def are_due(self, *, soon: bool) -> bool:
        """Whether to ask now; ``soon``: its end is near."""
        return self._rows.are_due(soon=soon)

    def get(self) -> Job | None:
        """The job, failed where the scheduler has forgotten it; None: nothing is known now."""
        try:
            found = self._rows.ask()
        except SchedulerError as error:
            if self._rows.silent_s > SILENCE_S:
                raise SchedulerError(
                    f"{error}; it has not answered for {SILENCE_S:g} s, and job {self._job} may go on; "
                    "hint: take it up with `tonnage run --resume`"
                ) from None
            return None
        if found:
            self._known_at_s = time.monotonic()
            return found[0]
        if time.monotonic() - self._known_at_s > FORGOTTEN_S:
            return Job(job=self._job, state="failed", reason="the scheduler knows nothing of it any more")
        return None
