"""A scheduler in a directory: what it was asked is a file each, and it can refuse, hang or lose an answer as told."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tonnage.cluster.scheduler import ClusterHost, Job, JobRequest, Queue, SchedulerError, SubmissionUnknown, Submitted


@dataclass
class Desk:
    """Implements ``tonnage.cluster.scheduler.Scheduler``; what a test sets decides how it behaves."""

    directory: Path
    known_hosts: Sequence[ClusterHost] = (ClusterHost(name="rcss1", up=True, slots=8),)
    known_jobs: Sequence[Job] = ()
    refusal: str | None = None
    hides_hosts: bool = False
    hides_jobs: bool = False
    loses_answer: bool = False
    """Takes the job and does not say so."""
    late: int = 0
    """So many times ``find`` does not know a job that is there: it is still on its way."""
    silent: bool = False
    """Answers no question at all, and takes nothing."""
    name: str = "desk"
    asked: list[str] = field(default_factory=list)
    caps_are_fixed: bool = False
    caps: dict[str, int] = field(default_factory=dict)
    """Those that were changed."""

    def present(self) -> bool:
        return True

    def command(self, request: JobRequest) -> list[str]:
        return ["desk", *request.argv]

    def check(self, request: JobRequest, *, interactive: bool = False) -> None:
        """Whatever is asked for can be said."""

    def submit(self, request: JobRequest) -> Submitted:
        self.asked.append("submit")
        if self.silent:
            raise SubmissionUnknown("desk did not answer within 0.1 s")
        if self.refusal is not None:
            raise SchedulerError(self.refusal)
        number = 1
        while True:
            try:
                with (self.directory / f"{number}.json").open("x") as file:
                    json.dump(asdict(request), file)
                break
            except FileExistsError:
                number += 1
        if self.loses_answer:
            raise SubmissionUnknown("desk did not answer within 0.1 s")
        return self._receipt(number)

    def find(self, key: str) -> Submitted | None:
        self.asked.append("find")
        if self.silent:
            raise SchedulerError("desk did not answer within 0.1 s")
        if self.late:
            self.late -= 1
            return None
        return next((self._receipt(number) for number, found in self.taken().items() if found["key"] == key), None)

    def interactive(self, request: JobRequest) -> int:
        self.asked.append(f"interactive {request.argv[0]}")
        return 7

    def jobs(self, *, user: str | None = None, ended: bool = False) -> list[Job]:
        self.asked.append("jobs")
        if self.hides_jobs or self.silent:
            raise SchedulerError("squeue: error: Unable to contact slurm controller")
        return [job for job in self.known_jobs if user in (None, job.user) and (ended or job.ended_at_s is None)]

    def queues(self) -> list[Queue]:
        return []

    def hosts(self) -> list[ClusterHost]:
        self.asked.append("hosts")
        if self.hides_hosts or self.silent:
            raise SchedulerError("sinfo: error: Unable to contact slurm controller")
        return list(self.known_hosts)

    def cancel(self, job: str, copy: int | None = None) -> None:  # noqa: ARG002
        raise SchedulerError(f"{job} cannot be ended here")

    def set_cap(self, job: str, cap: int) -> None:
        if self.caps_are_fixed:
            raise SchedulerError("it has none")
        self.caps[job] = cap

    def taken(self) -> dict[int, dict[str, object]]:
        """Returns each request that it took, by its number."""
        return {int(path.stem): json.loads(path.read_text()) for path in sorted(self.directory.glob("*.json"))}

    def _receipt(self, number: int) -> Submitted:
        return Submitted(str(number), f"Job <{number}> is submitted to queue <desk>.")
