"""Where a job goes and what bounds it: the policies that are compared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from tonnage.placement.choice import Candidate, Demand, decide
from tonnage.placement.site import Policy as Rules
from tonnage.placement.where import Located

from placement_site.world import Jobs, World

_UNBOUNDED = 1 << 40
_CPU_BOUND = 0.1


@dataclass(slots=True)
class View:
    """What a scheduler knows at a moment, by pool; the last pool is that of the hosts beside no server."""

    free: list[int]
    """Slots."""
    waiting: list[int]
    """Jobs."""
    reading: list[int]
    """By server: tasks that read from it."""
    held: list[int]
    """By server: licences."""


@dataclass(frozen=True, slots=True)
class Placed:
    """What a policy says of a job."""

    pool: int
    server: int
    """From which it reads."""
    far: bool
    licensed: bool
    """It holds one of the server's licences while it runs."""


class Policy(Protocol):
    """One policy in one race."""

    cap: int
    """Licences of each server."""

    def place(self, now_s: float, job: int, view: View) -> Placed:
        """Where the job goes; once, when it arrives."""

    def ended(self, job: int, placed: Placed, ran_s: float) -> None:
        """The job ended after so long on its slot."""


class Anywhere:
    """A scheduler that does not know about data: any free host, and the servers' links carry all."""

    cap = _UNBOUNDED

    def __init__(self, world: World, jobs: Jobs, seed: int) -> None:  # noqa: ARG002
        self._far, self._server = world.servers, jobs.server

    def place(self, now_s: float, job: int, view: View) -> Placed:  # noqa: ARG002
        return Placed(self._far, self._server[job], True, False)

    def ended(self, job: int, placed: Placed, ran_s: float) -> None:
        """Learns nothing."""


class Pin:
    """Beside the server that holds the data, whoever waits there."""

    cap = _UNBOUNDED

    def __init__(self, world: World, jobs: Jobs, seed: int) -> None:  # noqa: ARG002
        self._server = jobs.server

    def place(self, now_s: float, job: int, view: View) -> Placed:  # noqa: ARG002
        return Placed(self._server[job], self._server[job], False, False)

    def ended(self, job: int, placed: Placed, ran_s: float) -> None:
        """Learns nothing."""


class PinCapped(Pin):
    """Beside the data, and of the jobs that wait for storage no more at once than the load line carries."""

    def __init__(self, world: World, jobs: Jobs, seed: int) -> None:
        super().__init__(world, jobs, seed)
        self._world, self._jobs = world, jobs
        # The published rule: copies whose waiting for storage fills the line.
        shares = [share for job in range(min(len(jobs), 10_000)) if (share := jobs.io_share(job, world)) >= _CPU_BOUND]
        self.cap = max(1, round(world.line * len(shares) / sum(shares))) if shares else _UNBOUNDED

    def place(self, now_s: float, job: int, view: View) -> Placed:  # noqa: ARG002
        licensed = self._jobs.io_share(job, self._world) >= _CPU_BOUND
        return Placed(self._server[job], self._server[job], False, licensed)


class ByScore(PinCapped):
    """As ``tonnage submit`` decides: of the servers that hold the data the one with the best score, at most as many as
    its load line carries, and elsewhere where waiting beside it takes too long."""

    def __init__(self, world: World, jobs: Jobs, seed: int) -> None:
        super().__init__(world, jobs, seed)
        self._second = jobs.second
        self._rules = Rules()
        self._slot_s = [0.0] * world.servers
        """By server: how long a job there keeps its slot, a moving mean."""
        near = {"near": True, "bandwidth_bytes_per_s": world.single_bytes_per_s, "latency_s": 0.0}
        far = {"near": False, "bandwidth_bytes_per_s": world.link_bytes_per_s / world.line}
        self._near = [self._candidate(f"near{server}", server, **near) for server in range(world.servers)]
        self._far = [
            self._candidate("elsewhere", server, **far, latency_s=world.latency_s) for server in range(world.servers)
        ]
        self._located = [
            Located(path="/", mount=None, target="", servers=(str(server),)) for server in range(world.servers)
        ]

    def _candidate(self, host: str, server: int, **about: Any) -> Candidate:
        return Candidate(host=host, server=str(server), slots=None, line=float(self._world.line), **about)

    def place(self, now_s: float, job: int, view: View) -> Placed:  # noqa: ARG002
        share = self._jobs.io_share(job, self._world)
        licensed = share >= _CPU_BOUND
        demand = Demand(bytes=int(self._jobs.bytes[job]), operations=0, io_share=share)
        holders = {self._server[job], self._second[job]}
        candidates = [self._seen(pool, server, licensed, view) for server in holders for pool in (server, -1)]
        decision = decide(demand, candidates, located=self._located[self._server[job]], policy=self._rules)
        server = self._server[job] if decision.server is None else int(decision.server)
        far = decision.bind != "pin"
        return Placed(self._world.servers if far else server, server, far, licensed)

    def _seen(self, pool: int, server: int, licensed: bool, view: View) -> Candidate:
        """The candidate as the scheduler would tell of it now: a licence that is out is a slot in use."""
        found = self._far[server] if pool < 0 else self._near[server]
        room = self._world.far_slots if pool < 0 else self._world.near_slots
        found.slots, found.busy = room, room - view.free[pool]
        if licensed and self.cap - view.held[server] < view.free[pool]:
            found.slots, found.busy = min(room, self.cap), view.held[server]
        found.waiting = view.waiting[server] + (view.waiting[pool] if pool < 0 else 0)
        found.on_server = float(view.reading[server])
        found.slot_s = self._slot_s[server] or None
        return found

    def ended(self, job: int, placed: Placed, ran_s: float) -> None:  # noqa: ARG002
        known = self._slot_s[placed.server]
        self._slot_s[placed.server] = 0.9 * known + 0.1 * ran_s if known else ran_s


POLICIES: dict[str, Callable[[World, Jobs, int], Policy]] = {
    "scheduler default": Anywhere,
    "pin": Pin,
    "pin + cap": PinCapped,
    "pin + cap + load adjust": ByScore,
}
