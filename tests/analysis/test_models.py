"""Fits give back the law that made the points."""

from __future__ import annotations

import pytest
from tonnage.analysis.load_line.projection import fit, fit_hinge, fit_usl, hinge, usl

TASKS = (1, 2, 4, 8, 16, 32)


def test_usl_parameters_are_found_again() -> None:
    found = fit_usl(TASKS, [usl(n, 3e8, 0.05, 0.002) for n in TASKS])
    assert found == pytest.approx({"one": 3e8, "contention": 0.05, "coherency": 0.002}, rel=1e-6)


def test_hinge_parameters_are_found_again() -> None:
    found = fit_hinge(TASKS, [hinge(n, 2e9, 5.0) for n in TASKS])
    assert found == pytest.approx({"plateau": 2e9, "knee": 5.0}, rel=0.02)


def test_two_points_fit_nothing() -> None:
    assert fit("write", "", (1, 2), (1e9, 2e9)) == []


def test_a_curve_spans_what_was_tried() -> None:
    for model in fit("write", "", TASKS, [hinge(n, 2e9, 5.0) for n in TASKS]):
        assert model.curve[0][0] == 1
        assert model.curve[-1][0] == pytest.approx(32)
        assert all(rate > 0 for _, rate in model.curve)
