"""Users of an inference server and the storage of its cache, written from the meaning of the words alone, for the
calibration: it shares no code with what it is held against, and draws times of its own.
"""

from __future__ import annotations

import heapq
import random
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

TRIALS = 41
"""Of which the median counts: an odd number."""


@dataclass(frozen=True)
class Conversations:
    """What each user does."""

    turns: int
    turn_bytes: float
    think_s: float


def p95_s(
    users: int, talk: Conversations, rate: Callable[[int], float], seconds: float, jitter: float, seed: int
) -> float:
    """The 95th percentile of the turns that are due in so many seconds, each from when it is due until it has read what
    its conversation had and written what it adds. ``rate``: bytes a second that the device moves for so many at once; a
    read or a write takes as long as is usual with those that are there when it begins, times a factor of mean 1 whose
    logarithm has the standard deviation ``jitter``."""
    chance = random.Random(f"{users} {seed}")
    due: list[list[tuple[float, int]]] = []
    for _ in range(users):
        at, turn, own = chance.uniform(0, talk.think_s), chance.randrange(talk.turns), []
        while at < seconds:
            own.append((at, turn))
            at += chance.uniform(1 / 3, 5 / 3) * talk.think_s
            turn = (turn + 1) % talk.turns
        due.append(own)
    times: list[float] = []
    there = 0
    events = [(own[0][0], user, "begins") for user, own in enumerate(due) if own]
    heapq.heapify(events)
    place = [0] * users
    while events:
        now, user, what = heapq.heappop(events)
        at, turn = due[user][place[user]]
        if what != "begins":
            there -= 1
        if what == "wrote":
            times.append(now - at)
            place[user] += 1
            if place[user] < len(due[user]):
                heapq.heappush(events, (max(now, due[user][place[user]][0]), user, "begins"))
            continue
        reads = what == "begins" and turn > 0
        there += 1
        usual_s = (turn if reads else 1) * talk.turn_bytes * there / rate(there)
        ends = now + usual_s * chance.lognormvariate(-(jitter**2) / 2, jitter)
        heapq.heappush(events, (ends, user, "read" if reads else "wrote"))
    times.sort()
    return times[-(-len(times) * 95 // 100) - 1]


def most_of(trials: Iterable[bool]) -> bool:
    """Whether more than half of ``TRIALS`` are true, which is known before the last one as a rule."""
    many = Counter[bool]()
    for one in trials:
        many[one] += 1
        if many[one] > TRIALS // 2:
            return one
    raise ValueError("too few trials, or an even number of them")


def most_served(
    talk: Conversations, objective_s: float, rate: Callable[[int], float], most: int, jitter: float, seconds: float
) -> int:
    """The largest number of users of which the median trial keeps the objective; 0 where one does not."""
    low, high = 0, most + 1
    while high - low > 1:
        middle = (low + high) // 2
        if most_of(p95_s(middle, talk, rate, seconds, jitter, seed) <= objective_s for seed in range(TRIALS)):
            low = middle
        else:
            high = middle
    return low
