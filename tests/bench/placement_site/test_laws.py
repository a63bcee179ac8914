"""Curves that were measured: their lines are those that the house's definition gives."""

from __future__ import annotations

import pytest
from placement_site.measured_curves import Law, ceph_read, gluster, iobsub, measured_laws
from small_sites import FALLING, FLAT


def test_a_line_is_the_first_number_of_tasks_within_five_per_cent_of_the_plateau() -> None:
    assert (FLAT.line(), FALLING.line()) == (4, 2)
    # 0.95 of 10 is reached between 4 tasks (8) and 8 (10): at 7.
    assert Law("bend", "made up", (1, 4, 8), (2.0, 8.0, 10.0)).line() == 7


def test_a_curve_is_straight_between_what_was_measured() -> None:
    assert FALLING.shares() == pytest.approx((0.0, 0.5, 1.0, 0.75, 0.5))


def test_the_lab_s_curve_has_the_line_that_its_probe_found() -> None:
    # bench/results/2026-11-22-epyc-2c/placement.md: 4 tasks [3, 4].
    assert gluster().line() == 4


def test_published_curves_hold_the_published_ratios() -> None:
    assert iobsub().shares()[50] == pytest.approx(2700 / 3780)
    assert (iobsub().line(), ceph_read().shares()[32]) == (8, pytest.approx(233.70 / 313.78))


def test_every_curve_names_its_source_and_reaches_its_line() -> None:
    every = measured_laws()
    assert len({law.name for law in every}) == len(every) == 8
    assert all(law.source and 1 <= law.line() <= law.tasks[-1] for law in every)
    assert {law.line() for law in every} >= {1, 15}
