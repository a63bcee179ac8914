"""A log of the jobs of a run: the submitter writes a line before it submits, when it has the receipt, and at the end.
The process that holds its lock is the run's only submitter; the lock ends with the process.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from types import TracebackType

from tonnage.campaign.jobs.trial_batch import Batch
from tonnage.cluster.scheduler import JobRequest, Spread
from tonnage.errors import RequestError
from tonnage.records.file_names import TRIALS
from tonnage.records.jobs_jsonl import append_job, job_lines, mend_jobs
from tonnage.records.line_types import Json

LOCK = "jobs.lock"


@dataclass(frozen=True, slots=True)
class Entry:
    """A job that was wanted, as far as it came."""

    batch: Batch
    key: str
    """The submission's key, by which the scheduler finds the job."""
    partition: str | None
    hosts: tuple[str, ...]
    """Those asked for, in order; none: anywhere."""
    nodes: int
    job: str | None = None
    """Its number there; None: there was no receipt."""
    recorded_bytes: int = 0
    """Size of the trials' file when it was wanted: what its job must see, before it measures what is left."""
    ended: str | None = None
    """How it ended; None: it has not ended, as far as known."""

    def where(self) -> str:
        """For people: which of the run's jobs this is."""
        allocation = ", ".join(self.hosts) or f"{self.nodes} node{'s' if self.nodes != 1 else ''}"
        return f"{self.partition}: {allocation}" if self.partition else allocation


def latest(run: Path) -> Entry | None:
    """Returns the job wanted last."""
    entry = None
    for line in job_lines(run):
        if line["event"] == "wanted":
            entry = Entry(
                Batch.parse(line["part"]),
                line["key"],
                line["partition"],
                tuple(line["hosts"]),
                line["nodes"],
                recorded_bytes=line["recorded_bytes"],
            )
        elif entry is not None and line["event"] == "submitted":
            entry = replace(entry, job=line["job"])
        elif entry is not None:
            entry = replace(entry, ended=str(line["state"]))
    return entry


class Ledger:
    """Held by one process at a time; RequestError where another one has it."""

    def __init__(self, run: Path) -> None:
        self._run = run
        self._lock = os.open(run / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._lock)
            raise RequestError(
                f"{run} is followed by another tonnage already; hint: wait for it, or stop that one first"
            ) from None
        except OSError:
            # A file system without locks; the scheduler's key still keeps a job from being there twice.
            pass
        mend_jobs(run)

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with suppress(OSError):
            os.close(self._lock)

    def latest(self) -> Entry | None:
        """Returns the job wanted last."""
        return latest(self._run)

    def want(self, batch: Batch, request: JobRequest) -> Entry:
        """Before the scheduler is asked."""
        spread = request.spread or Spread(nodes=1)
        recorded_bytes = (self._run / TRIALS).stat().st_size
        entry = Entry(batch, request.key, request.queue, request.hosts, spread.nodes, recorded_bytes=recorded_bytes)
        told = {key: getattr(entry, key) for key in ("key", "partition", "nodes", "recorded_bytes")}
        about = {"part": str(batch), "hosts": list(entry.hosts), "processes": spread.processes}
        self._append(batch.job, "wanted", {**told, **about})
        return entry

    def submitted(self, entry: Entry, job: str) -> Entry:
        """The scheduler has it, under this number."""
        self._append(entry.batch.job, "submitted", {"job": job})
        return replace(entry, job=job)

    def ended(self, entry: Entry, state: str, reason: str = "", hosts: tuple[str, ...] = ()) -> None:
        """It is over: ``state`` is the scheduler's word as ``Job.state`` has it, or ``refused``, or ``lost``."""
        self._append(entry.batch.job, "ended", {"state": state, "reason": reason, "hosts": list(hosts)})

    def _append(self, number: int, event: str, about: Json) -> None:
        now = datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        append_job(self._run, {"number": number, "event": event, "time": now, **about})
