"""Which trials a sweep measures, in which order, and what a resumed one still does."""

from __future__ import annotations

import json
from itertools import count
from typing import Any

from tonnage.campaign.campaign_file import parse_campaign
from tonnage.campaign.model import Campaign
from tonnage.campaign.schedule import Sweep, Trial


def campaign(tail: str) -> Campaign:
    return parse_campaign(f'target = "null:"\n{tail}', "c.toml")


NUMBERS = count()


def line(trial: Trial, bandwidth: int = 1000, status: str = "ok") -> dict[str, Any]:
    return {
        "trial": next(NUMBERS),
        "phase": trial.setting.phases[-1],
        "purpose": "measure",
        "status": status,
        "setting": trial.setting.as_dict(),
        "repetition": trial.repetition,
        "bandwidth_bytes_per_s": bandwidth,
    }


def play(sweep: Sweep, lines: list[dict[str, Any]], most: int = 1000) -> list[Trial]:
    trials = []
    while len(trials) < most and (trial := sweep.next(lines, 0)) is not None:
        trials.append(trial)
        lines.append(line(trial))
    return trials


SMALL = campaign("[workload]\ntasks = [1, 2, 4]\n[repeat]\ncount = 4\n")


def test_every_combination_is_one_setting() -> None:
    found = campaign('[workload]\ntasks = [1, 2, 2]\naccess = ["random", "sequential"]\n').settings()
    assert len(found) == len(set(found)) == 2 * 2 * 2


def test_each_block_holds_every_setting_once_in_an_order_of_its_own() -> None:
    trials = play(Sweep(SMALL, 7), [])
    blocks = [[t.setting for t in trials if t.block == block] for block in range(4)]
    assert all(set(block) == set(SMALL.settings()) and len(block) == 6 for block in blocks)
    assert len({tuple(block) for block in blocks}) > 1


def test_the_seed_decides_the_order() -> None:
    assert play(Sweep(SMALL, 7), []) == play(Sweep(SMALL, 7), [])
    assert play(Sweep(SMALL, 7), []) != play(Sweep(SMALL, 8), [])


def test_a_resumed_sweep_goes_on_in_the_same_order() -> None:
    whole = play(Sweep(SMALL, 7), [])
    lines: list[dict[str, Any]] = []
    first = play(Sweep(SMALL, 7), lines, most=10)
    assert first + play(Sweep(SMALL, 7), lines) == whole


def test_an_interrupted_trial_is_measured_again_and_a_failed_one_is_not() -> None:
    first = Sweep(SMALL, 7).next([], 0)
    assert first is not None
    assert Sweep(SMALL, 7).next([line(first, status="interrupted")], 0) == first
    assert Sweep(SMALL, 7).next([line(first, status="failed")], 0) != first


def test_a_setting_leaves_once_its_interval_is_narrow_and_a_noisy_one_at_the_limit() -> None:
    rule = campaign('[workload]\nop = "write"\ntasks = [1, 2]\n[repeat]\ninterval = "5%"\nat_least = 3\nat_most = 9\n')
    lines: list[dict[str, Any]] = []
    sweep = Sweep(rule, 1)
    while (trial := sweep.next(lines, 0)) is not None:
        noisy = trial.setting.tasks == 2
        lines.append(line(trial, 1000 + (600 * (trial.repetition % 2) if noisy else trial.repetition % 2)))
    counts = {tasks: sum(1 for item in lines if item["setting"]["tasks"] == tasks) for tasks in (1, 2)}
    assert counts == {1: 3, 2: 9}


def test_a_time_budget_ends_the_sweep() -> None:
    limited = campaign('[budget]\ntime = "10s"\n')
    assert Sweep(limited, 1).next([], 9 * 10**9) is not None
    assert Sweep(limited, 1).next([], 10 * 10**9) is None


def test_a_trial_whose_later_phase_was_interrupted_is_measured_again() -> None:
    one = campaign('[workload]\nop = "write"\ntasks = 1\n[repeat]\ncount = 1\n')
    trial = Sweep(one, seed=1).next([], 0)
    assert trial is not None
    first = line(trial)
    lines = [first, {**line(trial, status="interrupted"), "trial": first["trial"]}]
    assert Sweep(one, seed=1).next(lines, 0) == trial
    assert Sweep(one, seed=1).next([*lines, line(trial)], 0) is None


def test_a_stream_that_was_read_back_from_its_records_is_not_measured_again() -> None:
    one = campaign('[workload]\nop = "write"\ntasks = 1\n[repeat]\ncount = 1\n')
    trial = Sweep(one, seed=1).next([], 0)
    assert trial is not None
    assert Sweep(one, seed=1).next([json.loads(json.dumps(line(trial)))], 0) is None


class Counted(dict[str, Any]):
    """A line that counts how often it is looked at."""

    looks = 0

    def __getitem__(self, key: str) -> Any:
        Counted.looks += 1
        return super().__getitem__(key)


def test_a_line_is_looked_at_as_often_in_a_long_run_as_in_a_short_one() -> None:
    looks = []
    for repetitions in (10, 100):
        Counted.looks = 0
        lines: list[dict[str, Any]] = []
        sweep = Sweep(campaign(f"[workload]\ntasks = [1, 2, 4]\n[repeat]\ncount = {repetitions}\n"), 7)
        while (trial := sweep.next(lines, 0)) is not None:
            lines.append(Counted(line(trial)))
        assert len(lines) == 6 * repetitions
        looks.append(Counted.looks / len(lines))
    assert looks[0] == looks[1]
