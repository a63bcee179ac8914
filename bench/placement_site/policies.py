"""Where a submission goes and what bounds it: the policies that are compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from random import Random
from statistics import median
from typing import Protocol

from tonnage.cluster.scheduler import ClusterHost
from tonnage.placement.candidates import make_candidates
from tonnage.placement.capacity import capacities
from tonnage.placement.choice import Decision, decide
from tonnage.placement.cluster_snapshot import ClusterSnapshot as Known
from tonnage.placement.scheduler_lists import ListedJob
from tonnage.placement.site import Line, Server, Site
from tonnage.placement.site import Policy as Rules
from tonnage.placement.submission_ledger import Entry, Ledger
from tonnage.placement.task_caps import Capacity, Demand, choose_cap
from tonnage.placement.where import Located

from placement_site.jobs import Jobs, Submission
from placement_site.scheduler_state import Free, Placed, State
from placement_site.site_model import SiteModel


class Policy(Protocol):
    """One policy in one race."""

    def before(self, now_s: float, number: int, state: State) -> Iterator[tuple[int, int]]:
        """As ``raised``, when a submission arrives and before it is placed."""

    def assign(self, now_s: float, number: int, state: State) -> Placed:
        """Where the submission goes; once, when it arrives."""

    def pick(self, free: Free) -> int:
        """The pool of a host for a job that may have any; one is free."""

    def raised(self, now_s: float, server: int, state: State) -> Iterator[tuple[int, int]]:
        """Submissions that read from the server, and the higher caps that they get now that one of them has ended.

        Each begins its jobs before the next one is looked at.
        """


class Fifo:
    """A scheduler that does not know where data is: the first free host, the first server that has the data."""

    def __init__(self, world: SiteModel, jobs: Jobs, seed: int) -> None:  # noqa: ARG002
        self._submissions = jobs.submissions

    def before(self, now_s: float, number: int, state: State) -> Iterator[tuple[int, int]]:  # noqa: ARG002
        return iter(())

    def assign(self, now_s: float, number: int, state: State) -> Placed:  # noqa: ARG002
        return Placed(None, self._submissions[number].holders[0])

    def pick(self, free: Free) -> int:
        return free.first()

    def raised(self, now_s: float, server: int, state: State) -> Iterator[tuple[int, int]]:  # noqa: ARG002
        return iter(())


class Anyhow(Fifo):
    """A host drawn from those that are free, and a server drawn from those that have the data."""

    def __init__(self, world: SiteModel, jobs: Jobs, seed: int) -> None:
        super().__init__(world, jobs, seed)
        self._chance = Random(seed)

    def assign(self, now_s: float, number: int, state: State) -> Placed:  # noqa: ARG002
        return Placed(None, self._chance.choice(self._submissions[number].holders))

    def pick(self, free: Free) -> int:
        return free.anywhere(self._chance)


class NoLedger(Ledger):
    """Nothing was submitted before: the line in use is the one that is stated."""

    def __init__(self) -> None:
        """It has no directory."""

    def last(self, marks: object) -> None:  # noqa: ARG002
        return None


class Near:
    """As ``tonnage submit`` decides, by its own functions, from what it would have found.

    A decision is handed what of its facts can matter to it: the jobs that use the servers in question, the hosts beside
    them and one host elsewhere. All other rows only take time (see ``decision.py``).
    """

    def __init__(self, world: SiteModel, jobs: Jobs, seed: int, *, caps: bool, raises: bool = False) -> None:  # noqa: ARG002
        self._jobs, self._caps, self._raises = jobs, caps, raises
        self.site = site_of(world)
        self._ledger = NoLedger()
        self._entries: dict[int, Entry] = {}
        self._taken = [tuple(_host(name, 1) for name in server.hosts) for server in self.site.server]
        self._left = [tuple(_host(name, 0) for name in server.hosts) for server in self.site.server]

    def pick(self, free: Free) -> int:
        return free.first()

    def before(self, now_s: float, number: int, state: State) -> Iterator[tuple[int, int]]:
        """Its user's own arrays at the server that it goes to, as ``tonnage submit`` does."""
        submission = self._jobs.submissions[number]
        if not self._caps:
            return
        every = (one for holder in submission.holders for one in state.alive[holder])
        own = [one for one in every if self._jobs.submissions[one].user == submission.user and self._waits(one, state)]
        if not own:
            return
        demand = self.demand_of(submission)
        server = self.decided(submission, demand, self.facts(now_s, submission, state)).server
        if server is not None:
            yield from self._rises(now_s, _number(server), own, state)

    def assign(self, now_s: float, number: int, state: State) -> Placed:
        submission = self._jobs.submissions[number]
        demand = self.demand_of(submission)
        decision = self.decided(submission, demand, self.facts(now_s, submission, state))
        server = submission.holders[0] if decision.server is None else _number(decision.server)
        self._enter(number, now_s, decision.server, decision.cap, demand)
        return Placed(server if decision.bind == "pin" else None, server, decision.cap)

    def _enter(self, number: int, at_s: float, server: str | None, cap: int | None, demand: Demand) -> None:
        """In the user's ledger, as ``Plan.intent`` has it."""
        most = cap or self._jobs.submissions[number].count
        intent = {"server": server, "cap": cap, "tasks": most, "io_share": demand.io_share, "asks": demand.tasks}
        self._entries[number] = Entry(str(number), at_s, intent, str(number), "", None, at_s)

    def raised(self, now_s: float, server: int, state: State) -> Iterator[tuple[int, int]]:
        """Yields raised caps by the rule of a new array, as if each came now: what of this server's line the others
        leave."""
        if self._raises:
            yield from self._rises(now_s, server, [*state.alive[server]], state)

    def _waits(self, number: int, state: State) -> bool:
        """Whether a cap holds jobs of it back that have not begun."""
        cap, count = state.caps[number], self._jobs.submissions[number].count
        return cap is not None and cap < count and state.begun[number] < count

    def _rises(self, now_s: float, server: int, numbers: list[int], state: State) -> Iterator[tuple[int, int]]:
        for number in numbers:
            cap, placed = state.caps[number], state.placed[number]
            submission = replace(self._jobs.submissions[number], holders=(server,))
            assert placed is not None
            if cap is None or placed.server != server or not self._waits(number, state):
                continue
            demand = self.demand_of(submission)
            known = self.facts(now_s, submission, state, without=number)
            fits, _ = choose_cap(
                demand,
                self._carried(submission, known).get(self.site.server[server].name),
                asked="auto",
                copies=submission.count - state.begun[number] + state.running[number],
                slots=None if placed.pool is None else state.free.sizes[server],
                cpu_bound_below=self.site.policy.cpu_bound_below,
            )
            if fits is not None and fits > cap:
                self._enter(number, submission.at_s, self.site.server[server].name, fits, demand)
                yield number, fits

    def decided(self, submission: Submission, demand: Demand, known: Known) -> Decision:
        """What ``tonnage submit`` does with its facts."""
        servers, located = self._located(submission)
        return decide(
            demand,
            make_candidates(self.site, servers, located, known),
            located=located,
            policy=self.site.policy,
            copies=submission.count if submission.array else None,
            cap="auto" if self._caps else submission.count,
            carried=self._carried(submission, known),
        )

    def demand_of(self, submission: Submission) -> Demand:
        """What its user says of it, or what ``tonnage submit`` takes where nothing is said."""
        rules = self.site.policy
        if not submission.profiled:
            return Demand(bytes=rules.reference_bytes, operations=rules.reference_operations)
        size = int(self._jobs.bytes[submission.first])
        return Demand(bytes=size, operations=0, io_share=submission.io_share, source="its profile")

    def _located(self, submission: Submission) -> tuple[tuple[Server, ...], Located]:
        servers = tuple(self.site.server[holder] for holder in submission.holders)
        names = tuple(server.name for server in servers)
        return servers, Located(path="/data", mount=None, target="/data", servers=names)

    def lines_of(self, submission: Submission) -> dict[str, float]:
        """Load lines of the servers that have its data."""
        servers = self._located(submission)[0]
        return {server.name: float(server.line.tasks) for server in servers if server.line is not None}

    def _carried(self, submission: Submission, known: Known) -> dict[str, Capacity]:
        servers, located = self._located(submission)
        lines = {server.name: server.line for server in servers}
        return capacities(servers, located, known, lines, self._ledger, self.site.policy)

    def facts(
        self,
        now_s: float,
        submission: Submission,
        state: State,
        *,
        without: int | None = None,
        own_only: bool = True,
    ) -> Known:
        """What can matter to a decision on it. ``without``: a submission that is left out. ``own_only``: of the ledger
        what its user has."""
        every = (number for holder in submission.holders for number in state.alive[holder])
        alive = [number for number in every if number != without]
        return self._cluster_facts(
            now_s,
            submission,
            hosts=[host for holder in submission.holders for host in self._beside(holder, state.free)]
            + [_host("elsewhere", int(state.free.total == sum(state.free.counts[one] for one in submission.holders)))],
            jobs=[row for number in alive for row in self._rows(number, state)],
            entries=[
                self._entries[number]
                for number in alive
                if not own_only or self._jobs.submissions[number].user == submission.user
            ],
        )

    def all_facts(self, now_s: float, submission: Submission, state: State) -> Known:
        """The same with every host and a row for each job that runs, of the whole site, and one ledger of all users."""
        alive = [number for server in state.alive for number in server]
        elsewhere, free = state.free.sizes[-1], state.free.counts[-1]
        return self._cluster_facts(
            now_s,
            submission,
            hosts=[host for holder in range(len(self.site.server)) for host in self._beside(holder, state.free)]
            + [_host(f"c{number:05}", int(number >= free)) for number in range(elsewhere)],
            jobs=[one for number in alive for row in self._rows(number, state) for one in _copies(row)],
            entries=[self._entries[number] for number in alive],
        )

    def _cluster_facts(
        self,
        now_s: float,
        submission: Submission,
        *,
        hosts: list[ClusterHost],
        jobs: list[ListedJob],
        entries: list[Entry],
    ) -> Known:
        return Known(
            now_s=now_s,
            hosts=hosts,
            jobs=jobs,
            jobs_at_s=now_s,
            placements=entries,
            lines=self.lines_of(submission),
        )

    def _beside(self, server: int, free: Free) -> tuple[ClusterHost, ...]:
        busy = free.sizes[server] - free.counts[server]
        return self._taken[server][:busy] + self._left[server][busy:]

    def _rows(self, number: int, state: State) -> list[ListedJob]:
        """As the scheduler lists a submission: what runs of it, what waits."""
        submission, placed, running = self._jobs.submissions[number], state.placed[number], state.running[number]
        assert placed is not None
        server = self.site.server[placed.server].name

        def row(told: str, count: int, started_at_s: float | None) -> ListedJob:
            return ListedJob(
                job=str(number),
                key=str(number),
                server=server,
                state="running" if told == "running" else "pending",
                queue="batch",
                count=count,
                submitted_at_s=submission.at_s,
                started_at_s=started_at_s,
                hosts=(),
                cap=None if told == "running" else state.caps[number] or 0,
            )

        waiting = submission.count - state.begun[number]
        found = [row("running", running, state.started_sum_s[number] / running)] if running else []
        return [*found, row("pending", waiting, None)] if waiting else found


def site_of(world: SiteModel) -> Site:
    """The site file of the model: every server's line is stated."""
    single = median(server.single_bytes_per_s for server in world.servers)
    line = median(server.line for server in world.servers)
    servers = tuple(
        Server(
            name=f"s{number}",
            holds=(f"/data/{number}",),
            hosts=tuple(f"n{number * world.beside + host:05}" for host in range(world.beside)),
            line=Line(tasks=server.line, plateau=None),
        )
        for number, server in enumerate(world.servers)
    )
    far = min(single, world.link_bytes_per_s / line)
    return Site(server=servers, policy=Rules(near_bandwidth=int(single), far_bandwidth=int(far)))


def _host(name: str, used: int) -> ClusterHost:
    return ClusterHost(name=name, up=True, slots=1, slots_used=used)


def _number(server: str) -> int:
    return int(server[1:])


def _copies(row: ListedJob) -> list[ListedJob]:
    """What runs has a row each; what waits of an array has one."""
    if row.state != "running":
        return [row]
    return [replace(row, count=1, hosts=(f"h{copy:05}",)) for copy in range(row.count)]


POLICIES: dict[str, Callable[[SiteModel, Jobs, int], Policy]] = {
    "FIFO": Fifo,
    "random": Anyhow,
    "near": partial(Near, caps=False),
    "near, caps": partial(Near, caps=True),
    "near, caps raised": partial(Near, caps=True, raises=True),
}
