"""The local scheduler as ``tonnage.cluster.scheduler`` promises one."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace

from tonnage.cluster.job_terms import Spelling
from tonnage.cluster.scheduler import (
    ClusterHost,
    Job,
    JobRequest,
    NoSuchQueue,
    Queue,
    SchedulerError,
    SubmissionUnknown,
    Submitted,
)
from tonnage.cluster.schedulers.local import spooler_contact
from tonnage.cluster.schedulers.local.rows import WHOLE
from tonnage.cluster.schedulers.local.spool import Spool, explain
from tonnage.cluster.schedulers.local.streams import unfit_stream
from tonnage.errors import RequestError
from tonnage.machine.time_limit import in_time
from tonnage.machine.user_state import user_name, user_state

QUEUE = "local"
"""The only one."""
MOST_COPIES = 100_000
"""The spool has a row of each, and looks at all that wait whenever one ends."""


_NONE = "the local scheduler knows no "
LOCAL = Spelling(
    "the local scheduler",
    {
        "time_limit_s": f"{_NONE}time limits",
        "account": f"{_NONE}accounts",
        "memory_bytes": f"{_NONE}limits of memory",
        "gpus": f"{_NONE}GPUs",
        "dependency": f"{_NONE}dependencies",
        "mail": f"{_NONE}e-mail",
        "exclusive": lambda _: [],  # all slots of this host
        "rerun": "the local scheduler runs nothing twice",
        "begin_at_s": f"{_NONE}times to begin at",
        "words": f"{_NONE}options of its own",
    },
)


class Local:
    """Takes jobs for this host. Nothing is installed: the first job starts a process that runs them, and it ends by
    itself when there are none."""

    name = "local"

    def __init__(self, *, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._host = os.uname().nodename

    def present(self) -> bool:
        return True

    def check(self, request: JobRequest, *, interactive: bool = False) -> None:
        if interactive and request.copies is not None:
            raise RequestError("copies cannot share a terminal; hint: leave one of the two out")
        self._check_place(request)
        # One that does not answer now may do so when the job runs, which looks again.
        with suppress(TimeoutError, OSError):
            why = None if interactive else in_time(lambda: unfit_stream(request), timeout_s=self._timeout_s)
            if why is not None:
                raise RequestError(f"the job would not run: {why}")

    def command(self, request: JobRequest) -> list[str]:
        """The program itself: no tool stands between. RequestError as ``submit``."""
        self._check_place(request)
        return list(request.program)

    def submit(self, request: JobRequest) -> Submitted:
        """The job with this key where there is one: a second submission of it adds nothing."""
        with self._spool() as spool:
            wanted = self._fitted(spool, request)
            try:
                spooler_contact.ensure_spooler(spool, timeout_s=self._timeout_s)
            except SchedulerError as error:
                why, _, hint = str(error).partition("; hint: ")
                hint = hint or f"see {spool.directory / 'log'}"
                raise SchedulerError(f"{why}; nothing was submitted; hint: {hint}") from None
            number, _ = spool.add(wanted)
            try:
                spooler_contact.wake(spool, timeout_s=self._timeout_s)
            except SchedulerError as error:  # it ended meanwhile
                raise SubmissionUnknown(f"job {number} waits, but {error}") from None
        return _receipt(number)

    def check_receipt(self, key: str, job: str) -> None:
        if job.isdecimal():  # an interactive job has no number
            with self._spool() as spool:
                spool.check_receipt(key, int(job))

    def find(self, key: str) -> Submitted | None:
        with self._spool() as spool:
            number = spool.find(key)
        return None if number is None else _receipt(number)

    def interactive(self, request: JobRequest) -> int:
        # What runs a program is not for those who only ask.
        from tonnage.cluster.schedulers.local.runner import attend_here

        self.check(request, interactive=True)
        with self._spool() as spool:
            return attend_here(spool, self._fitted(spool, request), timeout_s=self._timeout_s)

    def hides_others(self) -> bool:
        return True

    def jobs(self, *, user: str | None = None, ended: bool = False) -> list[Job]:
        """Of this user: others have spools of their own, which are theirs to see."""
        me = user_name()
        if user not in (None, me):
            return []
        with self._spool() as spool:
            if spool.numbers():
                spooler_contact.ensure_spooler(spool, timeout_s=self._timeout_s)
            found = spool.jobs(spooler_contact.slots(spool), ended=ended)
        here = (self._host,)
        return [
            replace(job, user=me, queue=QUEUE, from_host=self._host, hosts=() if job.started_at_s is None else here)
            for job in found
        ]

    def queues(self) -> list[Queue]:
        slots, found = self._listed()
        pending = sum(job.count for job in found if job.state == "pending")
        running = sum(job.state == "running" for job in found)
        return [Queue(name=QUEUE, default=True, hosts=(self._host,), slots=slots, pending=pending, running=running)]

    def hosts(self) -> list[ClusterHost]:
        slots, found = self._listed()
        used = sum(job.slots for job in found if job.state == "running")
        return [ClusterHost(name=self._host, up=True, slots=slots, slots_used=used, queues=(QUEUE,))]

    def _listed(self) -> tuple[int, list[Job]]:
        """How many slots there are, and what waits or runs."""
        with self._spool() as spool:
            slots = spooler_contact.slots(spool)
            return slots, spool.jobs(slots)

    def cancel(self, job: str, copy: int | None = None) -> None:
        with self._spool() as spool:
            number = self._active(spool, job)
            found = None if copy in (None, WHOLE) else spool.copy(number, copy)
            if copy is not None and found is None:
                raise RequestError(f"job {number} has no copy {copy}")
            if found is not None and found.ended_ns is not None:
                raise SchedulerError(f"copy {copy} of job {number} has ended already")
            spool.cancel(number, copy)
            spooler_contact.wake(spool, timeout_s=self._timeout_s)

    def set_cap(self, job: str, cap: int) -> None:
        with self._spool() as spool:
            spool.set_cap(self._active(spool, job), cap)
            spooler_contact.wake(spool, timeout_s=self._timeout_s)

    @contextmanager
    def _spool(self) -> Iterator[Spool]:
        directory = user_state("local", self._host)
        try:
            yield Spool(directory, timeout_s=self._timeout_s)
        except OSError as error:
            raise SchedulerError(f"the local scheduler's spool: {explain(error, directory)}") from None

    def _active(self, spool: Spool, job: str) -> int:
        number = int(job) if re.fullmatch("[0-9]{1,18}", job) else 0
        if number not in spool.numbers():
            known = number in spool.numbers(ended=True)
            raise SchedulerError(f"job {job} has ended already" if known else f"there is no job {job}")
        return number

    def _check_place(self, request: JobRequest) -> None:
        """RequestError or SchedulerError for what one host, or the local scheduler, has none of."""
        if request.queue not in (None, QUEUE):
            raise NoSuchQueue(f"there is no queue {request.queue}; hint: the local scheduler has one, {QUEUE}")
        if request.hosts and not request.prefer and not any(self._is_here(host) for host in request.hosts):
            raise SchedulerError(
                f"the local scheduler runs jobs on {self._host} only, not on {', '.join(request.hosts)}"
            )
        if request.spread is not None and request.spread.nodes > 1:
            raise RequestError(
                f"{request.spread.nodes} nodes are asked for, and the local scheduler has {self._host} alone"
            )
        LOCAL.options(request.terms)
        _ = request.program
        if (request.copies or 1) > MOST_COPIES:
            raise RequestError(f"the local scheduler takes at most {MOST_COPIES} copies of a job; hint: ask for fewer")

    def _fitted(self, spool: Spool, request: JobRequest) -> JobRequest:
        """One that is spread over nodes, of which there is one, or wants this one for itself, as a plain job.
        SchedulerError for more than there is here."""
        if not request.argv:
            raise SchedulerError("there is no program to run")
        self._check_place(request)
        slots, totals = spooler_contact.slots(spool), dict(request.licence_totals)
        if request.slots > slots:
            raise SchedulerError(f"the job wants {request.slots} slots, and {self._host} has {slots}")
        for name, count in request.licences:
            if name not in totals:
                raise SchedulerError(
                    f"nobody says how many licences {name} there are; hint: set slots of its server in tonnage.toml"
                )
            if count > totals[name]:
                raise SchedulerError(f"the job wants {count} licences {name}, and there are {totals[name]}")
        spread, launch = request.spread, tuple[str, ...]()
        if spread is not None and spread.per_node > 1:
            launch = ("mpiexec", "-n", str(spread.per_node))
        is_alone = request.terms.exclusive if spread is None else spread.alone
        return replace(request, argv=(*launch, *request.argv), slots=slots if is_alone else request.slots, spread=None)

    def _is_here(self, host: str) -> bool:
        return host in (self._host, "localhost") or host.partition(".")[0] == self._host.partition(".")[0]


def _receipt(number: int) -> Submitted:
    return Submitted(str(number), f"Job <{number}> is submitted to queue <{QUEUE}>.")
