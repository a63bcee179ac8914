"""What a policy made of the jobs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from placement_site.world import Jobs, World


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Figures of one simulated race. Slowdown: from arrival to end ÷ what the job takes alone beside its data."""

    policy: str
    jobs: int
    makespan_s: float
    mean_wait_s: float
    p95_wait_s: float
    mean_slowdown: float
    p95_slowdown: float
    near_share: float
    """Jobs that ran beside their data."""
    most_on_server: int
    """Most tasks that read from one server at once."""


def outcome_of(
    policy: str,
    world: World,
    jobs: Jobs,
    started_s: list[float],
    ended_s: list[float],
    far: list[bool],
    most_on_server: int,
) -> Outcome:
    """From each job's start and end."""
    arrival = np.asarray(jobs.arrival_s)
    alone = np.asarray(jobs.bytes) / world.single_bytes_per_s + np.asarray(jobs.cpu_s)
    wait = np.asarray(started_s) - arrival
    slowdown = (np.asarray(ended_s) - arrival) / alone
    return Outcome(
        policy=policy,
        jobs=len(jobs),
        makespan_s=float(max(ended_s) - arrival[0]),
        mean_wait_s=float(wait.mean()),
        p95_wait_s=float(np.quantile(wait, 0.95)),
        mean_slowdown=float(slowdown.mean()),
        p95_slowdown=float(np.quantile(slowdown, 0.95)),
        near_share=1.0 - sum(far) / len(far),
        most_on_server=most_on_server,
    )
