"""The trials of a run in the order of time, as ``tonnage report`` draws them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import text_run

FALLING = (1000, 980, 955, 930, 900, 880, 850, 835, 810, 790)
"""MB/s of trials of one setting, one every ten minutes."""


def falling(more: int = 10) -> list[dict[str, Any]]:
    minutes = [f"2026-03-02T{8 + 10 * n // 60:02d}:{10 * n % 60:02d}:00.000Z" for n in range(10)]
    four = [text_run.trial(n, minutes[n], rate * 10**6, text_run.setting()) for n, rate in enumerate(FALLING)]
    eight = [
        text_run.trial(10 + n, minutes[n].replace(":00.000", ":30.000"), 2 * rate * 10**6, text_run.setting(tasks=8))
        for n, rate in enumerate(FALLING)
    ]
    return [*four, *eight][:more]


def marks(figure: dict[str, Any]) -> list[tuple[str, float]]:
    """Time and height of each."""
    return [
        (x, y)
        for trace in figure["traces"]
        if trace["mode"] == "markers"
        for x, y in zip(trace["x"], trace["y"], strict=True)
    ]


def test_each_trial_stands_at_its_time_of_day_at_its_share_of_its_settings_median(tmp_path: Path) -> None:
    section = text_run.reported(text_run.write(tmp_path / "run", falling(20)))["over-time"]
    relative, absolute = section["variants"][0]["figures"]
    drawn = marks(relative)
    assert len(drawn) == 20
    assert drawn[0] == ("2026-03-02 08:00:00.000", pytest.approx(1000 / 890, rel=1e-3))
    # The settings have other levels, and the same share of their own.
    assert sorted(y for _, y in drawn)[-2:] == pytest.approx([1000 / 890] * 2, rel=1e-3)
    assert [y for _, y in marks(absolute)][:2] == pytest.approx([1.0, 0.98])
    assert relative["layout"]["xaxis"]["title"]["text"] == "Time of day (UTC), 2026-03-02"
    assert relative["table"]["rows"][0][0] == "2026-03-02 08:00:00"


def test_a_drift_that_was_found_is_told_above_the_picture_and_the_line_of_neighbours_falls(tmp_path: Path) -> None:
    section = text_run.reported(text_run.write(tmp_path / "run", falling()))["over-time"]
    assert "write: throughput drifted by -21 % from the first trial to the last" in section["introduction"]
    (line,) = [trace for trace in section["variants"][0]["figures"][0]["traces"] if trace["mode"] == "lines"]
    assert line["y"] == sorted(line["y"], reverse=True) and len(line["y"]) == 3


def test_a_trial_in_which_a_task_stood_still_is_a_cross(tmp_path: Path) -> None:
    stall = {"time_ns": 20 * text_run.SECOND, "trial": 2, "record": "0002-write", "kind": "stall", "task": 0}
    run = text_run.write(tmp_path / "run", falling(), [stall | {"duration_ns": 1_200_000_000}])
    figure = text_run.reported(run)["over-time"]["variants"][0]["figures"][0]
    assert [symbol == "x" for symbol in figure["traces"][0]["marker"]["symbol"]] == [n == 2 for n in range(10)]
    assert "A cross: a task stood still, or tried again (1)." in figure["caption"]


def test_settings_that_ran_once_are_in_no_order_and_a_clock_of_a_model_is_no_time_of_day(tmp_path: Path) -> None:
    once = [text_run.trial(n, f"2026-03-02T08:0{n}:00Z", 10**9, text_run.setting(tasks=n + 1)) for n in range(6)]
    assert "over-time" not in text_run.reported(text_run.write(tmp_path / "once", once))
    untold = [line | {"started": "at noon"} for line in falling()]
    assert "over-time" not in text_run.reported(text_run.write(tmp_path / "untold", untold))
    model = text_run.write(tmp_path / "model", falling(), target={"kind": "sim", "name": "model"})
    figure = text_run.reported(model)["over-time"]["variants"][0]["figures"][0]
    assert [x for x, _ in marks(figure)] == [10.0 * n for n in range(10)]


def test_of_very_many_trials_each_stretch_keeps_its_slowest_and_its_fastest(tmp_path: Path) -> None:
    rates = [10**9 + 10**5 * (n * 37 % 100) for n in range(1500)]
    rates[777], rates[1111] = 2 * 10**8, 3 * 10**9
    lines = [
        text_run.trial(n, f"2026-03-02T{8 + n // 3600:02d}:{n // 60 % 60:02d}:{n % 60:02d}Z", rate, text_run.setting())
        for n, rate in enumerate(rates)
    ]
    figure = text_run.reported(text_run.write(tmp_path / "run", lines))["over-time"]["variants"][0]["figures"][0]
    heights = [y for _, y in marks(figure)]
    assert len(heights) <= 600
    assert min(heights) == pytest.approx(0.2, rel=0.01) and max(heights) == pytest.approx(3, rel=0.01)
    assert "of 1,500 are drawn" in figure["caption"]
