"""Makes a job request from a user request: finds the servers of the data, reads their load, decides."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TypeVar, cast

from tonnage.cluster.scheduler import ClusterHost, JobRequest, Scheduler
from tonnage.cluster.schedulers import scheduler_here
from tonnage.errors import RequestError
from tonnage.placement.candidates import make_candidates
from tonnage.placement.capacity import (
    PATTERN,
    capacities,
)
from tonnage.placement.choice import Decision, NoFileServer, decide
from tonnage.placement.cluster_snapshot import REMEMBERED, ClusterSnapshot, placements_of
from tonnage.placement.indices.index_reader import read_indices
from tonnage.placement.indices.reading import Reading
from tonnage.placement.kept_company import known_company
from tonnage.placement.scheduler_lists import BackgroundCall, Listed, ListedHost, ListedJob, Lists
from tonnage.placement.server_load_lines import lines_of_servers, plateaus_of
from tonnage.placement.site import Policy, Server, Site
from tonnage.placement.start_directory import StartDirectory
from tonnage.placement.submission_ledger import Intent, KeptRequest, Ledger
from tonnage.placement.submit_request import SubmitRequest
from tonnage.placement.task_caps import Capacity, Demand, at_once, demand_text, line_in_use, line_text
from tonnage.placement.where import Located, locate, servers_of
from tonnage.records.load_line_files import KeptLine

_T = TypeVar("_T")
_MOST_CONSIDERED = 24
"""Hosts that the ledger keeps of a decision, the best first."""
_GAP_S = 0.5
"""Seconds between two samples of a server's counters where there is no recent one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A submission, decided and not yet made."""

    located: Located
    servers: tuple[Server, ...]
    demand: Demand
    decision: Decision
    request: JobRequest
    readings: Mapping[str, Reading]
    """What the indices said, by the server's name."""
    line: int | None
    """The load line that the cap went by; None where none is known."""
    line_servers: tuple[str, ...]
    """Whose line that is; several carry the data together."""
    transfer_size: int
    """Of the operations whose line it is."""
    by_line: bool
    """Whether the cap is the line's, not the user's."""
    notes: tuple[str, ...]
    """Facts that were missing, and that the decision does without."""
    hosts_were_asked: bool = False
    """The user named them."""

    @property
    def pattern(self) -> str:
        """The access pattern whose line it is."""
        return PATTERN

    def intent(self, scheduler_name: str) -> Intent:
        """What the ledger keeps of it."""
        request, decision = self.request, self.decision
        shown = replace(decision, considered=decision.considered[:_MOST_CONSIDERED])
        return {
            "scheduler": scheduler_name,
            "target": self.located.target,
            "pattern": self.pattern,
            "transfer_size": self.transfer_size,
            "server": request.server,
            "line": self.line,
            "line_servers": list(self.line_servers),
            "by_line": self.by_line,
            "cap": request.cap,
            "copies": request.copies or 1,
            "tasks": request.cap or request.copies or 1,
            "io_share": self.demand.io_share,
            "asks": self.demand.tasks,
            "measured": self.demand.measured,
            "bytes_per_s": self.demand.bytes_per_s,
            "room": decision.room,
            "request": cast("KeptRequest", {name: value for name, value in asdict(request).items() if name != "key"}),
            "decision": {**asdict(shown), "of": len(decision.considered)},
            "how": list(self.located.how),
            "notes": list(self.notes),
        }


def where_to(plan: Plan) -> str:
    """``Submitting job to run on fileserver rcss1``, as iobsub prints it; cases that iobsub does not have in the same
    form."""
    decision = plan.decision
    if plan.hosts_were_asked and decision.bind == "pin":
        return f"Submitting job to run on {first_names(decision.hosts)}, as asked"
    if decision.bind == "pin":
        return f"Submitting job to run on fileserver {decision.server}"
    if decision.bind == "prefer":
        return f"Submitting job to run on {first_names(decision.hosts)} if free"
    return "Submitting job to run on any host"


def first_names(names: Sequence[str]) -> str:
    """Returns the first three, and how many more."""
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more


def make_plan(request: SubmitRequest, directory: str, site: Site, ledger: Ledger, site_scheduler: Scheduler) -> Plan:
    """Queries the scheduler and the servers once, each with its time limit, and decides. RequestError, NoFileServer,
    NothingNear. The decision does without answers that are missing where it can; the plan's notes say so."""
    policy = site.policy
    if (wait_ns := request.local_wait_ns) is not None:
        policy = policy.model_copy(update={"local_wait": wait_ns})
    demand = _demand(request, policy)  # a child may read it, which is made before there are threads
    now_s = time.time()
    lists = Lists(site_scheduler, policy.list_age)
    hosts, jobs = BackgroundCall(lists.hosts), BackgroundCall(lists.jobs)
    file_timeout_s = policy.file_timeout / 1e9
    start = StartDirectory(directory, request.argv[0], timeout_s=file_timeout_s, needs=_needs(request, directory))
    notes, looked = start.notes(), start.status if request.path in (None, directory) else None
    located = locate(request.path or directory, site, timeout_s=file_timeout_s, looked=looked)
    servers = servers_of(located, site)
    found = lines_of_servers(site, servers, located, request.transfer_size)
    readings = _fresh_readings(servers, policy, now_s, notes, rates=demand.measured)
    snapshot = _snapshot(hosts.get(notes), jobs.get(notes), readings=readings, now_s=now_s)
    # Read last: what another submission placed meanwhile is in the list of jobs or here.
    placements = placements_of(ledger, snapshot.jobs, since_s=now_s - REMEMBERED * policy.decay / 1e9)
    snapshot = replace(snapshot, placements=placements, company=known_company(site))
    carried = capacities(servers, located, snapshot, found, ledger, policy, transfer_size=request.transfer_size)
    lines = {name: float(line.tasks) for name, line in found.items() if line is not None}
    lines |= {name: float(line_in_use(one)) for name, one in carried.items()}
    measured = next((line for line in found.values() if isinstance(line, KeptLine)), None)
    snapshot = replace(snapshot, lines=lines, plateaus=plateaus_of(found), measured=measured)
    # A server of the site file serves others too, also where its data is on a disk of this host.
    local = located.local and not any(server in site.server for server in servers)
    if request.served and local and not request.anywhere:
        raise NoFileServer(f"{located.path} is on this host's own storage ({'; '.join(located.how)})")
    known = replace(located, servers=tuple(server.name for server in servers), local=local)
    decision = decide(
        demand,
        make_candidates(site, servers, known, snapshot, queue=request.queue),
        located=known,
        policy=policy,
        copies=request.copies,
        cap=request.cap,
        anywhere=request.anywhere or bool(request.hosts),
        slots=request.slots,
        carried=carried,
    )
    decision = _as_asked(request, decision)
    line = carried.get(decision.server or "")
    demand = demand.against(None if line is None else line.plateau)
    if request.copies is None:
        decision = _alone(demand, line, decision, servers, lines)
    return Plan(
        located=located,
        servers=servers,
        demand=demand,
        decision=decision,
        request=_request(request, directory, servers, decision, _licences(servers, demand, line), site, snapshot.hosts),
        readings=readings,
        line=None if line is None else line_in_use(line),
        line_servers=() if line is None else line.servers,
        transfer_size=request.transfer_size,
        by_line=request.cap == "auto" and decision.cap is not None and line is not None,
        notes=tuple(notes),
        hosts_were_asked=bool(request.hosts),
    )


def _as_asked(request: SubmitRequest, decision: Decision) -> Decision:
    """On the hosts that the user named, whatever is nearer to the data."""
    if not request.hosts:
        return decision
    # The last sentence of an array is about its cap.
    why = (f"{first_names(request.hosts)}: as asked", *(decision.why[-1:] if request.copies is not None else ()))
    return replace(decision, hosts=request.hosts, bind="prefer" if request.prefer else "pin", why=why)


def _alone(
    demand: Demand,
    carried: Capacity | None,
    decision: Decision,
    servers: Sequence[Server],
    lines: Mapping[str, float],
) -> Decision:
    """With a sentence on what keeps jobs that are submitted one by one at the line, or that nothing does."""
    licensed = next((server.licence for server in servers if server.licence), None)
    if demand.measured and carried is not None and decision.bind != "free":
        told = _one_by_one(demand, carried, servers, licensed)
        return replace(decision, why=(*decision.why, told), cap_why=told)
    return decision if licensed else replace(decision, why=(*decision.why, *_beyond_the_line(decision, lines)))


def _one_by_one(demand: Demand, carried: Capacity, servers: Sequence[Server], licensed: str | None) -> str:
    most = at_once(demand, line_in_use(carried))
    told = f"{line_text(carried)}{demand_text(demand)}, so that it carries {most} such at once"
    if licensed is None:
        return f"{told}; nothing holds jobs alone to that; hint: --copies N, or a `licence` in tonnage.toml"
    count, total = dict(_licences(servers, demand, carried))[licensed], dict(_totals(servers)).get(licensed)
    if total is None:
        return f"{told}; each holds one {licensed}, and the site file does not say how many there are"
    return f"{told}; each holds {count} of {total} {licensed}, so that no more than {total // count} run at once"


def _licences(servers: Sequence[Server], demand: Demand, carried: Capacity | None) -> tuple[tuple[str, int], ...]:
    """Of each licence of the servers, how many a copy holds: one, or so many that no more copies get theirs than the
    line carries, where a run measured what one asks and the site file says how many there are."""
    totals = dict(_totals(servers))
    most = at_once(demand, line_in_use(carried)) if carried is not None and demand.measured else None
    names = dict.fromkeys(server.licence for server in servers if server.licence)
    return tuple((name, max(1, totals.get(name, 1) // most) if most else 1) for name in names if name)


def _beyond_the_line(decision: Decision, lines: Mapping[str, float]) -> tuple[str, ...]:
    """A note on what bounds single jobs: only an array has a limit of its own."""
    chosen = next((one for one in decision.considered if one.host in decision.hosts[:1]), None)
    line = lines.get(decision.server or "")
    if chosen is None or line is None or not chosen.load_s:
        return ()
    told = f"by its jobs and indices {decision.server} is beyond its load line of {line:g} then"
    return (f"{told}; hint: with a `licence` in tonnage.toml the scheduler holds such jobs back",)


def _request(
    request: SubmitRequest,
    directory: str,
    servers: Sequence[Server],
    decision: Decision,
    licences: tuple[tuple[str, int], ...],
    site: Site,
    listed: Sequence[ClusterHost | ListedHost] | None,
) -> JobRequest:
    server = next((one for one in servers if one.name == decision.server), None)
    if request.queue is not None or request.hosts:
        queue = request.queue or queue_of_hosts(request.hosts, site, servers, listed)
    else:
        # A queue binds as firmly as a host: so it is not used for a mere preference among hosts.
        queue = server.queue if server is not None and decision.bind == "pin" else None
    return JobRequest(
        argv=request.argv,
        key=request.key,
        directory=directory,
        name=request.name or _name(request.argv[0]),
        server=decision.server,
        queue=queue,
        hosts=decision.hosts,
        prefer=decision.bind == "prefer",
        slots=request.slots,
        numbers=request.numbers,
        cap=decision.cap,
        licences=licences,
        licence_totals=_totals(servers),
        output=request.output,
        error=request.error,
        input=request.input,
        terms=request.terms,
        pty=request.pty,
    )


def _needs(request: SubmitRequest, directory: str) -> dict[str, str]:
    """What must be there when the job begins, by what it is; a name that the scheduler completes is not known yet."""
    outputs = {"output": request.output, "error": request.error}
    parents = {f"the directory of --{what}": os.path.dirname(name) for what, name in outputs.items() if name}  # noqa: PTH120
    found = {"the file of --input": request.input, **parents}
    return {what: os.path.join(directory, name) for what, name in found.items() if name and "%" not in name}  # noqa: PTH118


def _totals(servers: Sequence[Server]) -> tuple[tuple[str, int], ...]:
    """How many licences there are of each name: the slots of its servers, or the tasks of their stated lines."""
    totals: dict[str, int] = {}
    for server in servers:
        count = server.slots or (server.line.tasks if server.line is not None else 0)
        if server.licence and count:
            totals[server.licence] = totals.get(server.licence, 0) + count
    return tuple(totals.items())


def _name(program: str) -> str:
    """The program's file name, as far as it can stand in a table."""
    name = "".join(letter if letter.isprintable() else "_" for letter in program.rstrip("/").rpartition("/")[2])
    return name.encode("utf-8", "replace").decode()[:64] or "tonnage"


def _demand(request: SubmitRequest, policy: Policy) -> Demand:
    if request.profile is not None:
        # Reading a run takes numpy, which is half of a start.
        from tonnage.placement.io_demand import demand_within

        demand = demand_within(request.profile, policy)
    else:
        demand = Demand(bytes=policy.reference_bytes, operations=policy.reference_operations)
    if request.io_share is not None:
        demand = replace(demand, io_share=request.io_share, source="as asked")
    return demand


def scheduler_of(request: SubmitRequest, site: Site) -> Scheduler:
    """The one asked for, else the site's. RequestError where this host has none of it."""
    return scheduler_here(request.scheduler or site.scheduler, timeout_s=site.policy.scheduler_timeout / 1e9)


def _fresh_readings(
    servers: Sequence[Server], policy: Policy, now_s: float, notes: list[str], *, rates: bool = False
) -> dict[str, Reading]:
    """What the servers' indices say; what does not count is noted.

    ``rates``: a server that was looked at only once so far is looked at again, half a second later.
    """
    readings = read_indices(servers, policy, now_s=now_s, wait_ns=policy.index_timeout)
    if rates and any(one.cpus is not None and one.ut_permille is None for one in readings.values()):
        time.sleep(_GAP_S)
        now_s = time.time()
        readings = read_indices(servers, policy, now_s=now_s, wait_ns=policy.index_timeout)
    for name, reading in readings.items():
        if reading.age_s(now_s) > policy.index_age / 1e9:
            why = f": {reading.problem}" if reading.problem else ""
            notes.append(f"the indices of {name} are {reading.age_s(now_s):.0f} s old and do not count{why}")
        elif reading.problem:
            notes.append(f"the indices of {name} do not count: {reading.problem}")
    return readings


def _snapshot(
    hosts: Listed[ListedHost] | None, jobs: Listed[ListedJob] | None, *, readings: Mapping[str, Reading], now_s: float
) -> ClusterSnapshot:
    """What the scheduler and the servers say."""
    return ClusterSnapshot(
        now_s=now_s,
        hosts=None if hosts is None else hosts.rows,
        jobs=None if jobs is None else jobs.rows,
        jobs_at_s=0.0 if jobs is None else jobs.at_s,
        readings=readings,
    )


def queue_of_hosts(
    names: Sequence[str],
    site: Site,
    own: Collection[Server],
    listed: Sequence[ClusterHost | ListedHost] | None,
) -> str | None:
    """The queue that all of them are in; None where the site file has none for any. ``own``: the data's servers, whose
    queue counts before another's. RequestError where they are not in one queue, as far as site and scheduler say.
    """
    found = {name: _queue(name, own) or _queue(name, site.server) for name in names}
    queues = list(dict.fromkeys(queue for queue in found.values() if queue))
    if not queues:
        return None
    told = {host.name: host.queues for host in listed or ()}
    for name in names:
        in_queues = told.get(name)
        if found[name] is None and in_queues and queues[0] not in in_queues:
            found[name] = in_queues[0]
    if len({queue for queue in found.values() if queue}) > 1:
        each = ", ".join(f"{name} in {queue}" for name, queue in found.items() if queue)
        raise RequestError(f"the hosts are in several queues: {each}; hint: name hosts of one queue, or give --queue")
    return queues[0]


def _queue(host: str, servers: Collection[Server]) -> str | None:
    beside = (server for server in servers if host in (server.hosts or (server.name,)))
    return next((server.queue for server in beside if server.queue), None)
