"""Which trials make a point, and what a point says of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tonnage.analysis import analyse, measured_points
from tonnage.records import Run
from tonnage.report import phrases

Make = Callable[..., Run]


def test_repetitions_of_one_setting_are_one_point(make_run: Make) -> None:
    (one, two) = measured_points(make_run({1: [1e9, 1.1e9, 1.2e9], 2: [2e9]}))
    assert (one.tasks, one.repetitions, one.group) == (1, 3, "")
    assert one.median == pytest.approx(1.1e9, rel=1e-6)
    assert one.low < one.median < one.high
    assert (two.repetitions, two.confidence, two.low) == (1, 0.0, two.median)
    assert two.records == ("0001-write",)


def test_fills_failures_and_interruptions_are_not_values(make_run: Make) -> None:
    make_run({1: [5e9]}, purpose="fill")
    make_run({1: [5e9]}, alter=lambda line: line.update(status="failed"))
    make_run({1: [5e9]}, alter=lambda line: line.update(status="interrupted"))
    (point,) = measured_points(make_run({1: [1e9]}))
    assert point.values == (10**9,)


def test_a_swept_factor_makes_curves_of_its_own(make_run: Make) -> None:
    make_run({1: [1e9], 2: [2e9], 4: [2e9]}, setting={"access": "random"})
    run = make_run({1: [3e9], 2: [4e9], 4: [4e9]}, setting={"access": "sequential"})
    assert {point.group for point in measured_points(run)} == {"access random", "access sequential"}
    assert len(analyse(run).load_lines) == 2


def test_sizes_and_times_are_told_with_units_and_stand_in_the_order_of_their_numbers(make_run: Make) -> None:
    for size in (1 << 20, 1 << 12, 1 << 16):
        for pause_ns in (10**9, 2 * 10**6):
            run = make_run({1: [1e9]}, setting={"transfer_size": size, "think_ns": pause_ns})
    assert [point.group for point in measured_points(run)] == [
        f"think {pause}, transfer_size {size}" for pause in ("2ms", "1s") for size in ("4KiB", "64KiB", "1MiB")
    ]


def test_a_factor_that_follows_from_the_tasks_does_not(make_run: Make) -> None:
    make_run({1: [1e9]}, setting={"block_size": 1 << 30})
    run = make_run({2: [2e9]}, setting={"block_size": 1 << 29})
    assert {point.group for point in measured_points(run)} == {""}


def test_processor_time_and_device_share_are_sums_over_sums(make_run: Make) -> None:
    half = {"cache": {"cached_before_bytes": 0, "examined_bytes": 1, "device_bytes": 5 * 10**8}}
    make_run({1: [1e9]}, op="read")
    (point,) = measured_points(make_run({1: [1e9]}, op="read", result=half))
    assert point.cache_device_share == pytest.approx(0.75)
    assert point.cache_state == "warm", "one repetition out of the cache spoils the point"
    assert point.cpu_ns_per_gib == 2 * 2 * 10**7 * 2**30 // (2 * 10**9)


def test_a_percentile_is_the_median_of_its_repetitions_with_an_interval_over_them(make_run: Make) -> None:
    waits = iter((10, 12, 11, 14, 90, 13, 12))

    def alter(line: dict[str, Any]) -> None:
        line["latency"]["p99_ns"] = next(waits) * 10**6

    (point,) = analyse(make_run({4: [1e9] * 7}, alter=alter)).points
    assert point.latency["p99_ns"] == 12 * 10**6, "the repetition that waited is one of seven"
    bounds = point.latency_intervals["p99_ns"]
    assert bounds is not None and bounds.confidence == 0.95
    assert 10 * 10**6 <= bounds.low_ns < 12 * 10**6 < bounds.high_ns <= 90 * 10**6


def test_a_percentile_of_one_repetition_has_no_interval(make_run: Make) -> None:
    (point,) = analyse(make_run({4: [1e9]})).points
    assert point.latency["p99_ns"] > 0 and point.latency_intervals["p99_ns"] is None
    assert phrases.waits(point)[1].endswith(" [–]")


def test_a_percentile_of_trials_with_too_few_operations_has_no_interval(make_run: Make) -> None:
    """Of 29 operations p99 is the longest: below what the storage has, and as uncertain as chance."""

    def alter(line: dict[str, Any]) -> None:
        line["latency"]["count"] = 29

    (point,) = analyse(make_run({4: [1e9] * 7}, alter=alter)).points
    assert point.latency_intervals["p50_ns"] is not None
    assert point.latency_intervals["p99_ns"] is None and point.latency_intervals["p999_ns"] is None
