"""The interface of a scheduler: it takes a job, reports its state, ends it, and lists the queues and hosts of the site.

One small file a scheduler in ``tonnage.cluster.schedulers``; ``scheduler(name)`` finds it. Callers know only the types
of this module. A back end passes a program's words on as an argument list, never through a shell, and asks the site's
tools with a time limit (``tonnage.machine.site_tools``).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, Protocol, runtime_checkable

from tonnage.cluster.array_numbers import Numbers, count_of
from tonnage.cluster.job_terms import Terms
from tonnage.errors import RequestError, TonnageError

State = Literal["pending", "running", "suspended", "done", "failed", "cancelled", "unknown"]


class SchedulerError(TonnageError):
    """The scheduler refused or cannot be reached; the text has its own words. Nothing was submitted."""


class NoSuchQueue(SchedulerError, RequestError):
    """The scheduler has no queue of that name: the request was wrong."""

    exit_code = 2


class SubmissionUnknown(SchedulerError):
    """It did not answer in time: the job may be there. ``Scheduler.find`` with the key will tell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """One program on all nodes of a job, its processes started by the scheduler's own launcher."""

    nodes: int
    per_node: int = 1
    """Processes on each node."""
    mpi: str | None = None
    """How they find each other, as the launcher calls it (``pmix``, ``pmi2``); None: as the site has set it."""
    order: str | None = None
    """A file with the host of each process, a line each, for a launcher that would choose an order of its own."""
    alone: bool = True
    """No other job runs on these nodes meanwhile."""

    @property
    def processes(self) -> int:
        """Of the whole job."""
        return self.nodes * self.per_node


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRequest:
    """A job to submit."""

    argv: tuple[str, ...]
    """The program and its words, as typed."""
    key: str
    """The submission's own name, ``[A-Za-z0-9._-]{1,64}``; the scheduler keeps it with the job."""
    directory: str
    """Where it runs."""
    name: str = "tonnage"
    server: str | None = None
    """The file server whose data it uses, as the site file calls it; kept with the job."""
    queue: str | None = None
    """Queue or partition; None: the scheduler's default."""
    hosts: tuple[str, ...] = ()
    """Where it may run, as the scheduler calls them, best first; empty: anywhere."""
    prefer: bool = False
    """``hosts`` are a preference, not a requirement."""
    slots: int = 1
    numbers: Numbers = ()
    """Those of its copies (``TONNAGE_COPY``); none: one job that is no array."""
    cap: int | None = None
    """Copies that run at once; None: no limit."""
    licences: tuple[tuple[str, int], ...] = ()
    """(name, count) that each copy holds while it runs."""
    licence_totals: tuple[tuple[str, int], ...] = ()
    """(name, count) of how many there are, as the site file says: for a scheduler that has no licences of its own."""
    output: str | None = None
    """File of its standard output; ``%J`` becomes the job's number and ``%I`` the copy's. None: the scheduler's own."""
    error: str | None = None
    """File of its standard error, in the same way; None: with the output."""
    spread: Spread | None = None
    """More than one process on one host; then ``hosts`` are all taken, in this order, and ``slots`` do not count."""
    input: str | None = None
    """File of its standard input, named in the same way; None: nothing."""
    terms: Terms = field(default_factory=Terms)
    pty: bool = False
    """An interactive job has a pseudo-terminal."""

    @property
    def program(self) -> tuple[str, ...]:
        """Its words, for a command line; RequestError where a scheduler's tool or a shell would take the first for an
        option of its own."""
        if self.argv and self.argv[0].startswith("-"):
            raise RequestError(f"{self.argv[0]!r} is an option, not a program; hint: ./{self.argv[0]} if it is one")
        return self.argv

    @property
    def copies(self) -> int | None:
        """How many there are of it; None: it is no array."""
        return count_of(self.numbers) if self.numbers else None


@dataclass(frozen=True, slots=True)
class Submitted:
    """The scheduler's receipt."""

    job: str
    """Its number there."""
    line: str
    """What the scheduler prints for it, word for word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job, or one copy of an array, as the scheduler tells of it. Times are seconds since 1970."""

    job: str
    copy: int | None = None
    name: str = ""
    user: str = ""
    state: State = "unknown"
    queue: str = ""
    from_host: str = ""
    hosts: tuple[str, ...] = ()
    """Where it runs or ran."""
    slots: int = 1
    key: str | None = None
    """The submission's key and server, where Tonnage submitted it."""
    server: str | None = None
    submitted_at_s: float | None = None
    started_at_s: float | None = None
    ended_at_s: float | None = None
    exit_status: int | None = None
    reason: str = ""
    """Why it waits or failed, in the scheduler's words."""
    count: int = 1
    """Copies that this line stands for: pending ones of an array are often told as one."""
    cap: int | None = None
    """Copies of its array that may run at once, told of those that wait; 0: all. None: the scheduler does not tell."""

    def is_of(self, job: str, key: str | None) -> bool:
        """Whether it is the job of a receipt. A number may be another job's by now, and the key tells; None, here or
        there: nobody knows it."""
        return self.job == job and (key is None or self.key in (None, key))


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """A queue or partition."""

    name: str
    open: bool = True
    default: bool = False
    hosts: tuple[str, ...] = ()
    slots: int | None = None
    pending: int = 0
    running: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterHost:
    """A host as the scheduler knows it."""

    name: str
    up: bool
    slots: int
    slots_used: int = 0
    reason: str = ""
    """Why it takes no jobs."""
    queues: tuple[str, ...] | None = None
    """Those that it takes jobs of; None where the scheduler does not tell."""


class Scheduler(Protocol):
    """A site's scheduler. Each call raises SchedulerError with the scheduler's own words, within its time limit."""

    name: str

    def present(self) -> bool:
        """Whether its tools are installed here and were told of a site. Does not ask its servers.

        SchedulerError where a tool that has to be asked for that does not answer.
        """

    def check(self, request: JobRequest, *, interactive: bool = False) -> None:
        """RequestError for what the scheduler cannot do, before anything is sent."""

    def command(self, request: JobRequest) -> list[str]:
        """The command line that ``submit`` runs, for ``--dry-run``."""

    def submit(self, request: JobRequest) -> Submitted:
        """SubmissionUnknown where the scheduler may have taken the job without saying so."""

    def find(self, key: str) -> Submitted | None:
        """The job that has this key, waiting, running or ended for as long as the scheduler remembers."""

    def interactive(self, request: JobRequest) -> int:
        """Runs it with this terminal's input, output and signals; returns its exit status."""

    def jobs(self, *, user: str | None = None, ended: bool = False) -> list[Job]:
        """Lists all jobs that wait or run, of one user or of all; with ``ended`` also those that ended recently."""

    def queues(self) -> list[Queue]:
        """Those that this user may see."""

    def hosts(self) -> list[ClusterHost]:
        """Lists the hosts of all queues."""

    def cancel(self, job: str, copy: int | None = None) -> None:
        """Ends it, waiting or running, with all its copies; or the one of this number alone.

        RequestError where the scheduler has no such copies.
        """

    def set_cap(self, job: str, cap: int) -> None:
        """From now on at most ``cap`` copies of the array run at once."""


@runtime_checkable
class ChecksReceipts(Protocol):
    """A scheduler whose jobs a user can take away, so that it gives their numbers to others."""

    def check_receipt(self, key: str, job: str) -> None:
        """SchedulerError where the job of that key had this number among jobs that the scheduler has no more."""


@runtime_checkable
class TellsLicences(Protocol):
    """A scheduler that also tells which licences it hands out."""

    def licences(self) -> dict[str, int]:
        """Name → how many there are; those of other sites' servers included."""


@runtime_checkable
class TellsWhoSees(Protocol):
    """A scheduler that also tells whether ``jobs`` lists those of all users."""

    def hides_others(self) -> bool:
        """Whether it lists this user's jobs alone."""
