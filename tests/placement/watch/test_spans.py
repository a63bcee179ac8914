"""Looks become rows of five minutes that add up to the time that was looked at."""

from __future__ import annotations

import pytest
from tonnage.placement.watch.watch_history import SPAN_S, Span, Spans, by_the_hour

from .observations import EVERY_S, LONGEST_S, NOON_S, Clock, saw


def rows(loads: list[float | None], clock: Clock | None = None, *, lines: list[int] | None = None) -> list[Span]:
    """Of looks half a minute apart."""
    clock, spans, found = clock or Clock(), Spans(), list[Span]()
    for number, load in enumerate(loads):
        line = 8 if lines is None else lines[number]
        found += spans.update(saw(load, line), *clock(), longest_s=LONGEST_S)
        clock.go(EVERY_S)
    return [*found, *spans.close()]


def test_a_row_has_the_time_after_each_look_until_the_next_by_what_that_look_said() -> None:
    first, second = rows([6, 10, 10, None, 6, 6, 6, 6, 6, 6, 6, 12])
    assert (first.at_s, first.known_s, first.above_s, first.unknown_s) == (NOON_S, 270, 60, 30)
    assert (first.load_s / first.known_s, first.most) == (pytest.approx((7 * 6 + 20) / 9), 10)
    # Of the last look nothing is known yet, but that it was the last.
    assert (second.at_s, second.known_s, second.most) == (NOON_S + SPAN_S, 30, 6)


def test_a_look_over_the_border_of_two_rows_is_in_both() -> None:
    clock = Clock(at_s=NOON_S + 290)
    first, second = rows([9, 9], clock)
    assert (first.above_s, second.above_s) == (10, 20)


def test_time_that_nobody_looked_at_is_in_no_row() -> None:
    clock, spans = Clock(), Spans()
    assert spans.update(saw(9), *clock(), longest_s=LONGEST_S) == []
    clock.go(LONGEST_S + 1)
    spans.update(saw(9), *clock(), longest_s=LONGEST_S)
    assert spans.close() == []


def test_a_line_that_changes_begins_a_row_of_its_own() -> None:
    found = rows([9, 9, 9, 9], lines=[8, 8, 12, 12])
    assert [(row.line, row.known_s, row.above_s) for row in found] == [(8, 60, 60), (12, 30, 0)]


def test_a_server_without_a_line_has_no_rows() -> None:
    clock, spans = Clock(), Spans()
    for _ in range(4):
        spans.update(saw(9, None), *clock(), longest_s=LONGEST_S)
        clock.go(EVERY_S)
    assert spans.close() == []


def test_a_clock_set_back_loses_and_doubles_no_time() -> None:
    clock, spans, found = Clock(), Spans(), list[Span]()
    for number in range(41):
        found += spans.update(saw(9), *clock(), longest_s=LONGEST_S)
        clock.go(EVERY_S)
        clock.at_s -= 900 if number == 20 else 0
    found += spans.close()
    assert sum(row.above_s for row in found) == 40 * EVERY_S


def test_old_rows_become_hours_that_hold_the_same_time() -> None:
    found = rows([6, 10, None, 9, 7] * 60)
    hours = by_the_hour(found, NOON_S + 3600)
    assert len([row for row in hours if row.at_s < NOON_S + 3600]) == 1
    for name in ("known_s", "above_s", "unknown_s", "load_s"):
        assert sum(getattr(row, name) for row in hours) == pytest.approx(sum(getattr(row, name) for row in found))
    assert max(row.most for row in hours) == 10
    assert [row for row in found if row.at_s >= NOON_S + 3600] == hours[1:]
