"""Sizes, times and shares: what is read, what is refused, and that writing and reading are inverse."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tonnage.errors import RequestError
from tonnage.units import (
    format_size,
    format_time,
    parse_rate,
    parse_share,
    parse_size,
    parse_time,
    rate_text,
    size_text,
)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("1MiB", 1 << 20),
        ("1MB", 10**6),
        ("4k", 4096),
        ("4kB", 4000),
        ("4kb", 4000),
        ("2GB", 2 * 10**9),
        ("1.5GiB", 3 << 29),
        ("47008", 47008),
        ("1B", 1),
        (" 8 MiB ", 8 << 20),
        ("1t", 1 << 40),
    ],
)
def test_a_size_is_read_as_written(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(
    "text", ["", "MiB", "1MX", "-1", "1iB", "1.5", "0.3k", "1e3", "١", "9" * 19, "8388608TiB", "1Mb"]
)
def test_what_is_no_size_is_refused_with_a_hint(text: str) -> None:
    with pytest.raises(RequestError, match="hint: "):
        parse_size(text)


@pytest.mark.parametrize(
    ("text", "time_ns"),
    [
        ("60s", 60 * 10**9),
        ("2m", 120 * 10**9),
        ("500ms", 5 * 10**8),
        ("60", 60 * 10**9),
        ("1.5h", 5400 * 10**9),
        ("20us", 20_000),
        ("7ns", 7),
    ],
)
def test_a_time_is_read_as_written(text: str, time_ns: int) -> None:
    assert parse_time(text) == time_ns


@pytest.mark.parametrize(
    ("rate", "text"),
    [
        (999.6e6, "1 GB/s"),
        (999.4e6, "999 MB/s"),
        (999.6, "1 kB/s"),
        (999.7e9, "1000 GB/s"),
        (12.3e12, "12300 GB/s"),
        (7, "7 B/s"),
    ],
)
def test_a_rate_never_has_an_exponent_nor_a_thousand_of_a_unit(rate: float, text: str) -> None:
    assert rate_text(rate) == text


def test_a_size_takes_the_next_unit_where_it_rounds_to_one() -> None:
    assert (size_text(1023), size_text((1 << 20) - 1), size_text(1 << 20)) == ("1023 B", "1 MiB", "1 MiB")


def test_rates_and_shares_are_read_as_written() -> None:
    assert parse_rate("2GB/s") == 2 * 10**9
    assert parse_share("20%") == parse_share("0.2") == 0.2
    with pytest.raises(RequestError):
        parse_share("120%")


@given(st.integers(0, 2**63 - 1))
def test_a_formatted_size_reads_back_as_itself(size: int) -> None:
    assert parse_size(format_size(size)) == size


@given(st.integers(0, 2**63 - 1))
def test_a_formatted_time_reads_back_as_itself(time_ns: int) -> None:
    assert parse_time(format_time(time_ns)) == time_ns


@given(st.text(max_size=12))
def test_any_text_is_a_size_or_a_request_error(text: str) -> None:
    for parse in (parse_size, parse_time, parse_rate, parse_share):
        try:
            assert parse(text) >= 0
        except RequestError:
            continue
