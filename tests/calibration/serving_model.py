"""Users of an inference server and the storage of its cache, written from the meaning of the words alone, for the
calibration: it shares no code with what it is held against, and draws times of its own.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable
from dataclasses import dataclass

TRIALS = 41
"""Of each number of users; odd, so that one is the median."""


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
    there, bytes_per_s = 0, [0.0, *(rate(there) for there in range(1, users + 1))]
    events = [(own[0][0], user, "begins") for user, own in enumerate(due) if own]
    heapq.heapify(events)
    place = [0] * users
    while events:
        now, user, what = events[0]
        at, turn = due[user][place[user]]
        if what != "begins":
            there -= 1
        if what == "wrote":
            times.append(now - at)
            place[user] += 1
            if place[user] < len(due[user]):
                heapq.heapreplace(events, (max(now, due[user][place[user]][0]), user, "begins"))
            else:
                heapq.heappop(events)
            continue
        reads = what == "begins" and turn > 0
        there += 1
        usual_s = (turn if reads else 1) * talk.turn_bytes * there / bytes_per_s[there]
        ends = now + usual_s * chance.lognormvariate(-(jitter**2) / 2, jitter)
        heapq.heapreplace(events, (ends, user, "read" if reads else "wrote"))
    times.sort()
    return times[-(-len(times) * 95 // 100) - 1]


def keeps(
    users: int, talk: Conversations, objective_s: float, rate: Callable[[int], float], jitter: float, seconds: float
) -> bool:
    """Whether the median trial keeps the objective: more than half of all do."""
    kept = 0
    for seed in range(TRIALS):
        kept += p95_s(users, talk, rate, seconds, jitter, seed) <= objective_s
        if max(kept, seed + 1 - kept) > TRIALS // 2:
            break
    return kept > TRIALS // 2


def most_served(
    talk: Conversations, objective_s: float, rate: Callable[[int], float], most: int, jitter: float, seconds: float
) -> int:
    """The largest number of users of which the median trial keeps the objective; 0 where one does not."""
    low, high = 0, most + 1
    while high - low > 1:
        middle = (low + high) // 2
        if keeps(middle, talk, objective_s, rate, jitter, seconds):
            low = middle
        else:
            high = middle
    return low
