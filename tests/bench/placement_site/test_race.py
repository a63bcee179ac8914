"""Whole races: no job is lost, no bound is broken, and what must be better is."""

from __future__ import annotations

import pytest
from placement_site import POLICIES, World, draw_jobs, simulate
from placement_site.race import Race

WORLD = World(servers=10, hosts=200, beside=2, slots=8)
JOBS = draw_jobs(WORLD, 3000, seed=3, load=0.7)


@pytest.mark.parametrize("policy", POLICIES)
def test_every_job_ends_after_it_began_and_every_slot_comes_back(policy: str) -> None:
    race = Race(WORLD, JOBS, POLICIES[policy](WORLD, JOBS, 1))
    outcome = race.run(policy)
    assert outcome.jobs == len(JOBS)
    assert all(
        end > start >= arrival for end, start, arrival in zip(race.ended_s, race.started_s, JOBS.arrival_s, strict=True)
    )
    assert race.view.free == [WORLD.near_slots] * WORLD.servers + [WORLD.far_slots]
    assert race.view.held == race.view.reading == [0] * WORLD.servers
    assert race.view.waiting == [0] * (WORLD.servers + 1)
    assert outcome.mean_slowdown >= 1.0


def test_the_same_seed_gives_the_same_race() -> None:
    assert draw_jobs(WORLD, 500, seed=5) == draw_jobs(WORLD, 500, seed=5)
    assert simulate(WORLD, JOBS, "pin", seed=2) == simulate(WORLD, JOBS, "pin", seed=2)


def test_the_cap_bounds_the_jobs_that_wait_for_storage() -> None:
    policy = POLICIES["pin + cap"](WORLD, JOBS, 1)
    jobs = draw_jobs(WORLD, 2000, seed=4, load=2.0, cpu_bound=0.0)
    assert simulate(WORLD, jobs, "pin + cap").most_on_server <= policy.cap < WORLD.near_slots


def test_a_share_of_the_bytes_that_was_asked_for_is_drawn() -> None:
    jobs = draw_jobs(WORLD, 20_000, seed=6, load=0.5)
    plateau = WORLD.servers * WORLD.line * WORLD.single_bytes_per_s
    assert sum(jobs.bytes) / jobs.arrival_s[-1] == pytest.approx(0.5 * plateau, rel=0.05)
    assert jobs.arrival_s == sorted(jobs.arrival_s)


def test_more_hosts_beside_servers_than_hosts_are_refused() -> None:
    with pytest.raises(ValueError, match="more hosts"):
        World(servers=10, hosts=20, beside=4)
