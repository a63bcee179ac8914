"""Submissions arrive, their jobs wait for a host and for their turn below a cap, compute, read, compute and end."""

from __future__ import annotations

import heapq
from time import perf_counter

from placement_site.device import Device
from placement_site.jobs import Jobs
from placement_site.overload import Watch
from placement_site.policies import Policy
from placement_site.scheduler_state import State
from placement_site.site_model import SiteModel

_READY, _READ, _COMPUTED = 0, 1, 2
"""Events: a job begins to read; a server's next job has its bytes; a job ends."""


class Race:
    """One simulated month and what is left over after it. First come, first served, as far as caps let."""

    def __init__(self, world: SiteModel, jobs: Jobs, policy: Policy) -> None:
        self.world, self.jobs, self.policy = world, jobs, policy
        self.state = State(world, jobs)
        self.watch = Watch(world)
        self.started_s = [0.0] * len(jobs)
        self.ended_s = [0.0] * len(jobs)
        self.pool = [0] * len(jobs)
        """Whose hosts each job ran on."""
        self.decided_s: list[float] = []
        """What each placement took of this machine's time."""
        self._devices = [Device(server, world.link_bytes_per_s) for server in world.servers]
        self._events: list[tuple[float, int, int, int]] = []
        pools = len(world.servers) + 1
        self._own: list[list[int]] = [[] for _ in range(pools)]
        """By pool, submissions that must have its hosts and may start a job, the earliest first."""
        self._anywhere: list[int] = []
        """The same of those that may have any."""
        self._queued = [False] * len(jobs.submissions)
        self.arrived = 0
        """Submissions that have."""

    def run(self, until_s: float = float("inf")) -> None:
        """Runs all events up to a time."""
        events, submissions = self._events, self.jobs.submissions
        while self.arrived < len(submissions) or events:
            arrives_s = submissions[self.arrived].at_s if self.arrived < len(submissions) else float("inf")
            if min(arrives_s, events[0][0] if events else arrives_s) > until_s:
                return
            if not events or arrives_s <= events[0][0]:
                self._arrive(arrives_s, self.arrived)
                self.arrived += 1
                continue
            now_s, kind, which, version = heapq.heappop(events)
            if kind == _READY:
                self._begin_to_read(now_s, which)
            elif kind == _COMPUTED:
                self._end(now_s, which)
            elif version == self._devices[which].version:
                self._have_read(now_s, which)
        self.watch.close(self.state.reading)

    def _arrive(self, now_s: float, number: int) -> None:
        for one, cap in self.policy.before(now_s, number, self.state):
            self.state.caps[one] = cap
            self._wake(now_s, one)
        began_s = perf_counter()
        placed = self.state.placed[number] = self.policy.assign(now_s, number, self.state)
        self.decided_s.append(perf_counter() - began_s)
        self.state.caps[number] = placed.cap
        self.state.alive[placed.server][number] = None
        self._wake(now_s, number)

    def _wake(self, now_s: float, number: int) -> None:
        """A job of it may be able to start that was not."""
        placed = self.state.placed[number]
        assert placed is not None
        self._queue(number)
        if placed.pool is not None:
            self._fill(now_s, placed.pool)
        else:
            self._fill_anywhere(now_s)

    def _queue(self, number: int) -> None:
        placed = self.state.placed[number]
        assert placed is not None
        if not self._queued[number] and self.state.may_start(number):
            self._queued[number] = True
            heapq.heappush(self._anywhere if placed.pool is None else self._own[placed.pool], number)

    def _fill(self, now_s: float, pool: int) -> None:
        """The pool's free hosts go to the earliest of those that must have them and those that may have any."""
        own, anywhere, counts = self._own[pool], self._anywhere, self.state.free.counts
        while counts[pool] and (own or anywhere):
            heap = own if own and not (anywhere and anywhere[0] < own[0]) else anywhere
            self._start_first(now_s, heap, pool)

    def _fill_anywhere(self, now_s: float) -> None:
        free = self.state.free
        while free.total and self._anywhere:
            self._start_first(now_s, self._anywhere, self.policy.pick(free))

    def _start_first(self, now_s: float, heap: list[int], pool: int) -> None:
        number = heap[0]
        if self.state.may_start(number):
            self._start(now_s, number, pool)
        if not self.state.may_start(number):
            heapq.heappop(heap)
            self._queued[number] = False

    def _start(self, now_s: float, number: int, pool: int) -> None:
        state = self.state
        job = self.jobs.submissions[number].first + state.begun[number]
        state.begun[number] += 1
        state.running[number] += 1
        state.started_sum_s[number] += now_s
        state.free.take(pool)
        self.started_s[job], self.pool[job] = now_s, pool
        heapq.heappush(self._events, (now_s + self.jobs.before_s[job], _READY, job, 0))

    def _begin_to_read(self, now_s: float, job: int) -> None:
        placed = self.state.placed[self.jobs.of[job]]
        assert placed is not None
        server = placed.server
        self.watch.changes(now_s, server, self.state.reading[server], 1)
        self.state.reading[server] += 1
        self._devices[server].add(now_s, job, self.jobs.bytes[job], self.pool[job] != server)
        self._await_device(server)

    def _await_device(self, server: int) -> None:
        device = self._devices[server]
        end_s = device.next_end_s()
        if end_s is not None:
            heapq.heappush(self._events, (end_s, _READ, server, device.version))

    def _have_read(self, now_s: float, server: int) -> None:
        for job in self._devices[server].take_ended(now_s):
            self.watch.changes(now_s, server, self.state.reading[server], -1)
            self.state.reading[server] -= 1
            heapq.heappush(self._events, (now_s + self.jobs.after_s[job], _COMPUTED, job, 0))
        self._await_device(server)

    def _end(self, now_s: float, job: int) -> None:
        state, number, pool = self.state, self.jobs.of[job], self.pool[job]
        placed = state.placed[number]
        assert placed is not None
        self.ended_s[job] = now_s
        state.running[number] -= 1
        state.started_sum_s[number] -= self.started_s[job]
        state.free.give(pool)
        self._queue(number)
        self._fill(now_s, pool)
        if self._anywhere:
            self._fill_anywhere(now_s)
        if not state.running[number] and state.begun[number] == self.jobs.submissions[number].count:
            del state.alive[placed.server][number]
            for one, cap in self.policy.raised(now_s, placed.server, state):
                state.caps[one] = cap
                self._wake(now_s, one)
