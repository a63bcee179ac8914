"""The distributions that intervals use agree with scipy's."""

from __future__ import annotations

import numpy as np
import pytest
from tonnage.analysis.load_line.projection import fit_usl
from tonnage.analysis.statistics.intervals import f_tail, fair_binomial_cdf, log_normal_cdf, student_t_quantile

special = pytest.importorskip("scipy.special", reason="scipy is not installed: it is what these are compared with")

DEGREES = [0.3, 0.5, 1, 1.5, 2, 3, 4.7, 10, 33.3, 100, 1234.5, 1e5, 1e7]
CONFIDENCES = [0.01, 0.2, 0.5, 0.683, 0.9, 0.95, 0.99, 0.9999]


@pytest.mark.parametrize("degrees", DEGREES)
def test_quantiles_of_students_t(degrees: float) -> None:
    for confidence in CONFIDENCES:
        for probability in ((1 + confidence) / 2, (1 - confidence) / 2):
            theirs = float(special.stdtrit(degrees, probability))
            assert student_t_quantile(probability, degrees) == pytest.approx(theirs, rel=1e-10)


def test_students_t_without_degrees_or_with_very_many() -> None:
    assert np.isnan(student_t_quantile(0.975, 0)) and np.isnan(student_t_quantile(0.975, float("nan")))
    assert student_t_quantile(0.975, float("inf")) == pytest.approx(float(special.ndtri(0.975)), rel=1e-14)
    assert student_t_quantile(0.5, 3) == 0


def test_tails_of_f() -> None:
    for numerator in (1, 2, 3, 7.5, 30, 200):
        for denominator in (1, 2, 5, 11, 60.5, 1000):
            for value in (0.0, 1e-6, 0.1, 0.9, 1.0, 1.7, 4, 30, 1e4):
                theirs = float(special.fdtrc(numerator, denominator, value))
                assert f_tail(value, numerator, denominator) == pytest.approx(theirs, rel=1e-10, abs=1e-290)


def test_coins() -> None:
    for tosses in (1, 2, 5, 20, 101, 1500):
        for most in {0, 1, tosses // 3, tosses // 2, tosses - 1, tosses}:
            truth = float(special.bdtr(most, tosses, 0.5))
            assert fair_binomial_cdf(most, tosses) == pytest.approx(truth, rel=1e-10, abs=1e-290)
    assert fair_binomial_cdf(-1, 5) == 0
    for tosses in (1001, 2500, 30_001, 250_000):
        for most in (-1, 0, tosses // 2 - int(tosses**0.5), tosses // 2, tosses - 1, tosses):
            known = float(special.bdtr(most, tosses, 0.5)) if most >= 0 else 0.0
            assert fair_binomial_cdf(most, tosses) == pytest.approx(known, rel=1e-9, abs=1e-290), (most, tosses)


def test_logarithms_of_the_normal_distribution_function() -> None:
    values = np.concatenate([np.linspace(-60, 12, 2881), [-1e3, -1e8, -30, 0, 1e8]]).reshape(2, -1)
    np.testing.assert_allclose(log_normal_cdf(values), special.log_ndtr(values), rtol=1e-11, atol=1e-300)


def test_the_universal_law_is_the_least_squares_of_coefficients_that_are_not_negative() -> None:
    nnls = pytest.importorskip("scipy.optimize").nnls
    draw = np.random.default_rng(5)
    for _ in range(300):
        tasks = sorted(draw.choice(64, size=int(draw.integers(1, 9)), replace=False) + 1)
        rates = np.exp(draw.normal(20, 1, len(tasks)))
        n = np.asarray(tasks, float)
        inverse = n / rates
        columns = np.column_stack([np.ones_like(n), n - 1, n * (n - 1)]) / inverse[:, None] * inverse[0]
        (base, contention, coherency), misfit = nnls(columns, np.ones_like(n))
        found = fit_usl(tasks, list(rates))
        mine = np.array([1, found["contention"], found["coherency"]]) / (found["one"] * inverse[0])
        assert np.linalg.norm(columns @ mine - 1) == pytest.approx(misfit, rel=1e-7, abs=1e-9)
        assert (mine >= 0).all()
        if len(tasks) > 3:
            np.testing.assert_allclose(mine, [base, contention, coherency], rtol=1e-5, atol=1e-9)
