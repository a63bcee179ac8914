"""Numbers as a person reads them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tonnage import units


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 B/s"),
        (999, "999 B/s"),
        (1_920_000_000, "1.92 GB/s"),
        (19_230_000, "19.2 MB/s"),
        (999_600_000, "1.00 GB/s"),
        (12_345, "12.3 kB/s"),
        (None, "–"),
    ],
)
def test_a_rate_has_three_digits_and_a_decimal_unit(value: int | None, text: str) -> None:
    assert units.rate(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 ns"),
        (850, "850 ns"),
        (12_340, "12.3 µs"),
        (4_560_000, "4.56 ms"),
        (999_900, "1.00 ms"),
        (1_234_000_000, "1.23 s"),
        (90_000_000_000, "90.0 s"),
        (None, "–"),
    ],
)
def test_a_duration_has_three_digits(value: int | None, text: str) -> None:
    assert units.duration(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(4096, "4 KiB"), (1 << 20, "1 MiB"), (3 << 30, "3 GiB"), (512, "512 B"), (3_200_000_001, "3.20 GB")],
)
def test_a_size_is_exact_in_powers_of_two_or_rounded_in_powers_of_ten(value: int, text: str) -> None:
    assert units.size(value) == text


@pytest.mark.parametrize(("value", "text"), [(12_345, "12,345"), (1_230_000, "1.23 M"), (0, "0")])
def test_a_count_is_exact_below_a_million(value: int, text: str) -> None:
    assert units.count(value) == text


def test_a_share_is_never_rounded_up_to_all_of_it() -> None:
    assert units.share(0.9999) == "99.9 %"
    assert units.share(1.0) == "100 %"
    assert units.share(0.0) == "0 %"


@given(st.floats(min_value=1.0, max_value=1e15))
def test_a_printed_rate_is_within_half_a_digit_of_the_value(value: float) -> None:
    number, unit = units.rate(value).split(" ")
    factor = {"B/s": 1.0, "kB/s": 1e3, "MB/s": 1e6, "GB/s": 1e9, "TB/s": 1e12, "PB/s": 1e15}[unit]
    assert abs(float(number) * factor - value) <= 0.0051 * value


def test_a_small_ratio_is_not_told_as_nothing() -> None:
    assert [units.ratio(value) for value in (0.00208, 0.1, 0.98, 12.4)] == ["0.0021", "0.10", "0.98", "12"]


def test_an_interval_that_says_nothing_is_told_in_words() -> None:
    assert units.interval(1.0, 99.0, units.ratio) == "1.00 – 99"
    assert units.interval(5.91e-10, 302868341956, units.significant) == "not known"
    assert units.interval(0.0, 1.0, units.ratio) == "not known"


@pytest.mark.parametrize(("per_s", "text"), [(999.6, "1.00 k/s"), (999_600, "1.00 M/s"), (12_345, "12.3 k/s")])
def test_operations_are_carried_into_the_next_unit(per_s: float, text: str) -> None:
    assert units.operations(per_s) == text


@pytest.mark.parametrize(
    ("low", "high", "ends"),
    [(1.9481e9, 2.0521e9, (1.94e9, 2.06e9)), (999.96e6, 1.0001e9, (999e6, 1.01e9)), (0.4512, 0.4518, (0.451, 0.452))],
)
def test_ends_of_an_interval_are_rounded_away_from_each_other(
    low: float, high: float, ends: tuple[float, float]
) -> None:
    assert units.outward(low, high) == pytest.approx(ends, rel=1e-9)
