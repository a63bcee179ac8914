"""Accelerators and their readers, written from the meaning of the words alone, for the calibration: it shares no code
with what it is held against, and draws sizes and times of its own.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Loader:
    """What each accelerator has and does."""

    readers: int
    batch: int
    prefetch: int
    compute_s: float
    sample_bytes: float
    spread_bytes: float


def utilisation(
    loader: Loader,
    accelerators: int,
    rate: Callable[[int], float],
    steps: int = 200,
    jitter: float = 0.1,
    least: float = 0.0,
) -> float:
    """Share of the time after the first step in which accelerators compute. ``rate``: bytes a second that the device
    gives to so many reads at once; a read takes as long as is usual with those that are there when it begins, times a
    factor of mean 1 whose logarithm has the standard deviation ``jitter``. Where it is below ``least``, any share
    between the two."""
    chance = random.Random(accelerators)
    most = steps * loader.batch
    now = first = 0.0
    reads: list[tuple[float, int]] = []
    claimed, read, begun, busy = ([0] * accelerators for _ in range(4))
    begin = [0.0] * accelerators
    ended, barrier, computing = 0, float("inf"), 0
    everyone = range(accelerators)
    bytes_per_s = [0.0, *(rate(there) for there in range(1, accelerators * loader.readers + 1))]

    def fill(a: int) -> None:
        until = min(most, (begun[a] + loader.prefetch) * loader.batch)
        while busy[a] < loader.readers and claimed[a] < until:
            size = max(loader.sample_bytes / 16, chance.gauss(loader.sample_bytes, loader.spread_bytes))
            there = len(reads) + 1
            usual_s = size * there / bytes_per_s[there]
            heapq.heappush(reads, (now + usual_s * chance.lognormvariate(-(jitter**2) / 2, jitter), a))
            claimed[a] += 1
            busy[a] += 1

    for a in everyone:
        fill(a)
    while ended < steps:
        if barrier <= (reads[0][0] if reads else float("inf")):
            now, barrier, computing = barrier, float("inf"), 0
            ended += 1
            first = first or now
            may_begin: Iterable[int] = everyone
            # The share of the whole time is no larger than what it is if the other steps take none.
            if now > first and (reached := (steps - 1) * loader.compute_s / (now - first)) < least:
                return reached
        else:
            now, a = heapq.heappop(reads)
            read[a] += 1
            busy[a] -= 1
            fill(a)
            may_begin = (a,)
        for a in may_begin:
            if begun[a] == ended < steps and read[a] >= (ended + 1) * loader.batch:
                begun[a], begin[a] = ended + 1, now
                computing += 1
                fill(a)
        # All compute: that ends when the last one's does.
        if computing == accelerators:
            barrier = max(begin) + loader.compute_s
    return (steps - 1) * loader.compute_s / (now - first)


def most_fed(loader: Loader, objective: float, rate: Callable[[int], float], most: int, jitter: float) -> int:
    """The largest number of accelerators whose utilisation is the objective at least; 0 where one has less."""
    low, high = 0, most + 1
    while high - low > 1:
        middle = (low + high) // 2
        if utilisation(loader, middle, rate, jitter=jitter, least=objective) >= objective:
            low = middle
        else:
            high = middle
    return low
