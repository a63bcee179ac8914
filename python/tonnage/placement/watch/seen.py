"""What one look says of a server: its load in tasks, against its line, and whose jobs are there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from tonnage.cluster.scheduler import Job
from tonnage.placement.candidates import HOLDS_A_SLOT, World, io_share, jobs_at, share_in_use
from tonnage.placement.load import Row
from tonnage.placement.look import Look
from tonnage.placement.site import Policy, Server

_NAMES = 8
"""Of a user's jobs that are kept: a few are told."""

By = Literal["jobs", "indices"]


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
class There:
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
class Seen:
    """One server at one look."""

    server: str
    line: int | None = None
    """Its load line; None: none is known."""
    load: float | None = None
    """Tasks that use it, as decisions count them: those of the scheduler, or as many as the indices say where that is
    more. Where one of the two is not known, what the other says: at least so many. None: neither is known."""
    by: By | None = None
    """Which of the two said so many."""
    there: There | None = None
    """None: the scheduler did not tell."""
    missing: tuple[str, ...] = ()
    """A sentence for each thing that could not be looked at."""

    @property
    def above(self) -> bool | None:
        """Whether its load is above its line. None where that is not known: what was seen is not above it, and
        something could not be seen."""
        if self.line is None or self.load is None:
            return None
        return True if self.load > self.line else None if self.missing else False


def seen_of(look: Look, rows: Iterable[Row]) -> list[Seen]:
    """What the look that gave these rows says of each server with a line, and that there is none of the others."""
    world, policy = look.world, look.site.policy
    # All servers of the site: a job that uses another one is not beside this one.
    counted = _counted(look.site.server, world, look.only_own)
    servers = {server.name: server for server in look.servers}
    lost = tuple(f"{directory} with the load lines does not answer" for directory in look.silent_lines)
    silent = (look.jobs_problem,) if look.jobs_problem else ()
    return [
        _seen(servers[row.server], row, counted, world, policy, (*lost, *silent), has_line=not lost) for row in rows
    ]


@dataclass(slots=True)
class _Counted:
    """What the scheduler's jobs are at one server."""

    tasks: float = 0.0
    users: dict[str, dict[str, Counter[str]]] = field(default_factory=dict)
    """User → job → tasks by name; a job's copies have one name."""
    only_own: bool | None = None

    def there(self) -> There:
        found = []
        for user, jobs in self.users.items():
            names: Counter[str] = Counter()
            for one in jobs.values():
                names += one
            named = tuple(name for name, _ in names.most_common(_NAMES) if name)
            found.append(UserJobs(user=user, jobs=len(jobs), tasks=names.total(), names=named))
        return There(users=tuple(sorted(found, key=lambda one: (-one.tasks, one.user))), only_own=self.only_own)


def _counted(servers: Sequence[Server], world: World, only_own: bool | None) -> dict[str, _Counted]:
    found = {server.name: _Counted(only_own=only_own) for server in servers}
    for job, entry, used in jobs_at(servers, world):
        if job.state not in HOLDS_A_SLOT or not isinstance(job, Job):
            continue
        for server in used:
            at = found[server.name]
            at.tasks += job.count * io_share(entry)
            at.users.setdefault(job.user, {}).setdefault(job.job, Counter())[job.name] += job.count
    return found


def _seen(
    server: Server,
    row: Row,
    counted: dict[str, _Counted],
    world: World,
    policy: Policy,
    lost: tuple[str, ...],
    *,
    has_line: bool,
) -> Seen:
    there = None if world.jobs is None else counted[server.name].there()
    if row.line is None or not has_line:
        return Seen(server=server.name, there=there, missing=() if has_line else lost)
    loads: list[tuple[float, By]] = []
    if world.jobs is not None:
        loads.append((counted[server.name].tasks, "jobs"))
    reading, missing = row.reading, lost
    share = None if row.problem else share_in_use(reading, policy, world.now_s, world.plateaus.get(server.name))
    if share is not None:
        loads.append((share * row.line, "indices"))
    elif server.indices is not None:
        missing = (*missing, row.problem or f"its indices are {row.age_s or 0:.0f} s old")
    load, by = max(loads, key=lambda one: one[0]) if loads else (None, None)
    return Seen(server=server.name, line=row.line, load=load, by=by, there=there, missing=missing)
