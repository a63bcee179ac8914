"""What a policy made of the jobs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from placement_site.simulation import Race
from placement_site.site_model import MONTH_S

SLOWDOWNS = tuple(float(10 ** (step / 20)) for step in range(81))
"""Slowdowns at which the distribution is told: 1 to 10,000."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Figures of one race. Slowdown: from arrival to end ÷ what the job takes alone beside its data. Shares of time are
    of the month in which jobs arrive."""

    policy: str
    seed: int
    jobs: int
    makespan_s: float
    """From the month's begin to the last end."""
    mean_slowdown: float
    p95_slowdown: float
    mean_wait_s: float
    p95_wait_s: float
    above_line: float
    """Share of servers × time with more tasks than the server's load line."""
    twice_above_line: float
    """The same of twice the line."""
    most_over_line: float
    """Most tasks on a server ÷ its line."""
    network_bytes: float
    """Read by jobs that ran on hosts not beside the server."""
    near_share: float
    """Of the bytes, those read beside the server."""
    hosts_in_use: float
    """Share of hosts × time."""
    stalled: float
    """Share of hosts × time in use that jobs spent beyond what they take alone: storage that was too slow."""
    single_caps: float | None
    """Of the arrays that were capped when they came, those of which one job was to run at once; None: none was."""
    run_s: float
    """What the simulation took of this machine's time."""
    above_by_server: tuple[float, ...]
    """Share of time above the line."""
    slower_share: tuple[float, ...]
    """Share of jobs whose slowdown is above each of ``SLOWDOWNS``."""


def outcome_of(race: Race, policy: str, seed: int, run_s: float) -> Outcome:
    """Computes the outcome from each job's start and end."""
    jobs, watch, servers = race.jobs, race.watch, len(race.world.servers)
    of = np.asarray(jobs.of)
    arrived = np.asarray([one.at_s for one in jobs.submissions])[of]
    reads = np.asarray([placed.server for placed in race.state.placed if placed is not None])[of]
    started, ended, alone, size = (
        np.asarray(each) for each in (race.started_s, race.ended_s, jobs.alone_s, jobs.bytes)
    )
    wait, slowdown = started - arrived, (ended - arrived) / alone
    far = np.asarray(race.pool) != reads
    ordered = np.sort(slowdown)
    month = servers * MONTH_S
    used_s = np.minimum(ended, MONTH_S) - np.minimum(started, MONTH_S)
    return Outcome(
        policy=policy,
        seed=seed,
        jobs=len(jobs),
        makespan_s=float(ended.max()),
        mean_slowdown=float(slowdown.mean()),
        p95_slowdown=float(np.quantile(slowdown, 0.95)),
        mean_wait_s=float(wait.mean()),
        p95_wait_s=float(np.quantile(wait, 0.95)),
        above_line=sum(watch.above_s) / month,
        twice_above_line=sum(watch.twice_above_s) / month,
        most_over_line=max(most / server.line for most, server in zip(watch.most, race.world.servers, strict=True)),
        network_bytes=float(size[far].sum()),
        near_share=float(size[~far].sum() / size.sum()),
        hosts_in_use=float(used_s.sum() / (race.world.hosts * MONTH_S)),
        stalled=float(1 - alone.sum() / (ended - started).sum()),
        single_caps=_single_caps(race),
        run_s=run_s,
        above_by_server=tuple(round(above / MONTH_S, 4) for above in watch.above_s),
        slower_share=tuple(
            round(float(1 - np.searchsorted(ordered, at, side="right") / len(ordered)), 6) for at in SLOWDOWNS
        ),
    )


def _single_caps(race: Race) -> float | None:
    caps = [
        placed.cap
        for placed, submission in zip(race.state.placed, race.jobs.submissions, strict=True)
        if placed is not None and placed.cap is not None and placed.cap < submission.count
    ]
    return caps.count(1) / len(caps) if caps else None
