"""Slurm's way to write many hosts, both ways."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tonnage.cluster.hostlist import fold, how_many, unfold


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("", ()),
        ("a1", ("a1",)),
        ("a[1-3],login", ("a1", "a2", "a3", "login")),
        ("n[008-011,020]", ("n008", "n009", "n010", "n011", "n020")),
        ("r[1-2]n[1-2]x", ("r1n1x", "r1n2x", "r2n1x", "r2n2x")),
    ],
)
def test_a_list_names_each_host(text: str, hosts: tuple[str, ...]) -> None:
    assert unfold(text) == hosts


def test_ten_thousand_hosts_are_one_short_word() -> None:
    assert fold(f"node{number:05}" for number in range(10_000)) == "node[00000-09999]"


@given(st.sets(st.from_regex(r"[a-z]{1,3}(-?[0-9]{1,4})?[a-z]?", fullmatch=True)))
def test_folded_and_unfolded_it_is_the_same(hosts: set[str]) -> None:
    assert sorted(unfold(fold(hosts))) == sorted(hosts)


def test_what_is_no_range_is_left_as_it_is() -> None:
    assert unfold("a[x,2-y,1-2],b") == ("ax", "a2-y", "a1", "a2", "b")


@pytest.mark.parametrize(
    ("text", "number"),
    [("", 0), ("a1", 1), ("a[1-3],login", 4), ("r[1-2,7]n[01-10]x", 30), ("a[x,2-y,1-2],b", 5), ("n[3-1]", 0)],
)
def test_hosts_are_counted_as_they_are_named(text: str, number: int) -> None:
    assert how_many(text) == len(unfold(text)) == number


def test_counting_makes_no_names() -> None:
    assert how_many("r[1-999999999999]n[1-999999999999]") == 999_999_999_999**2
