"""A snapshot of the cluster at the time of a decision, and which jobs use which servers."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tonnage.cluster.scheduler import ClusterHost, Job
from tonnage.placement.indices.reading import Reading
from tonnage.placement.scheduler_lists import ListedHost, ListedJob
from tonnage.placement.site import Server
from tonnage.placement.submission_ledger import Entry, Ledger
from tonnage.placement.task_caps import Plateau
from tonnage.records.company_result_files import KeptCompany
from tonnage.records.load_line_files import KeptLine

HOLDS_A_SLOT = ("running", "suspended")
"""States of a job that is where it runs."""
REMEMBERED = 8
"""Times the decay after which a placement weighs nothing (e⁻⁸)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSnapshot:
    """Holds what was known at the time of a decision."""

    now_s: float
    hosts: Sequence[ClusterHost | ListedHost] | None = None
    """None: the scheduler did not say."""
    jobs: Sequence[Job | ListedJob] | None = None
    """All that wait or run; None: the scheduler did not say."""
    jobs_at_s: float = 0.0
    """When it was asked for them."""
    readings: Mapping[str, Reading] = field(default_factory=dict)
    """By the server's name."""
    placements: Sequence[Entry] = ()
    """What the ledger has of late, and of all jobs that wait or run."""
    lines: Mapping[str, float] = field(default_factory=dict)
    """Load line in tasks, by the server's name; a server that is not here has none."""
    plateaus: Mapping[str, Plateau] = field(default_factory=dict)
    """What that line is as a rate, in the same way."""
    company: Sequence[KeptCompany] = ()
    """What company costs, of all storages."""
    measured: KeptLine | None = None
    """Where the rate of one task was measured."""


def jobs_at(
    servers: Sequence[Server], snapshot: ClusterSnapshot
) -> Iterator[tuple[Job | ListedJob, Entry | None, Sequence[Server]]]:
    """Each job that uses one of the servers, with what the ledger has of it, and those that it uses."""
    job_servers = JobServers(servers)
    by_job = {entry.job: entry for entry in snapshot.placements if entry.job}
    by_key = {entry.key: entry for entry in snapshot.placements}
    for job in snapshot.jobs or ():
        entry = by_key.get(job.key or "") or by_job.get(job.job)
        if used := job_servers.of(job, server_of(entry)):
            yield job, entry, used


def is_unseen(entry: Entry, snapshot: ClusterSnapshot) -> bool:
    """Whether the scheduler may have the job although its list lacks it. A job whose receipt is older than the list and
    that is not in it has ended."""
    since = entry.answered_s is not None and entry.answered_s >= snapshot.jobs_at_s
    return entry.refused is None and (entry.job is None or snapshot.jobs is None or since)


def promised_tasks(names: Collection[str], snapshot: ClusterSnapshot) -> dict[str, float]:
    """Server → tasks that jobs placed by it may run at once, of the servers of these names that have any: those that
    run, and what capped arrays have left to start, each for the share of its time in which it waits for storage. An
    array that the scheduler's list does not have yet counts with all that it may run.

    A job whose share is not known, as it is another user's, counts in full; another user's array with as many copies as
    the scheduler says may run at once. Where it does not say, with those that run.
    """
    found: dict[str, float] = {}
    for name, _, tasks in promises(names, snapshot):
        found[name] = found.get(name, 0.0) + tasks
    return found


def promises(
    names: Collection[str], snapshot: ClusterSnapshot, *, unlimited: bool = False
) -> Iterator[tuple[str, Entry | None, float]]:
    """Yields what :func:`promised_tasks` sums: server, the ledger's entry of the job, tasks. ``unlimited``: counts
    another user's array with all of its copies where the scheduler does not say how many may run at once."""
    known = {entry.key: entry for entry in snapshot.placements}
    wanted = frozenset(names)
    placed: dict[str, tuple[str, str | None]] = {}
    alive: dict[str, int] = {}
    running: dict[str, int] = {}
    limits: dict[str, int] = {}
    for job in snapshot.jobs or ():
        # Some schedulers keep a job's key and not its server.
        server = job.server or server_of(known.get(job.key or ""))
        if server in wanted:
            placed.setdefault(job.job, (server, job.key))
            alive[job.job] = alive.get(job.job, 0) + job.count
            if job.state == "running":
                running[job.job] = running.get(job.job, 0) + job.count
            if (limit := _limit(job, unlimited=unlimited)) is not None:
                limits[job.job] = limit
    for number, (server, key) in placed.items():
        entry = known.get(key or "")
        capped = entry is not None and entry.intent.get("cap") is not None
        runs, most = running.get(number, 0), limits.get(number)
        if entry is None:
            count = runs if most is None else max(runs, min(alive[number], most))
        else:
            # Its user may have raised its limit, or the list is older than the limit of now.
            count = min(alive[number] if capped else runs, max(copies_at_once(entry), most or 0))
        if count:
            yield server, entry, tasks_per_copy(entry) * count
    if snapshot.jobs is not None:
        listed = {job.key for job in snapshot.jobs}
        for entry in snapshot.placements:
            name = server_of(entry)
            capped = entry.intent.get("cap") is not None
            if name in wanted and capped and entry.key not in listed and is_unseen(entry, snapshot):
                yield name, entry, copies_at_once(entry) * tasks_per_copy(entry)


def _limit(job: Job | ListedJob, *, unlimited: bool) -> int | None:
    """Copies of its array that may run at once, where that is known of one that waits. ``unlimited``: all, where it is
    not."""
    if job.cap is not None:
        return job.cap or None
    is_array = isinstance(job, Job) and job.state == "pending" and (job.count > 1 or job.copy is not None)
    return sys.maxsize if unlimited and is_array else None


def copies_at_once(entry: Entry) -> int:
    """Copies of it that may run at once."""
    return int(entry.intent.get("tasks") or 1)


def tasks_per_copy(entry: Entry | None) -> float:
    """Tasks of the load line that one copy of it asks; ledgers of before say how much it waits, which was the same."""
    if entry is None:
        return 1.0
    return float(entry.intent.get("asks", entry.intent.get("io_share", 1.0)))


def server_of(entry: Entry | None) -> str | None:
    """The server that it was placed by."""
    return None if entry is None else entry.intent.get("server")


def placements_of(ledger: Ledger, jobs: Sequence[Job | ListedJob] | None, *, since_s: float) -> list[Entry]:
    """Returns the ledger's entries since a time, and those of every job that waits or runs, however old."""
    lately = {entry.key: entry for entry in ledger.since(since_s)}
    older = {job.key for job in jobs or () if job.key is not None} - lately.keys()
    return [*ledger.of(older), *lately.values()]


class JobServers:
    """Finds the servers that a job uses; built once for a list of jobs, which may be long."""

    def __init__(self, servers: Sequence[Server]) -> None:
        self._by_name: dict[str, list[Server]] = {}
        self._by_host: dict[str, list[Server]] = {}
        self._by_queue: dict[str, list[Server]] = {}
        for server in servers:
            for name in server.names:
                self._by_name.setdefault(name, [server])
            for host in server.hosts:
                self._by_host.setdefault(host, []).append(server)
            if server.queue is not None:
                self._by_queue.setdefault(server.queue, []).append(server)

    def of(self, job: Job | ListedJob, placed_by: str | None = None) -> Sequence[Server]:
        """The one that the job was placed by; else those beside whose hosts it runs, or in whose queue it waits.

        ``placed_by``: the server that the ledger has for it, where the scheduler keeps none with the job.
        """
        if name := job.server or placed_by:
            return self._by_name.get(name) or self._by_name.get(name.partition(".")[0]) or ()
        if not job.hosts:
            return self._by_queue.get(job.queue, ())
        every = (self._by_host.get(name, ()) for host in job.hosts for name in (host, host.partition(".")[0]))
        return list({server.name: server for found in every for server in found}.values())
