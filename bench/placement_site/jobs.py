"""The jobs of a month: arrays and single jobs of many users, by day and by night."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from placement_site.site_model import DAY_S, MONTH_S, SiteModel

_Array = Any
"""One of numpy's."""
COMPUTE, SINGLE, REPLICATED, UNPROFILED = 0.4, 0.25, 1 / 3, 0.5
"""Shares: of arrays that hardly read; of submissions that are one job; of arrays whose data lies on two servers; of
arrays that read of which nobody measured how much."""
LARGEST = 500
USERS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """An array of jobs, or a single one."""

    at_s: float
    first: int
    """Number of its first job; the others follow."""
    count: int
    array: bool
    holders: tuple[int, ...]
    """Servers that have its data, the one that is named first before."""
    user: int
    io_share: float
    """Share of a job's time alone in which it waits for storage, the mean of its jobs."""
    profiled: bool
    """The user says it, as ``tonnage submit --profile`` does; else a job counts as one that only waits for storage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Jobs:
    """Submissions in the order of their arrival. Of jobs lists, for a loop over them: each computes ``before_s``, reads
    its bytes, and computes ``after_s``."""

    submissions: tuple[Submission, ...]
    of: list[int]
    """Number of the submission."""
    bytes: list[float]
    before_s: list[float]
    after_s: list[float]
    alone_s: list[float]
    """What it takes beside its first server with nobody else there."""

    def __len__(self) -> int:
        return len(self.of)


def draw_jobs(world: SiteModel, count: int, *, seed: int, load: float = 0.4, busy: float = 0.6) -> Jobs:
    """``count`` jobs of a month, from a recorded seed.

    ``load``: share of all servers' plateaus, over the month, that the bytes ask for. ``busy``: share of all hosts' time
    that the jobs take if nobody disturbs them. A submission's data lies on a server by its plateau and by how much it
    is liked (lognormal, sigma 0.3). Jobs that compute fill what those that read leave of the hosts.
    """
    chance = np.random.default_rng([seed, 2])
    sizes = _sizes(chance, count)
    number = len(sizes)
    of = np.repeat(np.arange(number), sizes)
    first, second = _holders(chance, world, number)
    computes = chance.random(number) < COMPUTE
    # What is chosen because nobody measured how it is spread: what reads waits 10 to 95 % of its time (45 % of iobsub's
    # gzip over NFS); what computes reads some 20 GB.
    share = 0.1 + 0.85 * chance.beta(1.5, 2.0, number)
    plateaus = np.array([server.plateau_bytes_per_s for server in world.servers])
    alone_rate = np.array([server.single_bytes_per_s for server in world.servers])[first][of]
    scatter = chance.lognormal(-0.045, 0.3, count)
    scale = chance.lognormal(-0.32, 0.8, number)[of] * scatter
    size = np.where(computes[of], 2e10 * scale, 0.0)
    reading = np.where(computes[of], 0.0, scale * plateaus[first][of])
    size += reading * ((load * world.plateau_bytes_per_s * MONTH_S - size.sum()) / reading.sum())
    waits_s = size / alone_rate
    cpu_s = np.where(computes[of], 0.0, waits_s * (1 / share[of] - 1))
    working = np.where(computes[of], chance.lognormal(-0.32, 0.8, number)[of] * scatter, 0.0)
    left_s = busy * world.hosts * MONTH_S - float((waits_s + cpu_s).sum())
    if left_s <= 0 or size.min() <= 0:
        raise ValueError("no such jobs fill servers and hosts so far; hint: other shares of load and busy")
    cpu_s += working * (left_s / working.sum())
    share = np.bincount(of, waits_s) / np.bincount(of, waits_s + cpu_s)
    before = chance.random(count)
    at_s = np.sort(_arrivals(chance, number))
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    unprofiled = (chance.random(number) < UNPROFILED) & ~computes
    users = chance.integers(0, USERS, number)
    submissions = tuple(
        Submission(
            at_s=at,
            first=start,
            count=jobs,
            array=jobs > 1,
            holders=(one,) if one == two else (one, two),
            user=user,
            io_share=round(waits, 3),
            profiled=not unknown,
        )
        for at, start, jobs, one, two, user, waits, unknown in zip(
            *(each.tolist() for each in (at_s, starts, sizes, first, second, users, share, unprofiled)), strict=True
        )
    )
    return Jobs(
        submissions=submissions,
        of=of.tolist(),
        bytes=size.tolist(),
        before_s=(before * cpu_s).tolist(),
        after_s=((1 - before) * cpu_s).tolist(),
        alone_s=(size / alone_rate + cpu_s).tolist(),
    )


def _sizes(chance: np.random.Generator, count: int) -> _Array:
    """Jobs of each submission, together exactly ``count``."""
    most = max(1, count // 4)
    sizes = np.clip(chance.lognormal(2.7, 1.2, most).astype(int), 2, LARGEST)
    sizes = np.where(chance.random(most) < SINGLE, 1, sizes)
    number = int(np.searchsorted(np.cumsum(sizes), count)) + 1
    sizes = sizes[:number]
    sizes[-1] -= int(sizes.sum()) - count
    return sizes


def _holders(chance: np.random.Generator, world: SiteModel, number: int) -> tuple[_Array, _Array]:
    """The first server of each submission, and a second one, which for most is the same."""
    weights = np.array([server.plateau_bytes_per_s for server in world.servers])
    weights = weights * chance.lognormal(0.0, 0.3, len(weights))
    first, other = chance.choice(len(weights), size=(2, number), p=weights / weights.sum())
    return first, np.where(chance.random(number) < REPLICATED, other, first)


def _arrivals(chance: np.random.Generator, number: int) -> _Array:
    """Times in the month: five times as many by day as by night, and on the last two days of a week 0.4 times."""
    edges = np.arange(0.0, MONTH_S + 1, DAY_S / 48)
    middle = (edges[:-1] + edges[1:]) / 2
    rate = 1 + np.sin(2 * np.pi * (middle / DAY_S - 0.375)) * 2 / 3
    rate = rate * np.where(middle // DAY_S % 7 >= 5, 0.4, 1.0)
    reached = np.concatenate([[0.0], np.cumsum(rate)])
    return np.interp(chance.random(number) * reached[-1], reached, edges)
