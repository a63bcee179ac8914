"""How much of a load line is left: the line less the tasks promised to jobs and the load of others that the indices
show."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from tonnage.cluster.scheduler import Job
from tonnage.placement.cluster_snapshot import (
    ClusterSnapshot,
    promises,
    server_of,
    tasks_per_copy,
)
from tonnage.placement.indices.reading import Reading
from tonnage.placement.kept_company import company_loss
from tonnage.placement.scheduler_lists import ListedJob
from tonnage.placement.server_load_lines import KnownLine, describe, plateau_of
from tonnage.placement.site import Policy, Server
from tonnage.placement.submission_ledger import Entry, Ledger, Marks
from tonnage.placement.task_caps import USUAL_TRANSFER, Capacity, Plateau, line_in_use
from tonnage.placement.where import Located
from tonnage.records.load_line_files import KeptLine

Counted: TypeAlias = tuple[Job | ListedJob, Entry | None]
"""A job whose tasks are counted already, with its entry in the ledger."""
Promise: TypeAlias = tuple[str, Entry | None, float]
"""Server, the ledger's entry of a job, and the tasks that are promised to it."""
_NOTHING = 0.5
"""Tasks below which the load of others counts as none: every disk writes a log."""
PATTERN = "read sequential"
"""The access pattern whose load line caps a job of which nothing is known: most jobs read their data through once."""


def tasks_of_others(
    names: Sequence[str],
    snapshot: ClusterSnapshot,
    policy: Policy,
    *,
    line: int,
    plateau: Plateau | None,
    counted: Iterable[Counted],
) -> tuple[float | None, bool]:
    """(tasks, silent): tasks of the load line that the servers of these names carry together, beyond what the jobs of
    ``counted`` that run explain. None where an index of one of them is missing or stale; ``silent`` then says that the
    site file names some.

    The devices' rate stands for as many tasks as at the plateau, beyond it for more than the line. Where the plateau is
    not known, the share of time in which some task waited for I/O is the share of the line: one task alone that waits
    all the time makes it 100 %, so that the jobs that run explain as much of it. CPUs do not count: beside the data
    they are the jobs' own. Less than half a task is nothing.
    """
    readings = [snapshot.readings.get(name) for name in names]
    fresh = [one for one in readings if one is not None and not one.is_stale(snapshot.now_s, policy.index_age)]
    if not names or len(fresh) < len(names):
        return None, any(one is not None for one in readings)
    found = _beyond(fresh, _running_tasks(counted, min(one.at_s for one in fresh)), line, plateau)
    return (None if found is None else found if found > _NOTHING else 0.0), False


def jobs_sent_to(names: Sequence[str], snapshot: ClusterSnapshot) -> Iterator[Counted]:
    """The jobs that were sent to servers of these names, which are promised of their lines."""
    known = {entry.key: entry for entry in snapshot.placements}
    for job in snapshot.jobs or ():
        entry = known.get(job.key or "")
        if (job.server or server_of(entry)) in names:
            yield job, entry


def _beyond(fresh: Sequence[Reading], run: float, line: int, plateau: Plateau | None) -> float | None:
    rates = [one.bio_bytes_per_s for one in fresh if one.bio_bytes_per_s is not None]
    if plateau is not None and len(rates) == len(fresh):
        return plateau.tasks_of(sum(rates)) - run
    waits = [one.pressure_permille for one in fresh if one.pressure_permille is not None]
    if waits:
        return (max(waits) / 1000 - min(run, 1.0)) * line
    return None


def _running_tasks(counted: Iterable[Counted], until_s: float) -> float:
    """Tasks of those that ran when the indices were read."""
    began = (one for one in counted if one[0].state == "running" and (one[0].started_at_s or 0.0) <= until_s)
    return sum(job.count * tasks_per_copy(entry) for job, entry in began)


def capacities(
    servers: Sequence[Server],
    located: Located,
    snapshot: ClusterSnapshot,
    found: Mapping[str, KnownLine | None],
    ledger: Ledger,
    policy: Policy,
    *,
    transfer_size: int = USUAL_TRANSFER,
) -> dict[str, Capacity]:
    """Server → its load line, with what is promised of it and what its indices show of others; one without a line is
    not there. Servers over which the data is spread carry it together: each has what holds for all."""
    if located.striped:
        whole = _capacity(servers, located, snapshot, found, ledger, policy, transfer_size)
        return {} if whole is None else dict.fromkeys((server.name for server in servers), whole)
    each = {
        server.name: _capacity((server,), located, snapshot, found, ledger, policy, transfer_size) for server in servers
    }
    return {name: carried for name, carried in each.items() if carried is not None}


def capacity_beside(
    entry: Entry,
    together: Sequence[Server],
    located: Located,
    snapshot: ClusterSnapshot,
    found: Mapping[str, KnownLine | None],
    ledger: Ledger,
    policy: Policy,
) -> Capacity | None:
    """The load line that servers carry together, for an array that is there already: nothing is promised to itself.

    Other users' arrays of which the scheduler does not tell the limit are promised all of their copies.
    """
    jobs = [job for job in snapshot.jobs or () if job.job != entry.job]
    beside = replace(snapshot, jobs=jobs, placements=[one for one in snapshot.placements if one.key != entry.key])
    promised = list(promises([server.name for server in together], beside, unlimited=True))
    size = entry.intent.get("transfer_size", USUAL_TRANSFER)
    return _capacity(together, located, snapshot, found, ledger, policy, size, promised=promised)


def _capacity(
    together: Sequence[Server],
    located: Located,
    snapshot: ClusterSnapshot,
    found: Mapping[str, KnownLine | None],
    ledger: Ledger,
    policy: Policy,
    transfer_size: int,
    *,
    promised: Sequence[Promise] | None = None,
) -> Capacity | None:
    """``promised``: to other jobs; None: of all jobs that the world has. ``transfer_size``: of the job that asks."""
    line = found.get(together[0].name) if together else None
    if line is None:
        return None
    names = tuple(server.name for server in together)
    last = ledger.last(ledger_marks(names, located.target, PATTERN))
    kept = last.get("line") if last is not None else None
    licensed = any(server.licence for server in together)
    if promised is None:
        promised = [] if licensed else list(promises(names, snapshot))
    sent, plateau = jobs_sent_to(names, snapshot), plateau_of(line)
    others, silent = tasks_of_others(names, snapshot, policy, line=line.tasks, plateau=plateau, counted=sent)
    carried = Capacity(
        servers=names,
        others=None if others is None else round(others),
        others_by_rate=plateau is not None,
        silent=silent,
        tasks=line.tasks,
        low=line.low if isinstance(line, KeptLine) else line.tasks,
        high=line.high if isinstance(line, KeptLine) else line.tasks,
        source=describe(line, now_s=snapshot.now_s),
        kept=kept if isinstance(kept, int) else None,
        promised=0.0 if licensed else sum(tasks for _, _, tasks in promised),
    )
    if snapshot.company and not licensed:
        carried = _with_company(carried, located.target, transfer_size, promised, snapshot)
    return replace(carried, plateau=plateau_of(line, line_in_use(carried)))


def _with_company(
    carried: Capacity, target: str, transfer_size: int, promised: Sequence[Promise], snapshot: ClusterSnapshot
) -> Capacity:
    """With what a job of that transfer size loses because jobs of other sizes run there."""
    by_size: dict[int, float] = {}
    for _, entry, tasks in promised:
        if entry is not None and (size := entry.intent.get("transfer_size")):
            by_size[size] = by_size.get(size, 0.0) + tasks
    line = line_in_use(carried)
    left = line - carried.promised
    loss = company_loss(snapshot.company, target, transfer_size, by_size, line=line, left=left, now_s=snapshot.now_s)
    return replace(carried, company=loss.tasks, company_why=loss.why)


def ledger_marks(names: Sequence[str], target: str, pattern: str) -> Marks:
    """The marks in the ledger of what was capped by the line of these servers. Where one has the data alone, another
    holder of the same data has a line of its own."""
    whole = Marks(target=target, pattern=pattern)
    return {**whole, "server": names[0]} if len(names) == 1 else whole
