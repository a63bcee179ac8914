"""One observation of a server: its load in tasks, its load line, and the jobs that run there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tonnage.cluster.scheduler import Job
from tonnage.placement.capacity import Counted, tasks_of_others
from tonnage.placement.cluster_snapshot import HOLDS_A_SLOT, ClusterSnapshot, jobs_at, tasks_per_copy
from tonnage.placement.server_load import LoadReader, LoadRow
from tonnage.placement.site import Policy, Server

_NAMES = 8
"""Number of a user's jobs that are kept; fewer are printed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UserJobs:
    """One user's jobs that run at a server."""

    user: str
    jobs: int
    tasks: int
    """Copies of an array count one each."""
    names: tuple[str, ...]
    """Of the jobs, those with the most tasks first; at most eight."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningJobs:
    """The jobs that run at a server, as far as the scheduler tells."""

    users: tuple[UserJobs, ...] = ()
    """Those with the most tasks first."""
    only_own: bool | None = None
    """Whether it tells of this user's jobs alone; None: it does not say."""

    @property
    def jobs(self) -> int:
        """How many there are."""
        return sum(user.jobs for user in self.users)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerObservation:
    """One observation of one server."""

    server: str
    line: int | None = None
    """Its load line; None: none is known."""
    load: float | None = None
    """Tasks that use it: those of the scheduler's jobs that run there, and ``others``. Where one of the two is not
    known, what the other says: at least so many. None: neither is known."""
    others: float | None = None
    """The part of ``load`` that the indices show beyond those jobs; None: they are stale, or lack that."""
    there: RunningJobs | None = None
    """None: the scheduler did not tell."""
    missing: tuple[str, ...] = ()
    """A sentence for each thing that could not be observed."""

    @property
    def above(self) -> bool | None:
        """Whether its load is above its line. None where that is unknown: the observed load is not above it, and
        something could not be observed."""
        if self.line is None or self.load is None:
            return None
        return True if self.load > self.line else None if self.missing else False


def observations(reader: LoadReader, rows: Iterable[LoadRow]) -> list[ServerObservation]:
    """The observation of each server from the rows of one read; servers without a line have no load."""
    snapshot, policy = reader.snapshot, reader.site.policy
    # All servers of the site: a job that uses another one is not beside this one.
    counted = _counted(reader.site.server, snapshot, reader.only_own)
    servers = {server.name: server for server in reader.servers}
    lost = tuple(f"{directory} with the load lines does not answer" for directory in reader.silent_lines)
    silent = (reader.jobs_problem,) if reader.jobs_problem else ()
    return [
        _observation(servers[row.server], row, counted, snapshot, policy, (*lost, *silent), has_line=not lost)
        for row in rows
    ]


@dataclass(slots=True)
class _Counted:
    """The scheduler's jobs at one server."""

    running: list[Counted] = field(default_factory=list)
    """Those that are suspended do no I/O."""
    users: dict[str, dict[str, Counter[str]]] = field(default_factory=dict)
    """User → job → tasks by name; a job's copies have one name."""
    only_own: bool | None = None

    @property
    def tasks(self) -> float:
        """Of the load line, that they ask."""
        return sum(job.count * tasks_per_copy(entry) for job, entry in self.running)

    def there(self) -> RunningJobs:
        """Whose they are."""
        found = []
        for user, jobs in self.users.items():
            names: Counter[str] = Counter()
            for one in jobs.values():
                names += one
            named = tuple(name for name, _ in names.most_common(_NAMES) if name)
            found.append(UserJobs(user=user, jobs=len(jobs), tasks=names.total(), names=named))
        return RunningJobs(users=tuple(sorted(found, key=lambda one: (-one.tasks, one.user))), only_own=self.only_own)


def _counted(servers: Sequence[Server], snapshot: ClusterSnapshot, only_own: bool | None) -> dict[str, _Counted]:
    found = {server.name: _Counted(only_own=only_own) for server in servers}
    for job, entry, used in jobs_at(servers, snapshot):
        if job.state not in HOLDS_A_SLOT or not isinstance(job, Job):
            continue
        for server in used:
            at = found[server.name]
            if job.state == "running":
                at.running.append((job, entry))
            at.users.setdefault(job.user, {}).setdefault(job.job, Counter())[job.name] += job.count
    return found


def _observation(
    server: Server,
    row: LoadRow,
    counted: dict[str, _Counted],
    snapshot: ClusterSnapshot,
    policy: Policy,
    lost: tuple[str, ...],
    *,
    has_line: bool,
) -> ServerObservation:
    at = counted[server.name]
    there = None if snapshot.jobs is None else at.there()
    if row.line is None or not has_line:
        return ServerObservation(server=server.name, there=there, missing=() if has_line else lost)
    others, missing = None, lost
    if row.problem is None and not row.stale:
        plateau = snapshot.plateaus.get(server.name)
        others, _ = tasks_of_others([server.name], snapshot, policy, line=row.line, plateau=plateau, counted=at.running)
    elif server.indices is not None:
        missing = (*missing, row.problem or _stale(row, policy))
    known = [tasks for tasks in (None if snapshot.jobs is None else at.tasks, others) if tasks is not None]
    load = sum(known) if known else None
    return ServerObservation(server=server.name, line=row.line, load=load, others=others, there=there, missing=missing)


def _stale(row: LoadRow, policy: Policy) -> str:
    age_s = row.age_s or 0.0
    return f"its indices are {age_s:.0f} s old" if age_s * 1e9 > policy.index_age else "its indices have no rates yet"
