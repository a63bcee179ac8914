"""Makes the candidates of a placement decision from the state of the cluster."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from tonnage.cluster.scheduler import ClusterHost, Job
from tonnage.placement.choice import Candidate, weight
from tonnage.placement.cluster_snapshot import (
    HOLDS_A_SLOT,
    ClusterSnapshot,
    copies_at_once,
    is_unseen,
    jobs_at,
    server_of,
    tasks_per_copy,
)
from tonnage.placement.indices.reading import Reading
from tonnage.placement.scheduler_lists import ListedHost, ListedJob
from tonnage.placement.site import Policy, Server, Site
from tonnage.placement.submission_ledger import Entry
from tonnage.placement.where import Located
from tonnage.records.load_line_files import KeptLine

FAR_CONSIDERED = 64
"""Hosts away from the data that are weighed, those with the most free slots: a site has thousands, all much alike."""


@dataclass(slots=True)
class _Load:
    """The load of a server, in tasks."""

    on_server: float = 0.0
    placed: float = 0.0
    waiting: int = 0
    running: int = 0
    age_s: float = 0.0
    """The sum of the ages of all running jobs."""
    used_at_s: float = 0.0

    @property
    def slot_s(self) -> float | None:
        """On average a running job is observed half-way through, so a job takes about twice the time since its start.
        None: none runs."""
        return 2 * self.age_s / self.running if self.running and self.age_s else None


def make_candidates(
    site: Site, servers: Sequence[Server], located: Located, snapshot: ClusterSnapshot, *, queue: str | None = None
) -> list[Candidate]:
    """Hosts beside the servers, in the site's order, then the most free ones elsewhere; none where data is local.

    ``queue``: the one that was asked for.
    """
    policy = site.policy
    loads = _loads(servers, snapshot, policy)
    if located.striped:
        loads = dict.fromkeys(loads, _together(loads.values()))
    hosts = None if snapshot.hosts is None else {host.name: host for host in snapshot.hosts}
    # Of a queue that the scheduler did not list, a hidden one, it alone knows the hosts.
    listed = {name for host in snapshot.hosts or () for name in host.queues or ()}
    found = []
    for server in servers:
        wanted = next((name for name in (queue, server.queue) if name), None)
        for name in server.hosts or (server.name,):
            host = None if hosts is None else _spelled(name, hosts)
            near = _near(site, server, name, host, loads[server.name], snapshot)
            if near.problem is None and host is not None and wanted in listed and not _takes(host, wanted):
                near.problem = f"it is not in queue {wanted}"
            found.append(near)
    if servers and not located.local and hosts:
        beside = {one.host for one in found}
        others = (host for host in hosts.values() if host.name not in beside)
        if queue in listed:
            others = (host for host in others if _takes(host, queue))
        found += _far(site, servers[0], others, loads, snapshot)
    return found


def _takes(host: ClusterHost | ListedHost, queue: str | None) -> bool:
    """Returns whether the host is in the queue, as far as the scheduler tells."""
    return host.queues is None or queue in host.queues


def _together(loads: Collection[_Load]) -> _Load:
    """Merges the loads of servers over which the data is spread: a job that uses one of them uses all."""
    return _Load(
        on_server=sum(load.on_server for load in loads),
        placed=sum(load.placed for load in loads),
        waiting=sum(load.waiting for load in loads),
        running=sum(load.running for load in loads),
        age_s=sum(load.age_s for load in loads),
    )


def _near(
    site: Site, server: Server, name: str, host: ClusterHost | ListedHost | None, load: _Load, snapshot: ClusterSnapshot
) -> Candidate:
    slots, busy, problem = server.slots, 0, None
    if host is not None:
        slots = host.slots if server.slots is None else min(host.slots, server.slots)
        # Of the slots that others left, the site may lend fewer.
        busy = max(0, host.slots_used - (host.slots - slots))
        name = host.name
        if not host.up:
            problem = f"it is down{f' ({host.reason})' if host.reason else ''}"
    elif snapshot.hosts is not None:
        problem = "the scheduler does not know it" if server.hosts else "the site file names no host beside it"
    if server.slots is not None and slots is not None:
        busy = max(busy, min(load.running, slots))
    candidate = _candidate(site, server, name, True, load, snapshot)
    candidate.slots, candidate.busy, candidate.problem = slots, busy, problem
    return candidate


def _far(
    site: Site,
    server: Server,
    others: Iterable[ClusterHost | ListedHost],
    loads: Mapping[str, _Load],
    snapshot: ClusterSnapshot,
) -> Iterator[Candidate]:
    free = heapq.nlargest(FAR_CONSIDERED, (one for one in others if one.up), key=lambda one: one.slots - one.slots_used)
    for host in free:
        candidate = _candidate(site, server, host.name, False, loads[server.name], snapshot)
        candidate.slots, candidate.busy, candidate.waiting = host.slots, host.slots_used, 0
        yield candidate


def _candidate(site: Site, server: Server, host: str, near: bool, load: _Load, snapshot: ClusterSnapshot) -> Candidate:
    bandwidth_bytes_per_s, latency_s = _access(site, server, host, near, snapshot.measured)
    reading, plateau = snapshot.readings.get(server.name), snapshot.plateaus.get(server.name)
    return Candidate(
        host=host,
        server=server.name,
        near=near,
        bandwidth_bytes_per_s=bandwidth_bytes_per_s,
        latency_s=latency_s,
        slots=None,
        waiting=load.waiting,
        slot_s=load.slot_s,
        line=snapshot.lines.get(server.name),
        on_server=load.on_server,
        placed=load.placed,
        pressure=pressure(reading, site.policy, snapshot.now_s, None if plateau is None else plateau.bytes_per_s),
        used_at_s=load.used_at_s,
    )


def _access(site: Site, server: Server, host: str, near: bool, measured: KeptLine | None) -> tuple[float, float]:
    """Bytes per second and seconds an operation: as stated, else as measured from there, else the policy's."""
    for entry in site.access:
        if any(fnmatchcase(host, one) for one in entry.hosts) and any(
            fnmatchcase(name, one) for one in entry.servers for name in server.names
        ):
            return float(entry.bandwidth), entry.latency / 1e9
    policy = site.policy
    bandwidth, latency = (
        (policy.near_bandwidth, policy.near_latency) if near else (policy.far_bandwidth, policy.far_latency)
    )
    if measured is not None and measured.single_bytes_per_s > 0 and _short(measured.host) == _short(host):
        # The rate of whole operations has their latency in it.
        return float(measured.single_bytes_per_s), 0.0
    return float(bandwidth), latency / 1e9


def pressure(reading: Reading | None, policy: Policy, now_s: float, plateau_bytes_per_s: int | None) -> float | None:
    """Share of a server's capacity in use, 0…1: its CPUs, and its devices against the plateau at its load line.

    Where no plateau is known, the share of time in which some task waited for I/O. None where the reading is stale.
    """
    if reading is None or reading.age_s(now_s) > policy.index_age / 1e9:
        return None
    shares = []
    if reading.ut_permille is not None:
        shares.append(reading.ut_permille / 1000)
    if plateau_bytes_per_s and reading.bio_bytes_per_s is not None:
        shares.append(reading.bio_bytes_per_s / plateau_bytes_per_s)
    elif reading.pressure_permille is not None:
        shares.append(reading.pressure_permille / 1000)
    return min(1.0, max(shares)) if shares else None


def _loads(servers: Sequence[Server], snapshot: ClusterSnapshot, policy: Policy) -> dict[str, _Load]:
    """Running tasks as the scheduler counts them; those that wait, or that it does not show yet, by their decay."""
    loads = {server.name: _Load() for server in servers}
    decay_s = policy.decay / 1e9
    running: dict[str, int] = {}
    pending: list[tuple[Job | ListedJob, Entry | None, Sequence[Server]]] = []
    for job, entry, used in jobs_at(servers, snapshot):
        if job.state == "pending":
            pending.append((job, entry, used))
        elif job.state in HOLDS_A_SLOT:
            running[job.job] = running.get(job.job, 0) + job.count
            for server in used:
                load = loads[server.name]
                load.on_server += job.count * tasks_per_copy(entry)
                load.running += job.count
                load.age_s += job.count * max(0.0, snapshot.now_s - (job.started_at_s or snapshot.now_s))
    for job, entry, used in pending:
        ready = job.count if entry is None else min(job.count, max(0, copies_at_once(entry) - running.get(job.job, 0)))
        submitted_s = snapshot.now_s if job.submitted_at_s is None else job.submitted_at_s
        placed = ready * tasks_per_copy(entry) * weight(snapshot.now_s - submitted_s, decay_s)
        for server in used:
            load = loads[server.name]
            load.waiting += ready
            load.placed += placed
    _add_unseen(loads, snapshot, decay_s)
    return loads


def _add_unseen(loads: Mapping[str, _Load], snapshot: ClusterSnapshot, decay_s: float) -> None:
    """Placements that the scheduler's list does not have: on their way, or placed while it could not be asked."""
    listed = {job.key for job in snapshot.jobs or ()}
    for entry in snapshot.placements:
        server = server_of(entry)
        load = loads.get(server or "")
        if entry.refused is not None or load is None:
            continue
        load.used_at_s = max(load.used_at_s, entry.at_s)
        if is_unseen(entry, snapshot) and entry.key not in listed:
            load.placed += copies_at_once(entry) * tasks_per_copy(entry) * weight(snapshot.now_s - entry.at_s, decay_s)


def _spelled(name: str, hosts: Mapping[str, ClusterHost | ListedHost]) -> ClusterHost | ListedHost | None:
    """The scheduler's host of that name; where it spells names with or without their domain, by the first part."""
    if name in hosts:
        return hosts[name]
    return next((host for host in hosts.values() if _short(host.name) == _short(name)), None)


def _short(name: str) -> str:
    return name.partition(".")[0].lower()
