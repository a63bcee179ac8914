"""Where a trial becomes steady."""

from __future__ import annotations

import numpy as np
from tonnage.analysis.load_line.trial_checks import intervals, steady_window, truncation


def series(rates: list[float], tasks: int = 2, step: int = 10**8) -> dict[str, list[int]]:
    rows = [
        (i * step, (i + 1) * step, t, int(r * step / 1e9 / tasks)) for i, r in enumerate(rates) for t in range(tasks)
    ]
    starts, ends, numbers, moved = (list(column) for column in zip(*rows, strict=True))
    return {"start_ns": starts, "end_ns": ends, "task": numbers, "bytes": moved}


def test_the_slow_start_is_cut_and_nothing_else() -> None:
    window = steady_window(series([1e9] * 4 + [2e9] * 16))
    assert window is not None
    assert window.start_ns == 4 * 10**8
    assert (window.inside_per_s, window.whole_per_s) == (2 * 10**9, 18 * 10**8)


def test_a_trial_without_a_start_is_kept_whole() -> None:
    window = steady_window(series([2e9] * 20))
    assert window is not None
    assert window.start_ns == 0


def test_the_end_in_which_tasks_stop_is_not_steady() -> None:
    window = steady_window(series([2e9] * 19 + [5e8]))
    assert window is not None
    assert (window.end_ns, window.inside_per_s) == (19 * 10**8, 2 * 10**9)


def test_a_trial_that_never_settles_has_no_window() -> None:
    assert steady_window(series([1e9 + 1e8 * i for i in range(20)])) is None
    assert steady_window(series([1e9] * 3)) is None


def test_the_rule_is_the_smallest_squared_standard_error_within_the_first_half() -> None:
    values = list(np.random.default_rng(1).normal(10, 1, 40) + np.where(np.arange(40) < 8, 20, 0))
    errors = [np.var(values[d:]) / len(values[d:]) for d in range(21)]
    assert truncation(values) == int(np.argmin(errors)) == 8


def test_tasks_add_up_and_a_last_interval_cut_short_joins_the_one_before() -> None:
    table = series([2e9] * 5)
    table["end_ns"][-2:] = [4 * 10**8 + 10**7] * 2
    rows = intervals(table)
    assert len(rows) == 4
    assert rows[-1] == (3 * 10**8, 4 * 10**8 + 10**7, 4 * 10**8)
