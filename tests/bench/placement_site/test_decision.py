"""The model decides by the functions of ``tonnage submit``, and what it leaves out of their facts changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from placement_site import POLICIES, Race, draw_jobs, draw_site, policies
from placement_site.decision import decided_at_size, timed
from placement_site.policies import Near
from tonnage.placement import candidates, capacity, choice
from tonnage.placement import task_caps as caps

WORLD = draw_site(servers=6, hosts=300, seed=3)
JOBS = draw_jobs(WORLD, 4000, seed=3)
AFTERNOON_S = 15 * 86400.0 + 15 * 3600


def half_way(policy: str = "near, caps") -> tuple[Race, Near]:
    near = POLICIES[policy](WORLD, JOBS, 1)
    assert isinstance(near, Near)
    race = Race(WORLD, JOBS, near)
    race.run(AFTERNOON_S)
    return race, near


@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("decide", choice.decide),
        ("make_candidates", candidates.make_candidates),
        ("capacities", capacity.capacities),
        ("choose_cap", caps.choose_cap),
    ],
)
def test_each_placement_goes_through_the_package_s_own_function(
    name: str, own: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert getattr(policies, name) is own
    calls = 0

    def counted(*given: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        return own(*given, **named)

    monkeypatch.setattr(policies, name, counted)
    half_way("near, caps raised" if name == "choose_cap" else "near")
    arrived = sum(submission.at_s <= AFTERNOON_S for submission in JOBS.submissions)
    assert calls >= (arrived if name != "choose_cap" else 1)


def test_a_decision_from_a_few_facts_is_the_one_from_all() -> None:
    race, near = half_way()
    differing = set()
    for submission in JOBS.submissions[race.arrived :][:60]:
        # The ledger of the model's users is each one's own; the whole site's is one.
        whole = near.all_facts(AFTERNOON_S, submission, race.state)
        few = near.facts(AFTERNOON_S, submission, race.state, own_only=False)
        assert len(whole.jobs or ()) > len(few.jobs or ()) and len(whole.hosts or ()) > len(few.hosts or ())
        decision, _ = decided_at_size(near, submission, whole)
        reduced = near.decided(submission, near.demand_of(submission), few)
        assert (reduced.bind, reduced.server, reduced.cap) == (decision.bind, decision.server, decision.cap)
        differing.add((decision.bind, decision.cap))
    assert len(differing) > 3


def test_decisions_are_timed_with_every_host_and_every_job_that_runs() -> None:
    race, near = half_way()
    found = timed(race, near, times=5)
    assert (found.hosts, found.servers, len(found.decided_s)) == (WORLD.hosts, len(WORLD.servers), 5)
    assert found.running == sum(race.state.running) > 0
    assert found.listed >= found.running and found.ledger == sum(map(len, race.state.alive))
    assert all(taken > 0 for taken in (*found.decided_s, *found.read_s))
