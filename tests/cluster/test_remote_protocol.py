"""Whatever comes over a host group's pipe is read as answers or told of as none, and never a fault of ours."""

from __future__ import annotations

import json

import tonnage
from hypothesis import given, settings
from hypothesis import strategies as st
from tonnage.cluster.remote.agent import line, read
from tonnage.cluster.remote.host_process import HostProcess

HELLO = b"tonnage-agent " + line({"version": tonnage.__version__, "host": "far", "python": "3.11.2", "pid": 1})
ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=7), inner, max_size=3),
)


def hand() -> HostProcess:
    """One that goes nowhere: what it hears is given to it."""
    found = HostProcess(["tonnage-way-that-is-nowhere"], b"")
    found.problem = None
    return found


def cut(raw: bytes, at: list[int]) -> list[bytes]:
    """In pieces, as a pipe gives them."""
    places = sorted({place % (len(raw) + 1) for place in at})
    return [raw[one:other] for one, other in zip([0, *places], [*places, len(raw)], strict=True)]


@settings(max_examples=300, deadline=None)
@given(raw=st.binary(max_size=400), greeted=st.booleans(), at=st.lists(st.integers(0, 400), max_size=5))
def test_any_bytes_are_read(raw: bytes, greeted: bool, at: list[int]) -> None:
    far = hand()
    for piece in cut((HELLO if greeted else b"") + raw, at):
        far.take(piece)
    assert far.problem is None or far.problem.startswith(("its answer is none: ", "what answers there is no Tonnage: "))
    assert not far.answers


@settings(max_examples=200, deadline=None)
@given(said=ANY, greeted=st.booleans())
def test_any_json_is_read(said: object, greeted: bool) -> None:
    far = hand()
    far.ask(1, "facts", {})
    far.take((HELLO if greeted else b"tonnage-agent ") + json.dumps(said).encode() + b"\n")
    if far.problem is None:
        assert isinstance(said, dict) and ({"id", "value", "problem"} <= set(said) or {"version", "host"} <= set(said))


@settings(max_examples=200, deadline=None)
@given(
    values=st.lists(st.text() | st.binary().map(lambda raw: raw.decode("utf-8", "surrogateescape")), min_size=1),
    noise=st.lists(st.text("abc {}", max_size=9), max_size=3),
    at=st.lists(st.integers(0, 10**6), max_size=9),
)
def test_answers_arrive_as_they_were_given_whichever_way_they_are_cut(
    values: list[str], noise: list[str], at: list[int]
) -> None:
    far = hand()
    raw = "".join(f"{text}\n" for text in noise).encode() + HELLO
    for number, value in enumerate(values):
        far.ask(number, "facts", {})
        raw += line({"id": number, "value": {"out": value}, "problem": None})
    for piece in cut(raw, at):
        far.take(piece)
    assert far.problem is None
    assert [far.answers[number].value["out"] for number in range(len(values))] == values


def test_a_line_that_goes_too_deep_is_no_answer() -> None:
    far = hand()
    far.take(HELLO + b"[" * 1_000_000 + b"\n")
    assert (far.problem or "").startswith("its answer is none: '[[[")


def test_an_answer_that_nobody_waits_for_is_dropped() -> None:
    far = hand()
    far.ask(1, "facts", {})
    far.forget(1)
    far.take(HELLO + line({"id": 1, "value": 7, "problem": None}))
    assert far.problem is None and far.answers == {} and read(b'{"a": 1}') == {"a": 1}
