"""Whole races: no job is lost, no bound is broken, and a case that was computed by hand comes out."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pytest
from placement_site import POLICIES, Race, draw_jobs, draw_site
from placement_site.jobs import Jobs
from placement_site.outcome import outcome_of
from placement_site.policies import Fifo
from placement_site.scheduler_state import Placed, State
from placement_site.site_model import SiteModel
from small_sites import FLAT, MB, arrays, small

WORLD = draw_site(servers=6, hosts=300, seed=3)
JOBS = draw_jobs(WORLD, 4000, seed=3)


def raced(world: SiteModel, jobs: Jobs, policy: str, seed: int = 1) -> Race:
    race = Race(world, jobs, POLICIES[policy](world, jobs, seed))
    race.run()
    return race


def most_at_once(spans: list[tuple[float, float]]) -> int:
    """One that ends makes room for one that starts at the same moment."""
    changes = sorted([(start, 1) for start, _ in spans] + [(end, -1) for _, end in spans])
    now = most = 0
    for _, by in changes:
        now += by
        most = max(most, now)
    return most


@pytest.mark.parametrize("policy", POLICIES)
def test_every_job_runs_once_and_takes_no_less_than_alone(policy: str) -> None:
    race = raced(WORLD, JOBS, policy)
    assert race.state.begun == [submission.count for submission in JOBS.submissions]
    assert set(race.state.running) == {0} and set(race.state.reading) == {0}
    assert race.state.alive == [{}] * len(WORLD.servers)
    assert race.state.free.counts == race.state.free.sizes
    for job, (start, end) in enumerate(zip(race.started_s, race.ended_s, strict=True)):
        assert start >= JOBS.submissions[JOBS.of[job]].at_s
        assert end - start >= JOBS.before_s[job] + JOBS.after_s[job]


@pytest.mark.parametrize("policy", POLICIES)
def test_no_more_jobs_run_beside_a_server_than_there_are_hosts(policy: str) -> None:
    race = raced(WORLD, JOBS, policy)
    for pool, hosts in enumerate(race.state.free.sizes):
        spans = [(race.started_s[job], race.ended_s[job]) for job in range(len(JOBS)) if race.pool[job] == pool]
        assert most_at_once(spans) <= hosts


def test_no_array_runs_wider_than_its_cap_and_most_caps_bind() -> None:
    race = raced(WORLD, JOBS, "near, caps")
    binding = 0
    for number, submission in enumerate(JOBS.submissions):
        placed = race.state.placed[number]
        assert placed is not None
        if placed.cap is not None:
            jobs = range(submission.first, submission.first + submission.count)
            most = most_at_once([(race.started_s[job], race.ended_s[job]) for job in jobs])
            assert most <= placed.cap
            binding += most == placed.cap < submission.count
    assert binding > 10


@pytest.mark.parametrize(("user", "cap"), [(0, 4), (1, 1)])
def test_a_submission_raises_its_user_s_own_arrays_at_the_same_server_and_nobody_else_s(user: int, cap: int) -> None:
    """A line of four; three jobs read for 10 s. An array that comes meanwhile may run one at once. The last submission
    comes when the three have ended."""
    jobs = arrays(
        small(FLAT, hosts=20, beside=8),
        (0.0, 3, (0,), 1000 * MB, 0.0), (1.0, 9, (0,), 1000 * MB, 0.0), (25.0, 1, (0,), 1000 * MB, 0.0),
    )  # fmt: skip
    last = replace(jobs.submissions[2], user=user)
    race = raced(
        small(FLAT, hosts=20, beside=8), replace(jobs, submissions=(*jobs.submissions[:2], last)), "near, caps"
    )
    placed = race.state.placed[1]
    assert placed is not None and (placed.cap, race.state.caps[1]) == (1, cap)
    spans = [(race.started_s[job], race.ended_s[job]) for job in range(3, 12)]
    assert most_at_once(spans) == cap and most_at_once([one for one in spans if one[0] < 25.0]) == 1


def test_a_cap_that_is_raised_bounds_an_array_from_then_on() -> None:
    race = raced(WORLD, JOBS, "near, caps raised")
    raised = 0
    for number, submission in enumerate(JOBS.submissions):
        placed, cap = race.state.placed[number], race.state.caps[number]
        assert placed is not None
        if placed.cap is None or cap is None:
            continue
        assert cap >= placed.cap
        raised += cap > placed.cap
        jobs = range(submission.first, submission.first + submission.count)
        assert most_at_once([(race.started_s[job], race.ended_s[job]) for job in jobs]) <= cap
    assert raised


def test_pinned_jobs_run_beside_their_server() -> None:
    race = raced(WORLD, JOBS, "near, caps")
    pinned = 0
    for job, number in enumerate(JOBS.of):
        placed = race.state.placed[number]
        assert placed is not None
        if placed.pool is not None:
            assert race.pool[job] == placed.pool == placed.server
            pinned += 1
    assert pinned > len(JOBS) / 4


@pytest.mark.parametrize("policy", POLICIES)
def test_the_same_seed_gives_the_same_figures(policy: str) -> None:
    first, again = (outcome_of(raced(WORLD, JOBS, policy, 2), policy, 2, 0.0) for _ in range(2))
    assert first == again
    assert draw_jobs(WORLD, 500, seed=5) == draw_jobs(WORLD, 500, seed=5) != draw_jobs(WORLD, 500, seed=6)
    assert draw_site(servers=9, seed=5) == draw_site(servers=9, seed=5) != draw_site(servers=9, seed=6)


def test_six_jobs_on_a_line_of_four_end_when_a_pencil_says_so() -> None:
    """A line of four tasks of 100 MB/s, six hosts beside it, seven elsewhere. Each job reads 400 MB and computes 2 s.

    FIFO starts all six elsewhere: each gets 400 ÷ 6 MB/s, reads for 6 s and ends at 8 s. A copy is 4 ÷ 6 of a task, so
    the cap is floor(4 ÷ 0.667) = 5: five get 80 MB/s, read for 5 s and end at 7 s; the sixth reads 4 s after that.
    """
    world = small(FLAT, hosts=13, beside=6, link_bytes_per_s=1000 * MB)
    jobs = arrays(world, (0.0, 6, (0,), 400 * MB, 2.0))
    plain, capped = raced(world, jobs, "FIFO"), raced(world, jobs, "near, caps")
    assert plain.ended_s == pytest.approx([8.0] * 6, abs=1e-3)
    assert capped.state.placed[0] is not None and capped.state.placed[0].cap == 5
    assert capped.ended_s == pytest.approx([7.0] * 5 + [13.0], abs=1e-3)
    assert plain.watch.above_s[0] == pytest.approx(6.0, abs=1e-3)
    assert capped.watch.above_s[0] == pytest.approx(5.0, abs=1e-3)
    told = outcome_of(plain, "FIFO", 1, 0.0)
    assert (told.makespan_s, told.mean_slowdown) == pytest.approx((8.0, 8 / 6), abs=1e-3)
    assert (told.network_bytes, told.near_share) == (6 * 400 * MB, 0.0)
    assert outcome_of(capped, "near, caps", 1, 0.0).network_bytes == 0.0


def test_who_came_first_gets_the_host_that_comes_free() -> None:
    world = small(hosts=3, beside=1)
    jobs = arrays(world, (0.0, 3, (0,), 100 * MB, 50.0), (1.0, 1, (0,), 100 * MB, 1.0), (2.0, 1, (0,), 100 * MB, 1.0))
    race = raced(world, jobs, "FIFO")
    assert race.started_s[:3] == [0.0] * 3
    assert 50.0 < race.started_s[3] <= race.started_s[4] < 60.0


def test_those_that_must_have_a_host_and_those_that_may_have_any_take_turns_by_their_arrival() -> None:
    class AssignedFifo(Fifo):
        def assign(self, now_s: float, number: int, state: State) -> Placed:  # noqa: ARG002
            return Placed((0, None, None, 0)[number], 0)

    world = small(hosts=2, beside=1)
    first, other, third, last = ((at_s, 1, (0,), 1 * MB, cpu_s) for at_s, cpu_s in ((0, 50), (1, 500), (2, 9), (3, 9)))
    jobs = arrays(world, first, other, third, last)
    race = Race(world, jobs, AssignedFifo(world, jobs, 1))
    race.run()
    assert race.pool == [0, 1, 0, 0]
    assert race.ended_s[0] == race.started_s[2] < race.ended_s[2] == race.started_s[3]


@pytest.mark.parametrize(
    ("tasks", "above", "twice"), [(4, False, False), (5, True, False), (8, True, False), (9, True, True)]
)
def test_a_server_is_above_its_line_with_more_tasks_than_that(tasks: int, above: bool, twice: bool) -> None:
    world = small(FLAT, hosts=20, beside=1, link_bytes_per_s=1000 * MB)
    watch = raced(world, arrays(world, (0.0, tasks, (0,), 400 * MB, 1.0)), "FIFO").watch
    assert (watch.above_s[0] > 0, watch.twice_above_s[0] > 0, watch.most[0]) == (above, twice, tasks)
    assert watch.busy_s[0] >= watch.above_s[0] >= watch.twice_above_s[0]


def test_the_jobs_ask_for_as_much_of_servers_and_hosts_as_was_told() -> None:
    world = draw_site(servers=40, hosts=2000, seed=6)
    jobs = draw_jobs(world, 50_000, seed=6, load=0.3, busy=0.5)
    month_s = 30 * 86400.0
    assert sum(jobs.bytes) == pytest.approx(0.3 * world.plateau_bytes_per_s * month_s)
    assert sum(jobs.alone_s) == pytest.approx(0.5 * world.hosts * month_s)
    times = [submission.at_s for submission in jobs.submissions]
    assert all(before <= after for before, after in pairwise(times)) and 0 <= times[0] < times[-1] <= month_s
    by_hour = Counter(int(at_s % 86400 // 3600) for at_s in times)
    assert by_hour[14] > 2 * by_hour[3]


def test_jobs_that_cannot_be_as_asked_are_refused() -> None:
    with pytest.raises(ValueError, match="other shares"):
        draw_jobs(WORLD, 4000, seed=1, load=0.9, busy=0.01)


def test_more_hosts_beside_servers_than_hosts_are_refused() -> None:
    with pytest.raises(ValueError, match="more hosts"):
        replace(WORLD, hosts=6 * WORLD.beside)
