"""The site of a simulation, and the jobs that come to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Hosts and file servers. All servers are alike; how much each is wanted is not."""

    servers: int = 500
    hosts: int = 10_000
    """Of all; ``beside`` of them are beside each server."""
    beside: int = 4
    slots: int = 16
    """Of a host."""
    single_bytes_per_s: float = 250e6
    """Of one task on the server's device."""
    line: int = 8
    """Tasks that reach the device's plateau, which is ``line × single``."""
    crowding: float = 0.01
    """How much a device loses beyond its line: throughput = plateau ÷ (1 + crowding × (n ÷ line − 1))."""
    link_bytes_per_s: float = 1.25e9
    """Of a server's network, which all jobs that run far from it share."""
    latency_s: float = 0.0005
    """Of one operation from afar."""

    def __post_init__(self) -> None:
        if self.servers * self.beside >= self.hosts:
            raise ValueError("more hosts are beside servers than there are hosts")

    @property
    def near_slots(self) -> int:
        """Slots beside one server."""
        return self.beside * self.slots

    @property
    def far_slots(self) -> int:
        """Slots that are beside no server."""
        return (self.hosts - self.servers * self.beside) * self.slots

    def device_bytes_per_s(self, tasks: int) -> float:
        """What a server's device gives to so many tasks together."""
        if tasks <= self.line:
            return tasks * self.single_bytes_per_s
        return self.line * self.single_bytes_per_s / (1 + self.crowding * (tasks / self.line - 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Jobs:
    """Jobs in the order of their arrival; each reads its bytes first, then computes. Lists, for a loop over them."""

    arrival_s: list[float]
    server: list[int]
    """The server that holds its data."""
    second: list[int]
    """Another one that holds it too, or the same."""
    bytes: list[float]
    cpu_s: list[float]

    def __len__(self) -> int:
        return len(self.arrival_s)

    def alone_s(self, job: int, world: World) -> float:
        """What the job takes beside its data with nobody else there."""
        return self.bytes[job] / world.single_bytes_per_s + self.cpu_s[job]

    def io_share(self, job: int, world: World) -> float:
        """Share of that time in which it waits for storage."""
        return self.bytes[job] / world.single_bytes_per_s / self.alone_s(job, world)


def draw_jobs(world: World, count: int, *, seed: int, load: float = 0.8, cpu_bound: float = 0.3) -> Jobs:
    """``count`` jobs from a recorded seed.

    Arrivals are bursts (a user submits some dozens at once) at random times. Servers are wanted unequally (the weights
    are lognormal); a third of the data lies on two servers. ``load``: share of all devices' plateaus that the bytes
    would fill if they were spread evenly; ``cpu_bound``: share of jobs that hardly read.
    """
    chance = np.random.default_rng(seed)
    weights = chance.lognormal(0.0, 0.7, world.servers)
    sizes = np.maximum(1, chance.lognormal(3.0, 1.0, max(1, count // 10)).astype(int))
    bursts = int(np.searchsorted(np.cumsum(sizes), count)) + 1
    owner = np.repeat(np.arange(bursts), sizes[:bursts])[:count]
    while len(owner) < count:
        owner = np.concatenate([owner, owner])[:count]
    holder = chance.choice(world.servers, size=bursts, p=weights / weights.sum())
    copy = np.where(chance.random(bursts) < 1 / 3, chance.integers(0, world.servers, bursts), holder)
    computes = chance.random(bursts) < cpu_bound
    size = np.where(computes, 50e6, 8e9)[owner] * chance.lognormal(-0.125, 0.5, count)
    cpu = np.where(computes, 120.0, 15.0)[owner] * chance.lognormal(-0.125, 0.5, count)
    span = float(size.sum()) / (load * world.servers * world.line * world.single_bytes_per_s)
    begins = np.sort(chance.random(bursts) * span)
    arrival = begins[owner] + chance.random(count) * 2.0
    order = np.argsort(arrival, kind="stable")

    def listed(values: Any) -> list[Any]:
        found: list[Any] = values[order].tolist()
        return found

    return Jobs(
        arrival_s=listed(arrival),
        server=listed(holder[owner]),
        second=listed(copy[owner]),
        bytes=listed(size),
        cpu_s=listed(cpu),
    )
