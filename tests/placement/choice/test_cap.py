"""Copies at once: the load line, shared and without jumps."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some
from tonnage.placement.task_caps import Capacity, Demand, Plateau, choose_cap, line_in_use


def carried(tasks: int = 8, low: int = 6, high: int = 10, **given: Any) -> Capacity:
    return Capacity(tasks=tasks, low=low, high=high, source="measured", **given)


def cap(line: Capacity | None, io_share: float = 1.0, **given: Any) -> tuple[int | None, str]:
    plain = {"asked": "auto", "copies": 50, "slots": None, "cpu_bound_below": 0.1}
    return choose_cap(Demand(bytes=1, operations=1, io_share=io_share), line, **{**plain, **given})


def test_the_cap_is_the_line_over_the_share_of_its_time_that_a_copy_waits_for_storage() -> None:
    assert cap(carried())[0] == 8
    assert cap(carried(), 0.5)[0] == 16
    assert cap(carried(tasks=3, low=3, high=3), 0.1)[0] == 30


def test_it_is_at_most_the_copies_and_the_slots_and_at_least_one() -> None:
    assert cap(carried(), copies=5)[0] == 5
    limit, why = cap(carried(), slots=3)
    assert limit == 3 and "slots for 3" in why
    assert cap(carried(promised=20))[0] == 1


def test_what_other_capped_jobs_may_use_is_taken_off() -> None:
    limit, why = cap(carried(promised=5))
    assert limit == 3 and "other jobs may use 5" in why


def test_a_job_that_computes_is_not_capped() -> None:
    limit, why = cap(carried(), 0.03)
    assert limit is None and "3%" in why
    assert cap(carried(), 0.0, cpu_bound_below=0.0)[0] is None


def test_without_a_line_there_is_no_cap_and_a_hint() -> None:
    limit, why = cap(None)
    assert limit is None and "tonnage probe" in why


def test_a_number_is_taken_as_it_is() -> None:
    assert cap(carried(), asked=3)[0] == 3
    assert cap(None, asked=80)[0] == 50
    assert cap(carried(), 0.01, asked=3)[0] == 3


@pytest.mark.parametrize(("kept", "used"), [(None, 8), (6, 6), (10, 10), (5, 8), (11, 8)])
def test_the_last_line_stays_while_the_newest_measurement_does_not_contradict_it(kept: int | None, used: int) -> None:
    line = carried(kept=kept)
    assert line_in_use(line) == used
    limit, why = cap(line)
    assert limit == used
    assert ("not contradict" in why) == (used != 8)


def demand_at(rate: int, *, plateau: int = 1000, line: int = 8, io_share: float = 0.0, single: int = 0) -> Demand:
    """A demand that a run measured, against a line."""
    known = Demand(bytes=1, operations=1, io_share=io_share, bytes_per_s=rate, measured=True, source="measured in RUN")
    return known.against(Plateau(tasks=line, bytes_per_s=plateau, single_bytes_per_s=single))


def cap_of(demand: Demand, line: Capacity | None = None, **given: Any) -> tuple[int | None, str]:
    plain = {"asked": "auto", "copies": 50, "slots": None, "cpu_bound_below": 0.1}
    return choose_cap(demand, line or carried(), **{**plain, **given})


def test_jobs_whose_rate_is_half_of_the_plateau_run_two_at_a_time() -> None:
    limit, why = cap_of(demand_at(500), carried(servers=("rcss1",)))
    assert limit == 2
    assert why == (
        "2 at once: rcss1's load line: measured; each copy asks 4: its 500 B/s is 50% of the plateau (measured in RUN)"
    )


def test_the_larger_of_waiting_and_rate_is_what_a_copy_asks() -> None:
    assert demand_at(250, io_share=1.0).tasks == 2
    assert demand_at(100, io_share=1.0).tasks == 1
    assert demand_at(500, io_share=0.02).tasks == 4, "threads that compute beside do not hide a rate"


def test_two_that_were_measured_a_little_above_half_are_two_and_well_above_are_one() -> None:
    assert cap_of(demand_at(530))[0] == 2
    assert cap_of(demand_at(600))[0] == 1


def test_what_the_indices_show_of_others_is_taken_off() -> None:
    limit, why = cap_of(demand_at(250), carried(others=4))
    assert limit == 2 and why.endswith("; by its indices others use 4 of it")
    assert cap_of(demand_at(250), carried(others=4, promised=2))[0] == 1
    limit, why = cap_of(demand_at(250), carried(others=12))
    assert limit == 1 and why.endswith("; by its indices others use all of it")


def test_of_a_job_that_nobody_measured_others_are_taken_off_where_a_plateau_tells_them() -> None:
    limit, why = cap(carried(others=4, others_by_rate=True))
    assert limit == 4 and why.endswith("; by its indices others use 4 of it")
    assert cap(carried(others=4, others_by_rate=True), 0.5)[0] == 8
    assert cap(carried(others=4, others_by_rate=True), asked=6)[0] == 6
    # Time in which something waited is a guess, and what is not known is not counted: both are not said.
    for line in (carried(others=4), carried(others=0, others_by_rate=True), carried(silent=True)):
        limit, why = cap(line)
        assert limit == 8 and "ind" not in why


def test_idle_and_silent_indices_are_told_apart() -> None:
    assert cap_of(demand_at(250), carried(others=0))[1].endswith("; by its indices nothing else uses it")
    assert cap_of(demand_at(250), carried(silent=True))[1].endswith(
        "; its indices tell nothing of now and do not count"
    )
    assert "ind" not in cap_of(demand_at(250), carried())[1]


def test_a_program_of_threads_that_never_waits_is_no_job_that_computes_where_its_rate_is_high() -> None:
    assert cap_of(demand_at(500, io_share=0.0))[0] == 2
    assert cap_of(demand_at(5, io_share=0.0))[0] is None


def test_a_rate_without_a_plateau_is_not_counted_and_said_so() -> None:
    known = Demand(bytes=1, operations=1, io_share=0.5, bytes_per_s=10**9, measured=True, source="RUN").against(None)
    limit, why = cap_of(known)
    assert limit == 16 and "the plateau is not known" in why


@given(some.floats(0.1, 1), some.integers(1, 500), some.floats(0, 600), some.integers(1, 1000))
def test_a_cap_is_always_a_number_of_copies(io_share: float, tasks: int, promised: float, copies: int) -> None:
    limit, _ = cap(carried(tasks=tasks, low=tasks, high=tasks, promised=promised), io_share, copies=copies)
    assert limit is not None and 1 <= limit <= copies
    assert limit == 1 or limit * io_share <= tasks - promised + 1e-6
