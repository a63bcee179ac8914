"""The load line of curves whose truth is known. How often intervals cover it is in tests/calibration."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tonnage.analysis import analyse
from tonnage.analysis.load_line.estimate import Estimate, estimate, sustained
from tonnage.analysis.load_line.formulas import LAWS
from tonnage.analysis.load_line.trial_checks import halves_apart
from tonnage.records import Run

TASKS = (1, 2, 4, 6, 7, 8, 9, 16, 32)


def noisy(rate: Callable[[int], float], noise: float = 0.02, tasks: tuple[int, ...] = TASKS, n: int = 5) -> Estimate:
    random = np.random.default_rng(1)
    return estimate({k: list(2e9 * rate(k) * np.exp(noise * random.standard_normal(n))) for k in tasks})


def test_a_corner_is_found_where_it_is() -> None:
    found = noisy(lambda n: min(1.0, 0.95 * n / 7.5))
    assert found.reached
    assert (found.knee, found.knee_low, found.knee_high) == (8, 8, 8)
    assert found.plateau_low < 2e9 < found.plateau_high
    assert found.plateau == pytest.approx(2e9, rel=0.02)


def test_more_noise_gives_a_wider_interval_that_still_holds_the_knee() -> None:
    found = noisy(lambda n: min(1.0, 0.95 * n / 7.5), noise=0.2)
    assert found.knee_low <= 8 <= found.knee_high
    assert found.knee_high - found.knee_low > 0


def test_numbers_that_were_not_measured_stay_in_the_interval() -> None:
    found = noisy(lambda n: min(1.0, n / 5), noise=0.001, tasks=(1, 2, 8, 16, 32))
    assert found.knee_low <= 5 <= found.knee_high <= 8


@pytest.mark.parametrize("power", [1.0, 0.7, 0.5])
def test_a_curve_that_still_rises_is_not_reached(power: float) -> None:
    found = noisy(lambda n: (n / 32) ** power)
    assert not found.reached
    assert found.knee is None
    assert "rise" in found.why


def test_two_points_beyond_the_knee_are_needed() -> None:
    assert not noisy(lambda n: min(1.0, n / 7.6), tasks=(1, 2, 4, 8, 16)).reached
    assert noisy(lambda n: min(1.0, n / 7.6), tasks=(1, 2, 4, 8, 16, 32)).reached


def test_points_just_beyond_the_knee_do_not_show_that_it_is_one() -> None:
    found = noisy(lambda n: min(1.0, 0.95 * n / 15.5), noise=0.01, tasks=(1, 2, 4, 8, 15, 16, 17, 18))
    assert not found.reached
    assert "too close" in found.why


def test_noise_that_could_hide_a_rise_is_not_a_plateau() -> None:
    curve = {1: [60, 140], 2: [60, 150], 3: [60, 140], 4: [60, 150]}
    found = estimate({n: [10**7 * value for value in values] for n, values in curve.items()})
    assert not found.reached
    assert "too noisy to tell" in found.why


def test_a_retrograde_curve_has_its_plateau_at_the_peak() -> None:
    found = noisy(lambda n: min(1.0, n / 6) * 0.9 ** max(0, n - 8))
    assert found.reached
    assert found.declines
    assert found.knee == 6
    assert found.plateau == pytest.approx(2e9, rel=0.03)


@pytest.mark.parametrize(
    ("last", "beyond"), [(1.0, "only add latency"), (0.9, "may lose throughput"), (0.8, "lose throughput")]
)
def test_that_more_tasks_lose_throughput_or_do_not_is_said_as_far_as_it_is_shown(
    make_run: Callable[..., Run], last: float, beyond: str
) -> None:
    """Trials with 3 % of noise, three of each number of tasks."""
    levels = {1: 0.5, 2: 1.0, 4: 1.0, 8: 1.0, 16: last}
    curve = {n: [2e9 * level * (1 + 0.03 * k) for k in (-1.0, 1.0, 0.5)] for n, level in levels.items()}
    (line,) = analyse(make_run(curve)).load_lines
    assert line.why.endswith(f"; more, measured up to 16, {beyond}")


def test_a_flat_curve_is_reached_by_one_task() -> None:
    found = noisy(lambda _: 1.0)
    assert (found.knee, found.knee_low, found.knee_high) == (1, 1, 1)


def test_the_same_values_give_the_same_answer() -> None:
    assert noisy(lambda n: min(1.0, n / 5), noise=0.2) == noisy(lambda n: min(1.0, n / 5), noise=0.2)


def test_each_law_and_its_inverse_agree() -> None:
    x = np.geomspace(0.01, 0.99, 20)
    for law, inverse in LAWS:
        assert law(inverse(x)) == pytest.approx(x)


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(
        st.integers(1, 500), st.lists(st.integers(1, 10**12), min_size=1, max_size=6), min_size=1, max_size=9
    )
)
def test_any_curve_gives_an_ordered_answer(values: dict[int, list[int]]) -> None:
    found = estimate(values)
    assert 1 <= found.knee_low <= found.knee_high <= max(values)
    assert 0 < found.plateau_low <= found.plateau <= found.plateau_high
    assert (found.knee is None) == bool(found.why) == (not found.reached)
    if found.knee is not None:
        assert found.knee in values
        assert found.knee_low <= found.knee <= found.knee_high


@pytest.mark.parametrize("rate", [lambda n: n / (n + 7), lambda n: n**0.1, lambda n: max(min(n, 4) / 8, n / 32)])
def test_curves_that_rise_slowly_or_by_stairs_are_not_given_a_plateau(rate: Callable[[int], float]) -> None:
    assert not noisy(rate, tasks=(1, 2, 4, 8, 16, 24, 32)).reached


def test_a_dip_is_no_end_of_the_plateau() -> None:
    found = noisy(lambda n: min(1.0, n / 4) * (0.8 if n == 8 else 1.0), tasks=(1, 2, 3, 4, 6, 8, 12, 16, 32))
    assert (found.knee, found.knee_low, found.knee_high) == (4, 4, 4)
    assert found.plateau_low < 2e9 < found.plateau_high


def test_trials_alike_in_a_row_widen_the_plateau() -> None:
    random = np.random.default_rng(2)
    walk = 0.01 * np.cumsum(random.standard_normal(30))
    tasks = [int(n) for n in random.permutation([1, 2, 4, 8, 16] * 6)]
    values: dict[int, list[float]] = {}
    order: dict[int, list[int]] = {}
    for at, (n, noise) in enumerate(zip(tasks, walk, strict=True)):
        values.setdefault(n, []).append(1e9 * min(1.0, n / 4) * float(np.exp(noise)))
        order.setdefault(n, []).append(at)
    without, with_order = estimate(values), estimate(values, order=order)
    assert with_order.correlation > 0.3
    assert with_order.plateau_high / with_order.plateau_low > 1.01 * without.plateau_high / without.plateau_low


@pytest.mark.parametrize("deviation", [0.02, 0.1, 0.2])
def test_independent_trials_are_seldom_said_to_be_alike(deviation: float) -> None:
    """However noisy they are: what a few noisy trials do not show is not their correlation."""
    alike = 0
    for seed in range(40):
        random = np.random.default_rng(seed)
        values: dict[int, list[float]] = {}
        order: dict[int, list[int]] = {}
        for at, n in enumerate(random.permutation([1, 2, 3, 4, 6, 8, 12, 16, 32] * 3)):
            rate = 1e9 * min(1.0, n / 4) * float(np.exp(deviation * random.standard_normal()))
            values.setdefault(int(n), []).append(rate)
            order.setdefault(int(n), []).append(at)
        alike += "much like the one before it" in estimate(values, order=order).why
    assert alike <= 2


@pytest.mark.parametrize(("rate", "differs"), [(1.99e9, False), (1.6e9, True), (2.1e9, False)])
def test_long_trials_replace_the_plateau_only_where_they_are_slower(rate: float, differs: bool) -> None:
    short = noisy(lambda n: min(1.0, 0.95 * n / 7.5))
    found = sustained(short, [0.995 * rate, rate, 1.005 * rate], 5.0, 16)
    assert found.differs == differs
    assert (found.plateau < 1.7e9) == differs
    assert (found.knee, found.knee_low, found.knee_high) == (short.knee, short.knee_low, short.knee_high)
    # What they say alone is held wherever they may differ.
    assert found.plateau_low <= max(rate, found.plateau) and found.plateau_high >= min(rate, found.plateau)


def test_long_trials_that_are_much_faster_contradict_the_short_ones() -> None:
    short = noisy(lambda n: min(1.0, 0.95 * n / 7.5))
    found = sustained(short, [2.79e9, 2.8e9, 2.81e9], 5.0, 16)
    assert not found.reached and found.knee is None
    assert "16 tasks went at 2 GB/s in short trials and at 2.8 GB/s in long ones" in found.why


def test_what_each_trial_gets_at_its_start_is_taken_out() -> None:
    short = noisy(lambda n: min(1.0, 0.95 * n / 7.5), noise=0.002)
    # Short trials move a tenth more than they would last; so do those of ten times their length, a hundredth more.
    long = sustained(short, [2e9 / 1.1 * 1.01] * 3, 10.0, 16)
    assert long.plateau == pytest.approx(2e9 / 1.1, rel=0.005)


def test_long_trials_are_compared_with_the_level_of_as_many_tasks() -> None:
    short = noisy(lambda n: min(1.0, 0.95 * n / 7.5), noise=0.002)
    share, _ = short.shares[8]
    level = share * short.plateau
    assert not sustained(short, [level] * 3, 5.0, 8).differs
    assert sustained(short, [0.96 * level] * 3, 5.0, 8).differs


def test_halves_of_a_trial_are_two_rates_only_where_noise_is_less() -> None:
    def series(before: int, after: int) -> dict[str, list[int]]:
        ends = [100_000_000 * (i + 1) for i in range(21)]
        moved = [before] * 10 + [after] * 11
        return {"task": [0] * 21, "start_ns": [end - 100_000_000 for end in ends], "end_ns": ends, "bytes": moved}

    assert halves_apart(series(1000, 700), 0.02, 100.0) is not None
    assert halves_apart(series(1000, 900), 0.02, 100.0) is None
    assert halves_apart(series(1000, 700), 0.1, 100.0) is None
    assert halves_apart(series(1000, 700), 0.02, 8.0) is None, "one operation more of each task"
    assert halves_apart({}, 0.0, 100.0) is None
