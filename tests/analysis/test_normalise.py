"""Figures are divided by what they name, and bits are never taken for bytes."""

from __future__ import annotations

import pytest
from tonnage.analysis.compare.divisors import Owner, given_to
from tonnage.analysis.compare.normalise import Basis, normalise, parse_link, parse_per, require_like_units
from tonnage.errors import RequestError

MIB = 1 << 20


@pytest.mark.parametrize(
    ("text", "bytes_per_s"),
    [
        ("1Gbit/s", 125e6),
        ("1 Gbit/s", 125e6),
        ("100Mbps", 12.5e6),
        ("10 Gbit/s", 1.25e9),
        ("125MB/s", 125e6),
        ("2.5Gbits/s", 312.5e6),
        ("1GiB/s", 2**30),
    ],
)
def test_a_link_is_read_in_bytes_whatever_its_unit(text: str, bytes_per_s: float) -> None:
    assert parse_link(text) == Basis("link", None, bytes_per_s)


@pytest.mark.parametrize("text", ["1G", "1Gb/s", "1 G/s", "1GigE", "1Gb"])
def test_a_rate_that_may_be_bits_or_bytes_is_refused_with_both_ways_to_write_it(text: str) -> None:
    with pytest.raises(RequestError, match=r"hint: write 1Gbit/s \(that is 125 MB/s\) or 1GB/s"):
        parse_link(text)


@pytest.mark.parametrize("text", ["", "fast", "0Gbit/s", "-1Gbit/s", "1GB", "1.2.3Mbit/s", "1Kbit/s", "10"])
def test_what_is_no_rate_of_a_link_is_refused(text: str) -> None:
    with pytest.raises(RequestError, match="; hint: write "):
        parse_link(text)


def test_things_are_counted_under_the_name_they_were_given() -> None:
    assert parse_per("disk=10") == Basis("disk", 10, None)
    assert str(parse_per("Server = 1")) == "1 server" and str(parse_per("disk=10")) == "10 disks"
    assert str(parse_link("1Gbit/s")) == "a link of 1 Gbit/s (125 MB/s)"


@pytest.mark.parametrize("text", ["10", "disk=0", "disk=-1", "disk=1.5", "=4", "disk", "link=2"])
def test_a_number_of_nothing_is_refused(text: str) -> None:
    with pytest.raises(RequestError, match="hint"):
        parse_per(text)


def test_value_and_interval_are_divided_require_like_units() -> None:
    found = normalise(3500 * MIB, "B/s", parse_per("disk=50"), 3000 * MIB, 4000 * MIB)
    assert (found.value, found.low, found.high, found.unit) == (70 * MIB, 60 * MIB, 80 * MIB, "B/s per disk")
    alone = normalise(1000.0, "1/s", parse_per("server=4"))
    assert (alone.value, alone.low, alone.high, alone.unit) == (250, 250, 250, "1/s per server")


def test_a_gigabit_link_carries_an_eighth_of_a_gigabyte() -> None:
    found = normalise(219.19 * MIB, "B/s", parse_link("1Gbit/s"))
    assert found.unit == "of the link" and found.value == pytest.approx(1.839, abs=1e-3)


def test_operations_are_no_share_of_a_link() -> None:
    with pytest.raises(RequestError, match="which carries bytes; hint"):
        normalise(1000.0, "1/s", parse_link("1Gbit/s"))


def test_unlike_things_are_told_apart() -> None:
    disks, servers, link = parse_per("disk=10"), parse_per("server=4"), parse_link("1Gbit/s")
    require_like_units(disks, parse_per("disk=50"))
    require_like_units(link, parse_link("10Gbit/s"))
    for first, second in ((disks, servers), (disks, link), (link, servers)):
        with pytest.raises(RequestError, match="unlike things; hint"):
            require_like_units(first, second)


@pytest.mark.parametrize("asked", ["osd", "osds", "OSD"])
def test_runs_on_pools_are_compared_by_the_osds_that_their_clusters_counted(asked: str) -> None:
    small, large = (Owner(f"run{count}", (Basis("OSD", count, None),), "it") for count in (3, 12))
    assert [basis.count for basis in given_to(asked, [[small], [large]], "run")] == [3, 12]
    disks = Owner("other", (Basis("disk", 3, None),), "it")
    with pytest.raises(RequestError, match="unlike things; hint"):
        given_to(asked, [[small], [disks]], "run")
