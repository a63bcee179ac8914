"""Trials as columns: the same whether the engine keeps them or they were read one by one."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tonnage.records import Trials

native = pytest.importorskip("tonnage._native", reason="the engine is not built: run make build")

LINES: list[dict[str, Any]] = [
    {"record": "0000-write", "phase": "write", "setting": {"tasks": 2}, "trial": 2, "cache": None, "direct": True},
    {
        "record": "0001-read",
        "phase": "read",
        "setting": {"tasks": 2},
        "trial": 1,
        "cache": {"state": "cold", "holes": 3},
    },
    {"record": "0002-write", "phase": "write", "setting": {"tasks": 4}, "trial": 0, "cache": {"state": "warm"}},
    {"record": "0003-write", "phase": "write", "setting": {"tasks": 2}, "trial": 3, "cache": {}, "direct": False},
]


def kept(lines: list[dict[str, Any]]) -> Any:
    """The same lines as the engine keeps them."""
    with tempfile.TemporaryDirectory() as place:
        path = Path(place, "trials.jsonl")
        path.write_bytes("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode())
        return native.Rows.read(str(path))


@pytest.fixture(params=["engine", "plain"])
def trials(request: pytest.FixtureRequest) -> Trials:
    return Trials(kept(LINES)) if request.param == "engine" else Trials.of(LINES)


def test_lines_that_have_something_are_found_and_so_are_those_that_lack_it(trials: Trials) -> None:
    assert trials.where_set("cache").records == ["0001-read", "0002-write"]
    assert trials.where_set("cache", "holes").records == ["0001-read"]
    assert trials.where_unset("direct").records == ["0001-read", "0002-write", "0003-write"]
    assert trials.only(np.array([False, True, False, True])).records == ["0001-read", "0003-write"]
    assert not trials.where_set("nothing")


def test_a_word_chooses_lines_and_what_is_chosen_can_be_chosen_from(trials: Trials) -> None:
    writes = trials.where("phase", "write")
    assert writes.records == ["0000-write", "0002-write", "0003-write"]
    assert writes.where_set("cache").records == ["0002-write"]
    assert writes.by_record["0003-write"]["trial"] == 3
    assert writes.named(["0003-write", "0000-write"]).column("trial") == [3, 2]
    assert (len(writes[1:]), writes[-1]["record"]) == (2, "0003-write")
    assert trials.named(writes.names).column("trial") == [2, 0, 3]
    assert writes.named(trials.names[2:]).column("trial") == [0, 3]
    assert Trials.of(LINES[::-1]).named(writes.names).column("record") == writes.records
    assert trials.where("phase", "write", "read").records == trials.records
    assert trials.where_not("phase", "write").records == ["0001-read"]
    assert not trials.where("phase", "stat")


def test_figures_of_an_object_are_0_where_there_is_none(trials: Trials) -> None:
    found = trials.figures("cache", "holes", "state", "nothing")
    assert [column.tolist() for column in found] == [[0, 3, 0, 0], [0] * 4, [0] * 4]
    assert [column.tolist() for column in trials.where("phase", "read").figures("cache", "holes")] == [[3]]
    assert trials.distinct("setting") == [{"tasks": 2}, {"tasks": 4}]
    assert trials.seen("cache", "state") == {None, "cold", "warm"}
    assert trials.where("phase", "read").seen("cache", "state") == {"cold"}
    assert trials.has_value("direct").tolist() == [True, False, False, True]
    assert trials.has_value("cache").tolist() == [False, True, True, True]


def test_numbers_are_added_and_put_in_order_unless_one_is_not_known(trials: Trials) -> None:
    assert trials.total("trial") == 6
    assert trials[1:3].ascending("trial") == [0, 1]
    assert trials.total("cache", "holes") is None
    assert trials.where("phase", "read").total("cache", "holes") == 3
    assert np.isnan(trials.floats("cache", "holes")).tolist() == [True, False, True, True]
    assert trials.floats("setting", "tasks").tolist() == [2, 2, 4, 2]
    assert trials.numbers("cache", "state") is None


@pytest.mark.parametrize("bits", [61, 62, 80], ids=lambda bits: f"{bits} bits")
def test_no_digit_of_a_sum_is_lost_however_large_it_is(bits: int) -> None:
    lines = [{"bytes": 2**bits - number} for number in range(1, 9)]
    for trials in (Trials(kept(lines)), Trials.of(lines)):
        assert trials.total("bytes") == 8 * 2**bits - 36
        assert trials.ascending("bytes") == [2**bits - number for number in range(8, 0, -1)]
        assert trials.floats("bytes").tolist() == [float(line["bytes"]) for line in lines]


def test_equal_settings_come_together_in_the_order_of_their_first_lines(trials: Trials) -> None:
    found = trials.where("phase", "write").by("setting", "phase")
    assert [(values, same.records) for values, same in found] == [
        (({"tasks": 2}, "write"), ["0000-write", "0003-write"]),
        (({"tasks": 4}, "write"), ["0002-write"]),
    ]
    assert found[0][1].joined([found[1][1]], "trial").column("trial") == [0, 2, 3]
    assert trials.where("phase", "stat").by("phase") == []


def test_a_value_that_is_no_integer_is_found_wherever_a_key_has_one(trials: Trials) -> None:
    found = trials.not_integers(lambda key: key in ("trial", "direct", "cache"))
    assert sorted({(line["record"], key) for line, key in found}) == [
        ("0000-write", "direct"), ("0001-read", "cache"), ("0002-write", "cache"), ("0003-write", "cache"),
        ("0003-write", "direct"),
    ]  # fmt: skip


KEYS = st.sampled_from(("a", "b", "c", "ü"))
INTEGERS = st.integers(-(2**70), 2**70)
PLAIN = st.none() | st.booleans() | INTEGERS | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=4)
VALUES = PLAIN | st.lists(PLAIN, max_size=2) | st.dictionaries(KEYS, PLAIN | st.dictionaries(KEYS, PLAIN), max_size=3)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.dictionaries(KEYS, VALUES, max_size=4), min_size=1, max_size=8))
def test_the_engine_and_plain_lines_tell_the_same_of_any_lines(lines: list[dict[str, Any]]) -> None:
    engine, plain = kept(lines), Trials.of(lines)._columns
    rows = b"".join(row.to_bytes(8, sys.byteorder) for row in range(len(lines)))
    assert [dict(engine.row(row)) for row in range(len(lines))] == lines
    assert engine.keys() == plain.keys()
    for path in (("a",), ("ü",), ("a", "b"), ("b", "b")):
        assert engine.kinds(*path) == plain.kinds(*path)
        assert repr(engine.column(rows, *path)) == repr(plain.column(rows, *path))
        codes, values = engine.codes(*path)
        assert (codes, repr(values)) == (plain.codes(*path)[0], repr(plain.codes(*path)[1]))
        assert engine.numbers(rows, *path) == plain.numbers(rows, *path)
    assert engine.integers("a") == plain.integers("a")
