"""All settings of an operation in one picture, as ``tonnage report`` draws them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import text_run

RATES = {("random", "none"): 300, ("sequential", "fsync"): 900, ("random", "fsync"): 200, ("sequential", "none"): 950}
"""MB/s by access and sync."""


def trials(tasks: tuple[int, ...] = (8,)) -> list[dict[str, Any]]:
    """Five of each setting, one after the other."""
    every = [(access, sync, many, again) for again in range(5) for access, sync in RATES for many in tasks]
    return [
        text_run.trial(
            number,
            f"2026-03-02T08:{number // 60:02d}:{number % 60:02d}Z",
            (RATES[access, sync] * (100 + again) * many // 800) * 10**6,
            text_run.setting(tasks=many, access=access, sync=sync),
        )
        for number, (access, sync, many, again) in enumerate(every)
    ]


def figure(run: Path) -> dict[str, Any]:
    section = text_run.reported(run)["settings"]
    found: dict[str, Any] = section["variants"][0]["figures"][0]
    return found


def test_every_setting_is_a_row_of_one_picture_the_fastest_above_each_with_its_interval(tmp_path: Path) -> None:
    shown = figure(text_run.write(tmp_path / "run", trials()))
    repetitions, medians = shown["traces"]
    assert medians["x"] == pytest.approx([969, 918, 306, 204])
    assert medians["error_x"]["array"] == pytest.approx([19, 18, 6, 4], abs=2)
    assert len(repetitions["x"]) == 20
    names = [note["text"] for note in shown["layout"]["annotations"][::2]]
    assert names == [
        "access sequential, sync none", "access sequential, sync fsync", "access random, sync none",
        "access random, sync fsync",
    ]  # fmt: skip
    assert shown["caption"].startswith("Most: access sequential, sync none with 969 MB/s; least: access random, sync")
    assert [row[5] for row in shown["table"]["rows"]] == ["100 %", "95 %", "32 %", "21 %"]


def test_settings_of_one_number_of_tasks_have_no_block_each_and_those_of_several_keep_their_curves(
    tmp_path: Path,
) -> None:
    alone = text_run.reported(text_run.write(tmp_path / "alone", trials()))
    assert "settings" in alone and "load-line-write" not in alone
    swept = text_run.reported(text_run.write(tmp_path / "swept", trials((4, 8, 6))))
    assert len(swept["load-line-write"]["variants"]) == 4
    shown = swept["settings"]["variants"][0]["figures"][0]
    assert len(shown["traces"][1]["x"]) == 4
    assert "8 tasks" in shown["layout"]["annotations"][0]["text"], "the number of tasks that did most stands for each"


def test_one_setting_is_compared_with_nothing(tmp_path: Path) -> None:
    lines = [line for line in trials((4, 8)) if line["setting"]["access"] == "random"]
    one = [line for line in lines if line["setting"]["sync"] == "none"]
    assert "settings" not in text_run.reported(text_run.write(tmp_path / "run", one))


def test_rates_far_apart_stand_on_a_logarithmic_axis_and_close_ones_on_one_that_need_not_begin_at_zero(
    tmp_path: Path,
) -> None:
    far = trials()
    for line in far:
        if line["setting"]["access"] == "random":
            rate = line["bytes"] // 10
            line |= {"bytes": rate, "bandwidth_bytes_per_s": rate}
    assert figure(text_run.write(tmp_path / "far", far))["layout"]["xaxis"]["type"] == "log"
    near = [line for line in trials() if line["setting"]["access"] == "sequential"]
    low, high = figure(text_run.write(tmp_path / "near", near))["layout"]["xaxis"]["range"]
    assert 500 < low < 900 and high > 988
