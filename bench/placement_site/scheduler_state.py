"""What a scheduler knows at a moment: free hosts, and how far each submission is."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from random import Random

from placement_site.jobs import Jobs
from placement_site.site_model import SiteModel


class Free:
    """Free hosts, counted by pool: pool ``s`` is the hosts beside server ``s``, the last one those beside none.

    The scheduler's own order has those beside none first: what needs no server's host leaves them to others.
    """

    def __init__(self, world: SiteModel) -> None:
        servers = len(world.servers)
        self.sizes = [*[world.beside] * servers, world.hosts_beside_none]
        self.counts = list(self.sizes)
        self.total = world.hosts
        self._order = [(pool + 1) % (servers + 1) for pool in range(servers + 1)]
        """Of each pool, its place in that order."""
        self._pool_at = sorted(range(servers + 1), key=self._order.__getitem__)
        self._ready = list(range(servers + 1))
        """Places of pools that may have a free host; those without are dropped when met."""
        self._listed = [True] * (servers + 1)

    def take(self, pool: int) -> None:
        self.counts[pool] -= 1
        self.total -= 1

    def give(self, pool: int) -> None:
        self.counts[pool] += 1
        self.total += 1
        if not self._listed[pool]:
            self._listed[pool] = True
            heapq.heappush(self._ready, self._order[pool])

    def first(self) -> int:
        """The pool of the first free host; there is one."""
        while True:
            pool = self._pool_at[self._ready[0]]
            if self.counts[pool]:
                return pool
            heapq.heappop(self._ready)
            self._listed[pool] = False

    def anywhere(self, chance: Random) -> int:
        """The pool of a free host, each host as likely as any other; there is one."""
        left = chance.randrange(self.total)
        for pool, count in enumerate(self.counts):
            left -= count
            if left < 0:
                return pool
        raise AssertionError("the total is not the sum")


@dataclass(frozen=True, slots=True)
class Placed:
    """What a policy says of a submission."""

    pool: int | None
    """Whose hosts it must have; None: any host."""
    server: int
    """From which it reads."""
    cap: int | None = None
    """Jobs of it at once; None: no limit."""


class State:
    """Submissions under way, as the scheduler and the policies see them."""

    def __init__(self, world: SiteModel, jobs: Jobs) -> None:
        number = len(jobs.submissions)
        self.world, self.jobs = world, jobs
        self.free = Free(world)
        self.placed: list[Placed | None] = [None] * number
        self.begun = [0] * number
        """Jobs of it that began."""
        self.running = [0] * number
        self.started_sum_s = [0.0] * number
        """Starts of those that run, added up."""
        self.alive: list[dict[int, None]] = [{} for _ in world.servers]
        """By server, submissions that read from it and have not ended, in the order of their arrival."""
        self.reading = [0] * len(world.servers)
        """By server: tasks that read from it at the moment."""
        self.caps: list[int | None] = [None] * number
        """Jobs of it at once, as the limit is now."""

    def may_start(self, number: int) -> bool:
        """Whether a job is left that its cap lets begin."""
        cap = self.caps[number]
        return self.begun[number] < self.jobs.submissions[number].count and (cap is None or self.running[number] < cap)
