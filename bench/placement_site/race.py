"""Jobs arrive, wait for a slot and, where there is a cap, for a licence, read, compute and end."""

from __future__ import annotations

import heapq
from collections import deque

from placement_site.device import Device
from placement_site.outcome import Outcome, outcome_of
from placement_site.policies import POLICIES, Placed, Policy, View
from placement_site.world import Jobs, World

_READ, _COMPUTED = 0, 1


def simulate(world: World, jobs: Jobs, policy: str, *, seed: int = 1) -> Outcome:
    """Every job until the last has ended, under the policy of that name."""
    return Race(world, jobs, POLICIES[policy](world, jobs, seed)).run(policy)


class Race:
    """One simulated time. Slots are pools: one beside each server, one for all hosts that are beside none."""

    def __init__(self, world: World, jobs: Jobs, policy: Policy) -> None:
        self.world, self.jobs, self.policy = world, jobs, policy
        self.devices = [Device(world) for _ in range(world.servers)]
        self.view = View(
            free=[world.near_slots] * world.servers + [world.far_slots],
            waiting=[0] * (world.servers + 1),
            reading=[0] * world.servers,
            held=[0] * world.servers,
        )
        self._queues: list[tuple[deque[int], deque[int]]] = [(deque(), deque()) for _ in range(world.servers + 1)]
        """Of each pool: jobs that take a licence, jobs that take none."""
        self._for_licence: list[deque[int]] = [deque() for _ in range(world.servers)]
        """Jobs for the far pool that wait for a licence of this server."""
        self._blocked: set[int] = set()
        """Servers of which a far job has a licence to get and lacks a slot."""
        self._placed: list[Placed | None] = [None] * len(jobs)
        self._events: list[tuple[float, int, int, int]] = []
        self.started_s = [0.0] * len(jobs)
        self.ended_s = [0.0] * len(jobs)
        self._most = 0

    def run(self, name: str) -> Outcome:
        """The whole time."""
        events, arrivals = self._events, self.jobs.arrival_s
        next_job, count = 0, len(self.jobs)
        while next_job < count or events:
            if next_job < count and (not events or arrivals[next_job] <= events[0][0]):
                self._arrive(arrivals[next_job], next_job)
                next_job += 1
                continue
            now_s, kind, which, version = heapq.heappop(events)
            if kind == _COMPUTED:
                self._end(now_s, which)
            elif version == self.devices[which].version:
                self._have_read(now_s, which)
        far = [placed is not None and placed.far for placed in self._placed]
        return outcome_of(name, self.world, self.jobs, self.started_s, self.ended_s, far, self._most)

    def _arrive(self, now_s: float, job: int) -> None:
        placed = self._placed[job] = self.policy.place(now_s, job, self.view)
        self.view.waiting[placed.pool] += 1
        if placed.licensed and placed.far:
            self._for_licence[placed.server].append(job)
        else:
            self._queues[placed.pool][not placed.licensed].append(job)
        self._start_in(now_s, placed.pool, placed.server)

    def _start_in(self, now_s: float, pool: int, server: int) -> None:
        """Starts what a slot of the pool and a licence of the server let start, first come first served."""
        view, cap = self.view, self.policy.cap
        licensed, plain = self._queues[pool]
        afar = self._for_licence[server]
        while view.free[pool] and licensed and view.held[pool] < cap:
            self._start(now_s, licensed.popleft())
        while view.free[-1] and afar and view.held[server] < cap:
            self._start(now_s, afar.popleft())
        while view.free[pool] and plain:
            self._start(now_s, plain.popleft())
        if afar and view.held[server] < cap:
            self._blocked.add(server)

    def _start(self, now_s: float, job: int) -> None:
        placed, view = self._placed[job], self.view
        assert placed is not None
        view.free[placed.pool] -= 1
        view.waiting[placed.pool] -= 1
        view.held[placed.server] += placed.licensed
        view.reading[placed.server] += 1
        self._most = max(self._most, view.reading[placed.server])
        self.started_s[job] = now_s
        device = self.devices[placed.server]
        device.add(now_s, job, self.jobs.bytes[job], placed.far)
        self._await_device(placed.server)

    def _await_device(self, server: int) -> None:
        device = self.devices[server]
        end_s = device.next_end_s()
        if end_s is not None:
            heapq.heappush(self._events, (end_s, _READ, server, device.version))

    def _have_read(self, now_s: float, server: int) -> None:
        for job in self.devices[server].take_ended(now_s):
            self.view.reading[server] -= 1
            heapq.heappush(self._events, (now_s + self.jobs.cpu_s[job], _COMPUTED, job, 0))
        self._await_device(server)

    def _end(self, now_s: float, job: int) -> None:
        placed, view = self._placed[job], self.view
        assert placed is not None
        self.ended_s[job] = now_s
        view.free[placed.pool] += 1
        view.held[placed.server] -= placed.licensed
        self.policy.ended(job, placed, now_s - self.started_s[job])
        self._start_in(now_s, placed.pool, placed.server)
        if placed.far:
            # A licence came back as well: those beside the server may have waited for it.
            self._start_in(now_s, placed.server, placed.server)
            while view.free[-1] and self._blocked:
                server = self._blocked.pop()
                self._start_in(now_s, self.world.servers, server)
