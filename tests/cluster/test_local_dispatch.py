"""Whose turn it is: nothing beyond slots, caps and licences; nobody is overtaken for what they wait for."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tonnage.cluster.schedulers.local.rows import Waiting, next_turn


def job(number: int, **more: object) -> Waiting:
    usual = {"pending": 1, "running": 0, "slots": 1, "cap": None, "licences": ()}
    return Waiting(number=number, **{**usual, **more})  # type: ignore[arg-type]


def test_first_come_first_served_within_the_slots() -> None:
    turn = next_turn([job(1), job(2, pending=5), job(3)], 4, {})
    assert turn.starts == {1: 1, 2: 3}
    assert turn.reasons == {2: "waits for 1 free slot", 3: "behind job 2"}


def test_a_large_job_is_not_overtaken_by_small_ones() -> None:
    turn = next_turn([job(1, slots=4), job(2)], 3, {})
    assert turn.starts == {}
    assert turn.reasons == {1: "waits for 4 free slots", 2: "behind job 1"}


def test_a_job_at_its_cap_holds_back_nobody() -> None:
    turn = next_turn([job(1, pending=9, running=2, cap=2), job(2)], 2, {})
    assert turn.starts == {2: 1}
    assert turn.reasons == {1: "at most 2 at once"}


def test_a_cap_that_fell_below_what_runs_starts_nothing() -> None:
    assert next_turn([job(1, pending=9, running=5, cap=2)], 8, {}).starts == {}


def test_who_waits_for_a_licence_is_overtaken_only_by_those_who_want_none_of_it() -> None:
    queue = [job(1, licences=(("a", 2),)), job(2, licences=(("a", 1),)), job(3, licences=(("b", 1),)), job(4)]
    turn = next_turn(queue, 9, {"a": 1, "b": 1})
    assert turn.starts == {3: 1, 4: 1}
    assert turn.reasons == {1: "waits for licence a", 2: "waits for licence a"}


names = st.sampled_from("ab")
jobs = st.builds(
    Waiting,
    number=st.integers(1, 10**6),
    pending=st.integers(1, 9),
    running=st.integers(0, 4),
    slots=st.integers(1, 4),
    cap=st.none() | st.integers(1, 6),
    licences=st.dictionaries(names, st.integers(1, 3), max_size=2).map(lambda held: tuple(held.items())),
)
queues = st.lists(jobs, max_size=6, unique_by=lambda one: one.number).map(
    lambda found: sorted(found, key=lambda one: one.number)
)


@given(queues, st.integers(-2, 12), st.dictionaries(names, st.integers(-1, 5)))
def test_a_turn_stays_within_every_bound_and_leaves_nothing_that_could_start(
    queue: list[Waiting], free: int, licences: dict[str, int]
) -> None:
    turn = next_turn(queue, free, licences)
    starts = [(one, turn.starts.get(one.number, 0)) for one in queue]
    used = sum(count * one.slots for one, count in starts)
    assert used <= max(free, 0)
    for name in "ab":
        held = sum(count * dict(one.licences).get(name, 0) for one, count in starts)
        assert held <= max(licences.get(name, 0), 0)
    for one, count in starts:
        assert count <= one.pending
        assert one.cap is None or count == 0 or count + one.running <= one.cap
        assert (count == one.pending) != (one.number in turn.reasons), "what is left has a reason, and only that"
    # The first job of all is never refused what it could have.
    if queue:
        first = queue[0]
        bounds = [first.pending, max(free, 0) // first.slots]
        bounds += [max(licences.get(name, 0), 0) // count for name, count in first.licences]
        bounds += [] if first.cap is None else [max(first.cap - first.running, 0)]
        assert turn.starts.get(first.number, 0) == min(bounds)
