"""What a closed loop leaves out: waits of arrivals at moments of their own, drawn one by one as the truth."""

from __future__ import annotations

import random
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable
from itertools import accumulate

import pytest
from tonnage.analysis import analyse
from tonnage.analysis.findings.coordinated_omission import moment_wait_ns
from tonnage.records import Run

MS = 10**6


def drawn(latencies: list[int], seed: int) -> int:
    """The 99th percentile of what 200,000 arrivals wait for the operation that is under way."""
    dice, ends = random.Random(seed), list(accumulate(latencies))
    moments = (dice.randrange(ends[-1]) for _ in range(200_000))
    waits = sorted(ends[bisect_right(ends, moment)] - moment for moment in moments)
    return waits[int(0.99 * len(waits))]


@pytest.mark.parametrize("stalls", [1, 5, 40])
def test_the_wait_of_one_moment_in_a_hundred_is_that_of_drawn_arrivals(stalls: int) -> None:
    dice = random.Random(stalls)
    latencies = [dice.randrange(MS, 3 * MS) for _ in range(20_000)] + [dice.randrange(500, 3000) * MS] * stalls
    dice.shuffle(latencies)
    pairs = sorted(Counter(latencies).items())
    assert moment_wait_ns(pairs, float(sum(latencies))) == pytest.approx(drawn(latencies, stalls), rel=0.05)


def test_equal_operations_make_nobody_wait_longer_than_they_take() -> None:
    assert moment_wait_ns([(MS, 1000)], 1000.0 * MS) == pytest.approx(0.99 * MS)
    assert moment_wait_ns([], 0.0) == 0


def test_a_summary_gives_no_more_than_the_whole_would() -> None:
    latencies = [MS] * 9_980 + [300 * MS] * 20
    spent = float(sum(latencies))
    whole = moment_wait_ns([(MS, 9_980), (300 * MS, 20)], spent)
    assert 0 < moment_wait_ns([(300 * MS, 9), (300 * MS, 1)], spent) <= whole


def latency(longest_ns: int) -> dict[str, int]:
    quantiles = dict.fromkeys(("min_ns", "mean_ns", "p50_ns", "p90_ns", "p99_ns", "p999_ns"), 2 * MS)
    return {**quantiles, "count": 2_000, "max_ns": longest_ns}


@pytest.mark.parametrize(
    ("longest_ns", "setting", "told"),
    [
        (3 * 10**9, {}, True),
        (60 * MS, {}, False),  # shorter than what any storage does
        (3 * 10**9, {"rate_bytes_per_s": 10**6}, False),  # an open loop counts from when it was due
        (3 * 10**9, {"kind": "command"}, False),
    ],
)
def test_a_long_wait_of_a_closed_loop_is_told_and_nothing_else_is(
    make_run: Callable[..., Run], longest_ns: int, setting: dict[str, object], told: bool
) -> None:
    run = make_run({4: [1e9, 1e9]}, setting=setting, alter=lambda line: line.update(latency=latency(longest_ns)))
    assert ("coordinated-omission" in {finding.code for finding in analyse(run).findings}) is told
