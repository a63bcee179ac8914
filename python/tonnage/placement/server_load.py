"""How busy each file server is, and what it can still take: one row a server, from one observation of all."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from tonnage.cluster.scheduler import Job, Scheduler, TellsWhoSees
from tonnage.cluster.schedulers import scheduler
from tonnage.errors import RequestError, TonnageError
from tonnage.placement.capacity import jobs_sent_to, tasks_of_others
from tonnage.placement.cluster_snapshot import HOLDS_A_SLOT, ClusterSnapshot, JobServers, placements_of, promised_tasks
from tonnage.placement.indices.index_reader import fresh_indices
from tonnage.placement.indices.reading import Host, Reading
from tonnage.placement.scheduler_lists import BackgroundCall
from tonnage.placement.server_load_lines import known_lines, line_of, plateaus_of
from tonnage.placement.site import Server, Site
from tonnage.placement.submission_ledger import Entry, Ledger

_FIGURES = (
    "source",
    "ut_permille",
    "bio_per_s",
    "bio_bytes_per_s",
    "rpc_per_s",
    "pressure_permille",
    "cpus",
    "pages_per_s",
    "host",
    "clock_ahead_s",
)
"""Of a reading."""
_NOTHING_READ = "no index of any server could be read; hint: `tonnage doctor` tells what is wrong"
_NOWHERE = 'the site file does not say where its indices are read; hint: indices = "http://HOST:9100/metrics"'
_WAIT_NS = 3 * 10**9
"""For a server's answer, where a person waits for the table."""
JOBS_NS = 5 * 10**9
"""The list of all jobs costs a large site's scheduler more than an index costs a server: asked no more often."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerLoad:
    """One server's figures, side by side. None is unknown."""

    server: str
    source: str | None
    ut_permille: int | None
    bio_per_s: float | None
    bio_bytes_per_s: int | None
    rpc_per_s: float | None
    pressure_permille: int | None
    cpus: int | None
    pages_per_s: float | None
    host: Host | None
    clock_ahead_s: float | None
    age_s: float | None
    stale: bool
    running: int | None
    waiting: int | None
    line: int | None
    head_room: int | None
    promised: float | None
    others: int | None
    left: float | None
    problem: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadRow:
    """One server. None is unknown."""

    server: str
    reading: Reading | None
    """None: the site file does not say where its indices are."""
    age_s: float | None
    """Of the figures; None where there are none."""
    stale: bool
    """Whether the figures, if any, are too old."""
    running: int | None
    """Tasks that use it or run beside it, by the scheduler's count."""
    waiting: int | None
    """Those that will, when they start."""
    line: int | None
    """Its load line in tasks."""
    promised: float | None = None
    """Tasks that the jobs sent to it may run at once, as a decision counts them: by their measured demand."""

    others: int | None = None
    """Tasks that its indices show beyond those jobs; None where they are stale."""

    @property
    def left(self) -> float | None:
        """The part of its line that is neither promised nor in use by others, as far as known, in tasks; below 0: more
        than it carries."""
        return None if self.line is None or self.promised is None else self.line - self.promised - (self.others or 0)

    @property
    def head_room(self) -> int | None:
        """Tasks that it still carries; below 0: more run than that."""
        return None if self.line is None or self.running is None else self.line - self.running

    @property
    def carries(self) -> int | None:
        """The same less what others use, as far as the indices show it."""
        return None if self.head_room is None else self.head_room - (self.others or 0)

    @property
    def problem(self) -> str | None:
        """Why there are no (new) figures, in a sentence."""
        if self.reading is None:
            return _NOWHERE
        return self.reading.problem

    def answer(self) -> ServerLoad:
        """As ``--json`` and the metrics have it."""
        reading = self.reading
        return ServerLoad(
            server=self.server,
            **{name: None if reading is None else getattr(reading, name) for name in _FIGURES},
            age_s=None if self.age_s is None else round(self.age_s, 3),
            stale=self.stale,
            running=self.running,
            waiting=self.waiting,
            line=self.line,
            head_room=self.head_room,
            promised=None if self.promised is None else round(self.promised, 3),
            others=self.others,
            left=None if self.left is None else round(self.left, 3),
            problem=self.problem,
        )


def require_read(rows: Sequence[LoadRow]) -> None:
    """RequestError where the site file says of no server where its indices are read, TonnageError where none could be
    read."""
    if all(row.reading is None for row in rows):
        raise RequestError(_NOWHERE)
    if all(row.age_s is None for row in rows):
        raise TonnageError(_NOTHING_READ)


def load_rows(
    site: Site,
    readings: Mapping[str, Reading],
    jobs: Iterable[Job] | None,
    lines: Mapping[str, int],
    *,
    now_s: float,
    only: Collection[str] = (),
    promised: Mapping[str, float] | None = None,
    others: Mapping[str, int | None] | None = None,
) -> list[LoadRow]:
    """A row for each server of the site, or for those of the names ``only``, in the site's order.

    ``jobs``: all that wait or run; None where the scheduler did not tell. ``lines``: tasks, by the server's name.
    ``promised``, ``others``: tasks, in the same way; None where that is not known.
    """
    running, waiting = _task_counts(site, jobs) if jobs is not None else (None, None)
    found = []
    for server in site.server:
        if only and server.name not in only:
            continue
        reading = readings.get(server.name)
        known = reading is not None and reading.cpus is not None
        found.append(
            LoadRow(
                server=server.name,
                reading=reading,
                age_s=reading.age_s(now_s) if reading is not None and known else None,
                stale=reading is None or reading.is_stale(now_s, site.policy.index_age),
                running=None if running is None else running.get(server.name, 0),
                waiting=None if waiting is None else waiting.get(server.name, 0),
                line=lines.get(server.name),
                promised=None if promised is None else promised.get(server.name, 0.0),
                others=None if others is None else others.get(server.name),
            )
        )
    return found


def _task_counts(site: Site, jobs: Iterable[Job]) -> tuple[dict[str, int], dict[str, int]]:
    """Server → tasks that run, and that wait. A job is counted once for each server, however many hosts it has."""
    running: dict[str, int] = {}
    waiting: dict[str, int] = {}
    job_servers = JobServers(site.server)
    for job in jobs:
        counted = running if job.state in HOLDS_A_SLOT else waiting if job.state == "pending" else None
        if counted is None:
            continue
        for server in job_servers.of(job):
            counted[server.name] = counted.get(server.name, 0) + job.count
    return running, waiting


def select_servers(site: Site, names: Sequence[str]) -> tuple[Server, ...]:
    """The servers of these names, all where there are none; RequestError where one is not known."""
    if not site.server:
        raise RequestError("no file server is known; hint: name them in tonnage.toml (`tonnage explain site-file`)")
    found = {name: site.named(name) for name in names}
    for name, server in found.items():
        if server is None:
            known = ", ".join(server.name for server in site.server)
            raise RequestError(f"there is no file server {name!r}; hint: the site file has {known}")
    return tuple(server for server in found.values() if server is not None) or site.server


class LoadReader:
    """Observes all servers once a call; problems outside the servers are in ``notes`` after it."""

    def __init__(
        self,
        site: Site,
        servers: Sequence[Server],
        *,
        refresh_ns: int = 0,
        count_jobs: bool = True,
        asks_who_sees: bool = False,
        jobs_age_ns: int = JOBS_NS,
    ) -> None:
        """``refresh_ns``: indices younger than this are taken as they are kept; ``jobs_age_ns``: the scheduler's list
        likewise. ``count_jobs``: False where only a
        server with a load line needs its jobs counted. ``asks_who_sees``: the scheduler also tells, once, whether it
        hides others' jobs."""
        self.site, self.servers = site, servers
        self._refresh_ns, self._count_jobs, self._asks_who_sees = refresh_ns, count_jobs, asks_who_sees
        self._jobs_age_ns, self._ledger_failed = jobs_age_ns, False
        self._jobs: list[Job] | None = None
        self._jobs_ns: int | None = None
        self._jobs_at_s = 0.0
        self.notes: list[str] = []
        self.snapshot = ClusterSnapshot(now_s=0.0)
        """The input of the last observation."""
        self.silent_lines: tuple[str, ...] = ()
        """Directories of load lines that did not answer."""
        self.jobs_problem: str | None = None
        """Why the scheduler's jobs are not known."""
        self.scheduler: Scheduler | None = None
        """The scheduler that listed the jobs."""
        self.only_own: bool | None = None
        """Whether the scheduler lists this user's jobs alone; None: it did not tell."""

    def __call__(self) -> list[LoadRow]:
        site = self.site
        kept = known_lines(site)
        self.silent_lines = kept.silent
        found = {server.name: line_of(site, server, None, among=kept.lines) for server in self.servers}
        lines = {name: line.tasks for name, line in found.items() if line}
        counting = self._count_jobs or bool(lines)
        asking = BackgroundCall(self._ask_scheduler) if counting else None
        readings = fresh_indices(self.servers, wait_ns=_WAIT_NS, refresh_ns=self._refresh_ns)
        if asking is not None:
            asking.get(self.notes)
        only, now_s = [server.name for server in self.servers], time.time()
        self.snapshot = ClusterSnapshot(
            now_s=now_s,
            jobs=self._jobs,
            jobs_at_s=self._jobs_at_s,
            readings=readings,
            placements=self._placements() if counting else (),
            lines={name: float(tasks) for name, tasks in lines.items()},
            plateaus=plateaus_of(found),
        )
        counted = counting and self._jobs is not None and not self._ledger_failed
        promised = promised_tasks(only, self.snapshot) if counted else None
        others = {name: self._others(name, line) for name, line in lines.items()} if counted else {}
        return load_rows(site, readings, self._jobs, lines, now_s=now_s, only=only, promised=promised, others=others)

    def _others(self, name: str, line: int) -> int | None:
        """Beside the jobs that are promised."""
        snapshot = self.snapshot
        sent, plateau = jobs_sent_to([name], snapshot), snapshot.plateaus.get(name)
        found, _ = tasks_of_others([name], snapshot, self.site.policy, line=line, plateau=plateau, counted=sent)
        return None if found is None else round(found)

    def _placements(self) -> list[Entry]:
        """What the ledger has of the scheduler's jobs, which a decision takes off the servers' lines."""
        self._ledger_failed = False
        if self._jobs is None:
            return []
        try:
            return placements_of(Ledger(), self._jobs, since_s=self._jobs_at_s)
        except TonnageError as error:
            self._ledger_failed = True
            note = f"what is promised is not known: {error}"
            self.notes = [*self.notes, *({note} - {*self.notes})]
            return []

    def _ask_scheduler(self) -> None:
        now_ns = time.monotonic_ns()
        if self._jobs_ns is not None and now_ns - self._jobs_ns < self._jobs_age_ns:
            return
        self.notes, self.jobs_problem = [], None
        self._jobs_at_s = time.time()
        try:
            asked = scheduler(self.site.scheduler, timeout_s=self.site.policy.scheduler_timeout / 1e9)
            self._jobs, self.scheduler = asked.jobs(), asked
            if self._asks_who_sees and isinstance(asked, TellsWhoSees):
                self._asks_who_sees = False
                with suppress(TonnageError):
                    self.only_own = asked.hides_others()
        except TonnageError as error:
            self._jobs = None
            self.jobs_problem = f"jobs are not known: {error}"
            self.notes = [self.jobs_problem]
        self._jobs_ns = time.monotonic_ns()
