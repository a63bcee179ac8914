"""What front ends say beside an output that misleads, and that they are silent where it does not."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace as Shape
from typing import Any

import pytest
from tonnage.compat.ior import findings as ior
from tonnage.compat.mdtest import command as mdtest
from tonnage.compat.mdtest.request import OPERATIONS_MOST

MIB = 1 << 20


def rows(*seconds: float) -> list[Any]:
    """Repetitions of 100 MiB each."""
    return [Shape(bytes=100 * MIB, total=each, bandwidth=100 * MIB / each) for each in seconds]


def test_a_mean_of_rates_of_ior_is_told_with_the_rate_of_all() -> None:
    (told,) = ior._mean_rate("write", rows(1.0, 3.0))
    assert told.code == "mean-of-rates"
    assert told.text == ("write: Mean(MiB) 66.67 is a mean of rates; all bytes by all time are 50.00 MiB/s (+33.3%)")


@pytest.mark.parametrize("seconds", [(1.0,), (2.0, 2.0), (1.0, 1.05)])
def test_a_mean_of_rates_that_is_right_is_not(seconds: Sequence[float]) -> None:
    assert not list(ior._mean_rate("write", rows(*seconds)))


def findings_of_mdtest(seconds: Sequence[float], *, operations: int = 1000, files: bool = False) -> set[str]:
    """Codes after iterations of file creation that took so long."""
    tests = {
        ("create", number): Shape(seconds=each, counted=operations, tasks=[Shape(operations=operations)])
        for number, each in enumerate(seconds)
    }
    part = Shape(
        tests=tests, tasks=1, iterations=len(seconds), rates=lambda _phase: [operations / each for each in seconds]
    )  # fmt: skip
    request = Shape(unique=False, shared=False, times=False, operations_files=files)
    return {found.code for found in mdtest.findings(request, [part])}  # type: ignore[arg-type, list-item]


def test_a_mean_of_rates_of_mdtest_is_told_and_one_of_like_iterations_is_not() -> None:
    assert findings_of_mdtest((1.0, 3.0)) == {"mean-of-rates"}
    assert findings_of_mdtest((1.0, 1.1)) == set() == findings_of_mdtest((3.0,))


def test_operations_beyond_the_file_are_told_and_just_so_many_are_not() -> None:
    assert findings_of_mdtest((1.0,), operations=OPERATIONS_MOST, files=True) == set()
    assert findings_of_mdtest((1.0,), operations=OPERATIONS_MOST + 1, files=True) == {"operations-cut"}
    assert findings_of_mdtest((1.0,), operations=OPERATIONS_MOST + 1) == set()
