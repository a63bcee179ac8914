"""Accelerators and their readers, written from the meaning of the words alone, for the calibration: it shares no code
with what it is held against, and draws sizes and times of its own.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable
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
    loader: Loader, accelerators: int, rate: Callable[[int], float], steps: int = 200, jitter: float = 0.1
) -> float:
    """Share of the time after the first step in which accelerators compute. ``rate``: bytes a second that the device
    gives to so many reads at once; a read takes as long as is usual with those that are there when it begins, times a
    factor of mean 1 whose logarithm has the standard deviation ``jitter``."""
    chance = random.Random(accelerators)
    most = steps * loader.batch
    now = first = 0.0
    reads: list[tuple[float, int]] = []
    claimed, read, begun, busy = ([0] * accelerators for _ in range(4))
    begin = [0.0] * accelerators
    ended, still, barrier = 0, accelerators, float("inf")

    def fill(a: int) -> None:
        while busy[a] < loader.readers and claimed[a] < min(most, (begun[a] + loader.prefetch) * loader.batch):
            size = max(loader.sample_bytes / 16, chance.gauss(loader.sample_bytes, loader.spread_bytes))
            there = len(reads) + 1
            usual_s = size * there / rate(there)
            heapq.heappush(reads, (now + usual_s * chance.lognormvariate(-(jitter**2) / 2, jitter), a))
            claimed[a] += 1
            busy[a] += 1

    def compute(a: int) -> None:
        nonlocal still, barrier
        if begun[a] == ended < steps and read[a] >= (ended + 1) * loader.batch:
            begun[a], begin[a] = ended + 1, now
            still -= 1
            fill(a)
            # All compute: that ends when the last one's does.
            if not still:
                barrier = max(begin) + loader.compute_s

    for a in range(accelerators):
        fill(a)
    while ended < steps:
        if barrier <= (reads[0][0] if reads else float("inf")):
            now, barrier = barrier, float("inf")
            ended, still = ended + 1, accelerators
            first = first or now
            for a in range(accelerators):
                compute(a)
        else:
            now, a = heapq.heappop(reads)
            read[a] += 1
            busy[a] -= 1
            fill(a)
            compute(a)
    return (steps - 1) * loader.compute_s / (now - first)


def most_fed(loader: Loader, objective: float, rate: Callable[[int], float], most: int, jitter: float) -> int:
    """The largest number of accelerators whose utilisation is the objective at least; 0 where one has less."""
    low, high = 0, most + 1
    while high - low > 1:
        middle = (low + high) // 2
        if utilisation(loader, middle, rate, jitter=jitter) >= objective:
            low = middle
        else:
            high = middle
    return low
