"""Runs of days that differ, through the commands: how often something is said to have changed where nothing did, how
often a real change is told, and how often a crossover's interval holds the crossover.

Levels of repetition after Kalibera and Jones (2013): what a day adds is drawn for the run, not for its repetitions.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from tests.records.manifests import rewritten

from .chance import seeds, within_chance
from .daily_runs import days, measure, side, swept, verdicts

Report = Callable[[str], None]


def dated(run: Path, number: int) -> None:
    created = (datetime(2025, 1, 1) + timedelta(days=number)).isoformat() + "Z"
    rewritten(run, lambda manifest: manifest.update(created=created, target={**manifest["target"], "name": "/scratch"}))


def pool(directory: Path, deviation: float, many: int, *, factor: float = 1.0, count: int = 3) -> list[Path]:
    draw = random.Random(f"{deviation} {factor} {count}")
    drawn = zip(days(draw, many, deviation), days(draw, many, deviation / 2), strict=True)
    directory.mkdir()
    return [
        measure(directory / str(number), day + math.log(factor), own, draw.randrange(2**31), count)
        for number, (day, own) in enumerate(drawn)
    ]


def tables(runs: list[Path], others: list[Path], directory: Path, rounds: int) -> list[list[str]]:
    """The verdicts of tables with three runs a side, from the pool dealt out so many times."""
    found, draw = [], random.Random(5)
    for dealt in range(rounds):
        dealt_runs = draw.sample(runs, len(runs)), draw.sample(others, len(others))
        one, two = dealt_runs if runs is not others else (dealt_runs[0][::2], dealt_runs[0][1::2])
        for first in range(0, min(len(one), len(two)) - 2, 3):
            place = directory / f"{dealt}-{first}"
            sides = side(place / "a", one[first : first + 3]), side(place / "b", two[first : first + 3])
            (comparison,) = verdicts("compare", *sides)["comparisons"]
            found.append([cell["verdict"] for cell in comparison["cells"]])
    return found


@pytest.mark.parametrize(("deviation", "count"), [(0.02, 3), (0.05, 3), (0.05, 1)])
def test_three_runs_a_side_of_one_system_err_in_at_most_one_table_in_twenty(
    deviation: float, count: int, tmp_path: Path, calibration_report: Report
) -> None:
    runs = pool(tmp_path / "runs", deviation, seeds(160), count=count)
    found = tables(runs, runs, tmp_path / "tables", rounds=4)
    wrong = sum(set(verdicts) != {"no change shown"} for verdicts in found)
    said = f"{deviation:.0%} between days, {count} repetitions, 4 settings, 3 runs a side"
    calibration_report(f"compare, nothing changed, {said}: {wrong} of {len(found)} tables err")
    assert within_chance(wrong, len(found))
    # One run a side: nothing about the system, however far apart two days are.
    for one, other in zip(runs[::2], runs[1::2], strict=False):
        (comparison,) = verdicts("compare", one, other)["comparisons"]
        assert {cell["verdict"] for cell in comparison["cells"]} == {"too few to tell"}
        assert all(bool(cell["confidence"]) == (count > 1) for cell in comparison["cells"])


def test_a_system_that_is_a_third_slower_is_told_by_three_runs_a_side(
    tmp_path: Path, calibration_report: Report
) -> None:
    many = seeds(96)
    base, slow = (pool(tmp_path / f"{factor}", 0.02, many, factor=factor) for factor in (1.0, 0.67))
    found = tables(base, slow, tmp_path / "tables", rounds=2)
    verdicts = [verdict for table in found for verdict in table]
    share = verdicts.count("slower") / len(verdicts)
    calibration_report(f"compare, 0.67 at 2 % between days, 3 runs a side: {share:.0%} of verdicts slower")
    assert share >= 0.9 and "faster" not in verdicts


@pytest.mark.parametrize(("correlation", "window"), [(0.0, 12), (0.7, 12), (0.7, 24)])
def test_histories_without_a_change_are_given_one_in_at_most_one_of_twenty(
    correlation: float, window: int, tmp_path: Path, calibration_report: Report
) -> None:
    draw, wrong, long = random.Random(f"{correlation} {window}"), 0, seeds(480)
    chain = [
        measure(tmp_path / f"{number}", add, own, draw.randrange(2**31), 1)
        for number, (add, own) in enumerate(
            zip(days(draw, long, 0.05, correlation), days(draw, long, 0.02, correlation), strict=True)
        )
    ]
    for number, run in enumerate(chain):
        dated(run, number)
    starts = range(0, long - window + 1, window // 2)
    histories = len(starts)
    for start in starts:
        series = verdicts("history", side(tmp_path / f"from-{start}", chain[start : start + window]))["history"][
            "series"
        ]
        assert len(series) == 4
        wrong += any(one["changes"] for one in series)
        assert all(one["runs_to_show"] > window for one in series if not one["changes"])
    said = f"5 % between days, correlation {correlation}, {window} runs, 4 settings"
    calibration_report(f"history, nothing changed, {said}: {wrong} of {histories} err")
    assert within_chance(wrong, histories)


def saturating(nodes: float) -> float:
    return 40e9 * nodes / (nodes + 6)


def power(nodes: float) -> float:
    return float(6e9 * nodes**0.3)


def corner(nodes: float) -> float:
    return min(6e9 * nodes, 40e9)


def peaked(nodes: float) -> float:
    """The Universal Scalability Law (Gunther 2007)."""
    return 6e9 * nodes / (1 + 0.1 * (nodes - 1) + 0.0015 * nodes * (nodes - 1))


def where_they_cross(law: Callable[[float], float], each: float) -> float:
    low, high = 1.0, 1e6
    for _ in range(100):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if each * middle < law(middle) else (low, middle)
    return high


@pytest.mark.parametrize("law", [saturating, power, corner, peaked])
def test_a_crossover_is_held_by_its_interval_or_is_not_shown(
    law: Callable[[float], float], tmp_path: Path, calibration_report: Report
) -> None:
    draw, shown, held, beyond, many, widths = random.Random(law.__name__), 0, 0, 0, seeds(160), []
    for number in range(many):
        each = (0.4e9, 0.8e9, 1.5e9, 2.5e9)[number % 4]
        truth = where_they_cross(law, each)
        runs = (
            swept(tmp_path / f"{number}-own", lambda nodes, each=each: each * nodes, [1, 2, 4, 8, 16], draw, "xfs"),
            swept(tmp_path / f"{number}-all", law, [1, 2, 4, 8, 16], draw, "lustre"),
        )
        (found,) = verdicts("crossover", *runs)["crossings"]
        crossover = found["crossover"]
        if crossover["levelled"]:
            shown, widths = shown + 1, [*widths, crossover["high"] / crossover["low"]]
            held += crossover["low"] <= truth <= crossover["high"]
        else:
            beyond += crossover["nodes"] <= truth and crossover["measure_at"] > 16
    middle = sorted(widths)[len(widths) // 2]
    calibration_report(
        f"crossover, {law.__name__}, up to 16 nodes, 5 % between days: shown {shown / many:.0%}, of these covered "
        f"{held / shown:.1%}, width {middle:.1f}; else 'more than' holds in {beyond} of {many - shown}"
    )
    assert within_chance(shown - held, shown, 0.07) and within_chance(many - shown - beyond, many - shown, 0.07)
    assert shown / many >= 0.4
