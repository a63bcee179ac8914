"""What a decision takes at the size of the site: the functions of ``tonnage submit``, with all that it would know.

Of a race that has come to an afternoon: every host, a row for each job that runs and for each array that waits, and one
ledger that has all of them, as a gateway's account has.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import perf_counter

from tonnage.cluster.scheduler import ClusterHost
from tonnage.placement.choice import Decision
from tonnage.placement.cluster_snapshot import ClusterSnapshot as Known
from tonnage.placement.scheduler_lists import ListedJob, Lists
from tonnage.placement.submit import uncollected

from placement_site.jobs import Submission
from placement_site.policies import Near
from placement_site.simulation import Race
from placement_site.site_model import DAY_S

ASKED_AT_S = 25 * DAY_S + 15 * 3600.0
"""Three in the afternoon of a working day late in the month."""
_AGE_NS = 3600 * 10**9


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """Seconds of each decision, and what it was made from."""

    hosts: int
    servers: int
    listed: int
    """Rows in the scheduler's list of jobs."""
    running: int
    """Of them jobs that run."""
    ledger: int
    """Submissions in the ledger that wait or run."""
    decided_s: tuple[float, ...]
    read_s: tuple[float, ...]
    """Before it, in a burst: the scheduler's two lists, read from where they are kept."""
    load: float
    """Load average of this machine then."""


class Desk:
    """A scheduler that has its lists ready."""

    name = "desk"

    def __init__(self, hosts: Sequence[ClusterHost], jobs: Sequence[ListedJob]) -> None:
        self._hosts, self._jobs = hosts, jobs

    def hosts(self) -> Sequence[ClusterHost]:
        return self._hosts

    def jobs(self) -> Sequence[ListedJob]:
        return self._jobs


def timed(race: Race, policy: Near, *, times: int) -> Timed:
    """Times ``times`` decisions on the submissions that come next."""
    coming = race.jobs.submissions[race.arrived :][:times]
    facts = policy.all_facts(ASKED_AT_S, coming[0], race.state)
    taken = []
    for submission in coming:
        _, spent_s = decided_at_size(policy, submission, facts)
        taken.append(spent_s)
    return Timed(
        hosts=len(facts.hosts or ()),
        servers=len(policy.site.server),
        listed=len(facts.jobs or ()),
        running=sum(job.state == "running" for job in facts.jobs or ()),
        ledger=len(facts.placements),
        decided_s=tuple(taken),
        read_s=read_s(facts, times=min(times, 50)),
        load=os.getloadavg()[0],
    )


def decided_at_size(policy: Near, submission: Submission, facts: Known) -> tuple[Decision, float]:
    """Makes a decision from all facts, and measures its seconds; as in ``tonnage submit`` without the search for
    cycles."""
    known = replace(facts, lines=policy.lines_of(submission))
    demand = policy.demand_of(submission)
    with uncollected():
        began_s = perf_counter()
        decision = policy.decided(submission, demand, known)
        return decision, perf_counter() - began_s


def read_s(facts: Known, *, times: int) -> tuple[float, ...]:
    """Seconds to read both lists from where a submission just before kept them."""
    before = os.environ.get("XDG_STATE_HOME")
    with tempfile.TemporaryDirectory(prefix="tonnage-lists-") as place:
        os.environ["XDG_STATE_HOME"] = place
        try:
            lists = Lists(Desk(facts.hosts or (), facts.jobs or ()), _AGE_NS)  # type: ignore[arg-type]
            lists.hosts(), lists.jobs()
            found = []
            with uncollected():
                for _ in range(times):
                    began_s = perf_counter()
                    lists.hosts(), lists.jobs()
                    found.append(perf_counter() - began_s)
        finally:
            os.environ.pop("XDG_STATE_HOME")
            if before is not None:
                os.environ["XDG_STATE_HOME"] = before
    return tuple(found)
