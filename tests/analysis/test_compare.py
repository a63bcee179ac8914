"""Faster, slower, or no change shown: the ratio's interval holds what it says, and few runs show nothing."""

from __future__ import annotations

import math
from itertools import combinations
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from tonnage.analysis.compare.rate_ratio import (
    FASTER,
    SLOWER,
    UNCHANGED,
    UNDECIDED,
    _rank_sum_counts,
    compare_points,
    ratio,
    ratio_of_runs,
    repetitions_to_decide,
)
from tonnage.analysis.results import Comparison, Point
from tonnage.analysis.statistics.intervals import Noise, student_t_quantile


@pytest.mark.parametrize(("n", "m"), [(1, 1), (2, 3), (4, 2), (6, 6)])
def test_the_ways_to_deal_ranks_out_are_those_that_counting_finds(n: int, m: int) -> None:
    counted = [0] * (n * m + 1)
    for chosen in combinations(range(n + m), n):
        counted[sum(rank - i for i, rank in enumerate(chosen))] += 1
    assert _rank_sum_counts(n, m) == counted


@pytest.mark.parametrize(("count", "true"), [(3, 1.0), (5, 1.3), (6, 1.0), (8, 0.8)])
def test_the_interval_covers_the_true_ratio_as_often_as_it_says(count: int, true: float) -> None:
    draw = np.random.default_rng(count)
    tries, held = 600, 0
    for _ in range(tries):
        values = true * np.exp(0.2 * draw.standard_normal(count))
        base = np.exp(0.2 * draw.standard_normal(count))
        found = ratio(list(values), list(base))
        held += found.low <= true <= found.high
    # Ranks of few values cannot be exactly as sure as asked: more, never less.
    least = 0.95 - 3 * math.sqrt(0.95 * 0.05 / tries)
    assert held / tries >= least
    assert held / tries <= (0.99 if count >= 6 else 0.95 + 3 * math.sqrt(0.95 * 0.05 / tries))


def test_a_clear_difference_is_told_and_either_way_round() -> None:
    slow, fast = [11.0, 11.2, 10.9, 11.1], [10.0, 10.1, 9.9, 10.05]
    assert ratio(slow, fast).verdict == SLOWER
    assert ratio(fast, slow).verdict == FASTER
    assert ratio(fast, fast).verdict == UNCHANGED


def test_one_run_of_each_shows_nothing_however_far_apart_they_are() -> None:
    found = ratio([932.0], [1438.0])
    assert found.verdict == UNDECIDED and found.confidence == 0
    # What others in the campaign showed of the noise may not be that of this setting.
    assert ratio([932.0], [1438.0], curve=Noise(0.01**2, 12)).confidence == 0
    assert ratio([932.0, 931.0], [1438.0, 1440.0], curve=Noise(0.01**2, 12)).verdict == FASTER


@pytest.mark.parametrize(("count", "other"), [(3, 3), (3, 12), (5, 4)])
def test_runs_of_one_system_are_told_apart_no_oftener_than_said(count: int, other: int) -> None:
    draw, tries, wrong = np.random.default_rng(count), 4000, 0
    for _ in range(tries):
        one, two = (list(np.exp(0.05 * draw.standard_normal(n))) for n in (count, other))
        wrong += ratio_of_runs(one, two, 0.99).verdict != UNCHANGED
    assert wrong / tries <= 0.01 + 3 * math.sqrt(0.01 * 0.99 / tries)


def test_two_runs_a_side_have_no_interval_and_three_find_what_is_far_apart() -> None:
    assert ratio_of_runs([1.0, 1.01], [2.0, 2.01, 2.02]).confidence == 0
    found = ratio_of_runs([1.0, 1.01, 1.02], [2.0, 2.01, 2.02])
    assert found.verdict == FASTER and found.low <= 0.5 <= found.high


def test_the_repetitions_that_would_decide_are_the_fewest_and_take_few_quantiles() -> None:
    for seen, noise in ((1.07, Noise(0.0123**2, 7)), (1.03, Noise(0.0987**2, 3)), (2.0, Noise(0.0456**2, 9))):
        found = ratio([seen], [1.0], curve=noise)
        before = student_t_quantile.cache_info().misses
        count = repetitions_to_decide(found, noise, 0.95123, least=3)
        # Each takes milliseconds, and one by one there were up to a thousand.
        assert student_t_quantile.cache_info().misses - before <= 12
        errors = {many: math.sqrt(2 * noise.variance / many) for many in range(3, 1001)}
        enough = (
            many
            for many, error in errors.items()
            if (student_t_quantile(1.95123 / 2, 2 * many - 2) + NormalDist().inv_cdf(0.8)) * error <= math.log(seen)
        )
        assert count == next(enough)


def test_no_value_or_no_time_is_no_ratio() -> None:
    for values, base in (([], [1.0]), ([1.0], []), ([0.0], [1.0])):
        with pytest.raises(ValueError, match="positive values"):
            ratio(values, base)


def test_the_repetitions_that_would_decide_do_so_four_times_of_five() -> None:
    noise = Noise(0.1**2, 20)
    count = repetitions_to_decide(ratio([1.1, 1.1], [1.0, 1.0], curve=noise), noise)
    assert count is not None
    draw = np.random.default_rng(7)
    tries = 800
    told = sum(
        ratio(list(1.1 * np.exp(0.1 * draw.standard_normal(count))), list(np.exp(0.1 * draw.standard_normal(count))))
        .verdict == SLOWER
        for _ in range(tries)
    )  # fmt: skip
    slack = NormalDist().inv_cdf(0.999) * math.sqrt(0.8 * 0.2 / tries)
    assert 0.8 - 0.05 - slack <= told / tries <= 0.8 + 0.05 + slack
    assert repetitions_to_decide(ratio([1.0001], [1.0], curve=noise), noise) is None, "more than anybody would run"
    assert repetitions_to_decide(ratio([1.1], [1.0]), Noise(0.0, 0)) is None


def point(partition: str, elapsed: list[float], workload: str = "", tasks: int = 1) -> tuple[Point, list[Any]]:
    records = tuple(f"{workload}{tasks}{partition}{n}" for n in range(len(elapsed)))
    lines = [{"record": record, "elapsed_ns": round(s * 10**9)} for record, s in zip(records, elapsed, strict=True)]
    values = tuple(1 / s for s in elapsed)
    found = Point(
        op="command", tasks=tasks, transfer_size=None, group=f"partition {partition}", values=values, records=records,
        median=values[0], low=values[0], high=values[0], confidence=0.0, latency={}, operations_per_s=1.0,
        cpu_ns_per_gib=None, cache_state=None, cache_device_share=None, kind="command", workload=workload,
        setting={"partition": partition},
    )  # fmt: skip
    return found, lines


def compared(*sides: tuple[Point, list[Any]]) -> tuple[Comparison, ...]:
    campaign = {"workloads": [{"name": "", "kind": "command", "partition": ["mm", "epouta", "third"]}]}
    lines = [line for _, several in sides for line in several]
    return compare_points([found for found, _ in sides], lines, campaign)


def test_each_setting_is_compared_with_the_first_of_the_campaign_file() -> None:
    far = compared(point("epouta", [2.0, 2.1, 2.05]), point("mm", [3.0, 3.1, 3.05]), point("third", [3.02, 3.1, 3.0]))
    assert [(one.group, one.base, one.verdict) for one in far] == [
        ("partition epouta", "partition mm", FASTER),
        ("partition third", "partition mm", UNCHANGED),
    ]
    assert (far[0].elapsed_ns, far[0].base_elapsed_ns) == (2_050_000_000, 3_050_000_000)
    assert far[0].confidence == 0.95 and far[0].repetitions_to_decide is None


def test_only_the_same_workload_with_as_many_at_once_is_compared() -> None:
    assert compared(point("mm", [1.0]), point("mm", [2.0], workload="other"), point("epouta", [3.0], tasks=2)) == ()


def test_many_settings_that_are_all_alike_seldom_show_a_change() -> None:
    draw = np.random.default_rng(3)
    wrong = 0
    for _ in range(300):
        sides = [point(f"p{n}", list(np.exp(0.1 * draw.standard_normal(4)))) for n in range(6)]
        wrong += any(one.verdict != UNCHANGED for one in compared(*sides))
    assert wrong / 300 <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 300)
