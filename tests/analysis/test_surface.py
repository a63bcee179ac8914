"""The load line over transfer sizes, on surfaces that the estimator was not made from."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from statistics import fmean

import pytest
from tonnage.analysis.load_line.surface import SurfaceSearch, SurfaceTrial, numbers_up_to, sizes_between, surface_of
from tonnage.analysis.results import Surface

SIZES = sizes_between(4 << 10, 16 << 20)
MOST = 32
Law = Callable[[int, int], float]


def scalability(seed: int) -> Law:
    """Gunther's law, whose contention and coherency change with the size."""
    chance = random.Random(seed)
    ends = [(10 ** chance.uniform(-2.5, -0.5), 10 ** chance.uniform(-5, -2.5)) for _ in range(2)]
    call_s, speed = 10 ** chance.uniform(-4.3, -2.7), 10 ** chance.uniform(7.5, 9.3)

    def law(tasks: int, size: int) -> float:
        part = (math.log2(size) - 12) / 12
        contention, coherency = (ends[0][k] * (1 - part) + ends[1][k] * part for k in range(2))
        alone = size / (call_s + size / speed)
        return tasks * alone / (1 + contention * (tasks - 1) + coherency * tasks * (tasks - 1))

    return law


def striped(seed: int) -> Law:
    """A corner that moves where a transfer is as large as a stripe, with a dip at the edge."""
    chance = random.Random(seed)
    edge, gain, dip = 1 << chance.randrange(16, 23), chance.uniform(1.5, 6), chance.uniform(0.5, 1)
    call_s, speed = 10 ** chance.uniform(-4.3, -2.7), 10 ** chance.uniform(7.5, 9.3)
    plateau, operations = speed * chance.uniform(1.3, 20), chance.uniform(1.3, 20) / call_s

    def law(tasks: int, size: int) -> float:
        most = min(plateau * (gain if size >= edge else 1), operations * size)
        return min(tasks * size / (call_s + size / speed), most) * (dip if size == edge else 1)

    return law


def truth(law: Law, size: int) -> int:
    most = max(law(tasks, size) for tasks in range(1, MOST + 1))
    return next(tasks for tasks in range(1, MOST + 1) if law(tasks, size) >= 0.95 * most)


def searched(law: Law, seed: int, trials: int, noise: float) -> Surface:
    chance, search = random.Random(seed), SurfaceSearch("write", MOST, SIZES, seed)
    done: list[SurfaceTrial] = []
    while len(done) < trials:
        tasks, size = search.next(done, 10**9)
        done.append(SurfaceTrial(tasks, size, law(tasks, size) * math.exp(noise * chance.gauss(0, 1))))
    found = surface_of("write", done, MOST, SIZES)
    assert found is not None
    return found


@pytest.mark.parametrize("make", [scalability, striped])
def test_the_intervals_hold_the_lines_of_other_laws(make: Callable[[int], Law]) -> None:
    held, widths = [], []
    for seed in range(8):
        law = make(seed)
        for one in searched(law, seed, 70, 0.05).sizes:
            high = MOST if one.tasks_high is None else one.tasks_high
            held.append(one.tasks_low <= truth(law, one.transfer_size) <= high)
            widths.append(math.log2(high / one.tasks_low))
    # 104 answers, of which those of one surface hold or miss together.
    assert fmean(held) >= 0.88
    assert fmean(widths) < 1.5, "an interval of everything holds always"


def test_the_next_trials_are_where_the_lines_are_not_known() -> None:
    law, search = striped(1), SurfaceSearch("write", MOST, SIZES, 1)
    done: list[SurfaceTrial] = []
    for _ in range(60):
        tasks, size = search.next(done, 10**9)
        done.append(SurfaceTrial(tasks, size, law(tasks, size)))
    grid = [SurfaceTrial(n, size, law(n, size)) for size in SIZES for n in (1, 2, 4, 8, 16, 32)]
    wide = [
        fmean(math.log2((one.tasks_high or MOST) / one.tasks_low) for one in found.sizes)
        for trials in (done, grid)
        if (found := surface_of("write", trials, MOST, SIZES))
    ]
    assert wide[0] < wide[1], "60 trials tell more than the 78 of a grid"


def test_a_storage_that_rises_to_the_end_is_given_no_line() -> None:
    found = searched(lambda tasks, size: 1e6 * tasks * math.sqrt(size), 3, 60, 0.03)
    assert not any(one.reached for one in found.sizes)
    assert all(one.tasks_high is None and one.tasks_low > MOST / 2 for one in found.sizes)


def test_the_same_trials_and_seed_give_the_same_answer_and_the_same_next_trial() -> None:
    assert searched(scalability(2), 2, 40, 0.1) == searched(scalability(2), 2, 40, 0.1)


def test_too_few_cells_say_nothing() -> None:
    assert surface_of("write", [SurfaceTrial(1, 4096, 1e6)], MOST, SIZES) is None


def test_a_range_is_doublings_and_the_largest() -> None:
    assert sizes_between(4096, 16384) == (4096, 8192, 16384)
    assert sizes_between(4096, 20000) == (4096, 8192, 16384, 20000)
    assert numbers_up_to(8) == (1, 2, 3, 4, 5, 6, 7, 8)
    assert numbers_up_to(33)[-3:] == (28, 32, 33)


def test_tasks_beyond_the_line_that_lose_throughput_are_told_apart_from_those_that_wait() -> None:
    chance = random.Random(5)

    def declines(law: Law) -> set[bool]:
        trials = [
            SurfaceTrial(tasks, size, law(tasks, size) * chance.lognormvariate(0, 0.02))
            for tasks in (1, 2, 4, 8, 16, 32)
            for size in SIZES[::2]
            for _ in range(2)
        ]
        found = surface_of("write", trials, MOST, SIZES)
        assert found is not None
        return {one.declines for one in found.sizes}

    assert declines(lambda tasks, _: 5e8 * min(tasks, 4)) == {False}
    assert declines(lambda tasks, _: 5e8 * min(tasks, 4) * 0.98 ** max(tasks - 4, 0)) == {True}
