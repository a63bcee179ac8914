"""The cost of an event: told in seconds, with an interval that holds it, and not shown where noise hides it."""

from __future__ import annotations

import csv
from importlib import resources
from typing import Any

import numpy as np
import pytest
from tonnage.analysis.statistics.fixed_cost import COSTS, FALLS, GROWS, NOT_SHOWN, UNCHANGED, Pair, estimate

SIZES = (4 << 10, 400 << 10, 50 << 20)
RATE, PLATEAU = 60e6, 220e6


def pairs(
    seed: int,
    *,
    cost_s: float = 1.0,
    per_doubling_s: float = 0.0,
    per_gib_s: float = 0.0,
    noise: float = 0.3,
    repetitions: int = 5,
    tasks: tuple[int, ...] = (1, 2, 4, 8),
    sizes: tuple[int, ...] = SIZES,
) -> list[Pair]:
    """Rounds on a storage with a plateau, whose every time is noisy, and whose events cost what is planted."""
    draw = np.random.default_rng(seed)

    def noisy(mean: float) -> float:
        return float(mean * np.exp(noise * draw.standard_normal() - noise**2 / 2))

    found = []
    for number in tasks:
        for size in sizes:
            moved = number * size
            base = 0.02 + moved / min(RATE * number, PLATEAU)
            cost = cost_s + per_doubling_s * np.log2(number) + per_gib_s * moved / 2**30
            found.append(
                Pair(
                    number,
                    moved,
                    tuple(1e9 * noisy(base) for _ in range(repetitions)),
                    tuple(1e9 * (noisy(base) + noisy(cost)) for _ in range(repetitions)),
                )
            )
    return found


CASES: dict[str, dict[str, Any]] = {
    "five repetitions": {},
    "three repetitions": {"repetitions": 3},
    "eight repetitions": {"repetitions": 8},
    "one number of tasks": {"tasks": (4,)},
    "one setting": {"tasks": (4,), "sizes": (50 << 20,)},
    "no cost": {"cost_s": 0.0},
    "nothing repeated": {"repetitions": 1},
}


@pytest.mark.parametrize("name", CASES)
def test_the_interval_covers_the_planted_cost_as_often_as_it_says(name: str) -> None:
    case, seeds = CASES[name], 120
    true = case.get("cost_s", 1.0) * 1e9
    found = [estimate(pairs(seed, **case)).cost for seed in range(seeds)]
    # The standard error of a share of 95 % over so many seeds is 2 %.
    assert 0.89 <= np.mean([one.low_ns <= true <= one.high_ns for one in found]) <= 0.995
    assert np.mean([one.cost_ns for one in found]) == pytest.approx(true, rel=0.05, abs=1e6)


def test_of_a_cost_that_is_not_there_one_in_forty_is_told() -> None:
    told = [estimate(pairs(seed, cost_s=0.0)).cost.verdict for seed in range(160)]
    assert np.mean([verdict == COSTS for verdict in told]) <= 0.05


def test_a_constant_cost_is_not_said_to_change() -> None:
    found = [estimate(pairs(seed)) for seed in range(120)]
    for kind in ("with_tasks", "with_bytes"):
        assert np.mean([getattr(one, kind).verdict == UNCHANGED for one in found]) >= 0.9


def test_a_cost_that_grows_with_the_tasks_or_with_the_bytes_is_told_for_what_it_is() -> None:
    tasks = [estimate(pairs(seed, per_doubling_s=0.3)) for seed in range(20)]
    assert sum(one.with_tasks is not None and one.with_tasks.verdict == GROWS for one in tasks) >= 18
    falls = [estimate(pairs(seed, per_doubling_s=-0.25)) for seed in range(20)]
    assert sum(one.with_tasks is not None and one.with_tasks.verdict == FALLS for one in falls) >= 18
    sizes = [estimate(pairs(seed, per_gib_s=20.0, noise=0.1)) for seed in range(20)]
    assert sum(one.with_bytes is not None and one.with_bytes.verdict == GROWS for one in sizes) >= 18


def test_each_pair_has_a_cost_of_its_own_and_a_long_round_hides_it() -> None:
    found = estimate(pairs(1))
    shown = [one.verdict for one in found.each]
    assert shown[0] == COSTS and NOT_SHOWN in shown
    hidden = next(one for one in found.each if one.verdict == NOT_SHOWN and one.cost_ns > 0)
    assert hidden.shown_from_ns is not None and hidden.shown_from_ns > hidden.cost_ns
    assert hidden.repetitions_to_show is None or hidden.repetitions_to_show > 5


def test_so_many_repetitions_as_it_asks_for_do_show_it_four_times_of_five() -> None:
    few = [estimate(pairs(seed, tasks=(4,), sizes=(200 << 20,))).cost for seed in range(60)]
    # Of those whose noise hid the cost, but did not change it much.
    asked = [one.repetitions_to_show for one in few if 0.7e9 < one.cost_ns < 1.4e9]
    many = round(float(np.mean([count for count in asked if count is not None])))
    assert 10 < many < 60
    again = [estimate(pairs(seed, tasks=(4,), sizes=(200 << 20,), repetitions=many)).cost for seed in range(80)]
    assert 0.6 <= np.mean([one.verdict == COSTS for one in again]) <= 0.95


def test_without_repetitions_one_pair_has_no_interval_and_shows_nothing() -> None:
    found = estimate(pairs(0, repetitions=1, tasks=(4,), sizes=SIZES[:1]))
    assert found.cost.confidence == 0 and found.cost.verdict == NOT_SHOWN and not found.from_scatter
    assert found.cost.repetitions_to_show is None and found.cost.shown_from_ns is None
    assert found.with_tasks is None and found.with_bytes is None


def test_the_same_records_give_the_same_interval() -> None:
    assert estimate(pairs(3)) == estimate(pairs(3))


@pytest.mark.parametrize("pair", [Pair(1, 1, (0.0,), (1.0,)), Pair(1, 1, (1.0,), (-1.0,))])
def test_times_that_are_not_positive_are_refused(pair: Pair) -> None:
    with pytest.raises(ValueError, match="positive"):
        estimate([pair])
    with pytest.raises(ValueError, match="pairs"):
        estimate([])


def test_the_published_snapshots_cost_about_a_second_however_large_the_checkpoint() -> None:
    text = resources.files("tonnage.published").joinpath("ceph-mode4-ior.csv").read_text(encoding="utf-8")
    times: dict[str, dict[tuple[int, int], float]] = {}
    for row in csv.DictReader(text.splitlines()):
        moved = int(row["block_size_bytes"]) * int(row["tasks"])
        spent_ns = 1e9 * moved / (float(row["mean_MiB_per_s"]) * 2**20)
        times.setdefault(row["op"], {})[int(row["tasks"]), moved] = spent_ns
    plain, snapped = times["write"], times["write with snapshot"]
    found = estimate([Pair(*key, (plain[key],), (snapped[key],)) for key in plain])
    assert found.from_scatter and found.cost.verdict == COSTS
    assert 0.7e9 < found.cost.low_ns < 0.9e9 < 1.0e9 < 1.2 * found.cost.high_ns
    assert found.with_tasks is not None and found.with_tasks.verdict == UNCHANGED
    assert found.with_bytes is not None and found.with_bytes.verdict == UNCHANGED
