"""From how many nodes on the fast tier wins: from measured ceilings, with an interval that covers."""

from __future__ import annotations

import math
import random

import pytest
from tonnage.analysis.results import Measured
from tonnage.analysis.statistics import median_interval
from tonnage.analysis.tiers import crossover, exact
from tonnage.report.published import published_crossovers
from tonnage.report.tiers import sentence


def test_the_published_ceilings_say_531_nodes_for_writes_and_241_for_reads() -> None:
    found = published_crossovers()
    assert (round(found["write"].nodes), round(found["read"].nodes)) == (531, 241)
    assert sentence(found["write"]) == (
        "For writes the fast tier wins from about 531 nodes on: 2.12 GB/s a node against 1.13 TB/s of all."
    )


def test_nodes_are_the_shared_rate_over_that_of_one_node() -> None:
    found = crossover("write", exact(2e9), exact(50e9))
    assert (found.nodes, found.low, found.high, found.confidence) == (25, 25, 25, 0)


def test_a_fast_tier_that_is_faster_alone_wins_from_the_first_node() -> None:
    assert "from the first node on: 2 GB/s" in sentence(crossover("write", exact(2e9), exact(1e9))).replace("2.00", "2")


def test_an_uncertain_rate_on_either_side_makes_the_crossover_uncertain() -> None:
    sure, unsure = Measured(1e9, 1e9, 1e9, 0.95), Measured(10e9, 8e9, 12.5e9, 0.95)
    found = crossover("write", sure, unsure)
    assert (found.low, found.high) == pytest.approx((8, 12.5))
    turned = crossover("write", unsure, sure)
    assert (1 / turned.high, 1 / turned.low) == pytest.approx((8, 12.5))
    both = crossover("write", Measured(1e9, 0.8e9, 1.25e9, 0.95), unsure)
    assert both.low < found.low < found.high < both.high


def test_the_interval_covers_the_true_crossover_as_often_as_it_says() -> None:
    draw = random.Random(7)
    fast, slow, noise, runs = 2.1e9, 1.1e12, 0.15, 2000

    def interval(rate: float) -> Measured:
        return Measured(*median_interval([rate * math.exp(draw.gauss(0, noise)) for _ in range(5)]))

    hits = 0
    for _ in range(runs):
        found = crossover("write", interval(fast), interval(slow))
        hits += found.low <= slow / fast <= found.high
    assert 0.94 <= hits / runs <= 0.995
