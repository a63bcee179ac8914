"""What a run says of its snapshots: pairs that differ in nothing else, seconds beside per cents, and the finding."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from checkpoint_lines import lines
from tonnage.analysis import analyse
from tonnage.analysis.snapshots import snapshots_of
from tonnage.analysis.statistics.fixed_cost import COSTS, NOT_SHOWN, UNCHANGED
from tonnage.analysis.summary import schema, summary
from tonnage.records import Run, RunWriter, event_lines, task_lines

MIB = 1 << 20
RATE = 0.1
"""Bytes a nanosecond: 100 MB/s."""


def storage(cost_ns: float, noise: float = 0.0, seed: int = 1) -> Callable[[str, int, int, int, int], int]:
    """Time of a round: 5 ms, the bytes, and the snapshot, each time with its own noise."""
    draw = np.random.default_rng(seed)

    def time_ns(means: str, tasks: int, _transfer: int, block: int, _repetition: int) -> int:
        base = 5e6 + tasks * block / RATE
        noisy = np.exp(noise * draw.standard_normal(2) - noise**2 / 2)
        return round(base * noisy[0] + (cost_ns * noisy[1] if means != "none" else 0))

    return time_ns


def run_of(path: Path, found: Any) -> Run:
    """A run directory of such lines."""
    writer = RunWriter.create(path, {"target": {"kind": "sim"}, "seed": 1, "state": "complete", "campaign": {}})
    for line, result in found:
        tasks = task_lines(line, result, ["host"] * len(result["tasks"]))
        writer.append_trial(line, tasks, event_lines(line, result))
    return Run.open(path)


def test_a_planted_second_is_found_in_seconds_and_beside_each_size_in_per_cent() -> None:
    (found,) = snapshots_of(line for line, _ in lines(storage(1e9, 0.3), transfer=MIB, repetitions=5))
    assert (found.means, found.group) == ("btrfs", "")
    assert found.cost.verdict == COSTS and found.cost.low_ns <= 1e9 <= found.cost.high_ns
    assert found.with_tasks is not None and found.with_tasks.verdict == UNCHANGED
    assert found.with_bytes is not None and found.with_bytes.verdict == UNCHANGED
    small, large = found.rounds[0], found.rounds[-1]
    assert (small.tasks, small.bytes, large.bytes) == (1, MIB, 400 * MIB)
    # A second on top of 15 ms is 65 times a round, and on top of 4.2 s a quarter of one.
    assert small.share > 40 and abs(large.share) < 1
    assert [(tasks, transfer) for tasks, transfer, _ in found.curves] == [(1, MIB), (4, MIB)]
    assert all(cost.low_ns <= 1e9 <= cost.high_ns for _, _, cost in found.curves)
    assert found.call_ns is not None and 0.3e9 < found.call_ns < 5e9


def test_exact_times_give_the_exact_cost() -> None:
    (found,) = snapshots_of(line for line, _ in lines(storage(250e6)))
    assert found.cost.cost_ns == pytest.approx(250e6, rel=1e-6)
    assert found.rounds[0].without_ns == pytest.approx(5e6 + 4096 / RATE, rel=1e-6)


def test_a_cost_that_the_noise_hides_is_not_shown_and_says_what_would_be() -> None:
    (found,) = snapshots_of(
        line for line, _ in lines(storage(0.05e9, 0.3), transfer=MIB, transfers=(400,), repetitions=4)
    )
    assert found.cost.verdict == NOT_SHOWN
    assert found.cost.shown_from_ns is not None and found.cost.shown_from_ns > 0.3e9


def test_settings_that_differ_in_more_than_the_snapshot_are_not_paired() -> None:
    together = [line for line, _ in lines(storage(1e9))]
    each = [line for line, _ in lines(storage(2e9), coordination="each")]
    found = snapshots_of([*together, *each])
    assert [cost.group for cost in found] == ["coordination together", "coordination each"]
    assert [round(cost.cost.cost_ns / 1e9, 3) for cost in found] == [1.0, 2.0]


def test_a_workload_of_its_own_for_the_snapshots_is_paired_all_the_same() -> None:
    plain = [line for line, _ in lines(storage(1e9), means=("none",), workload="plain")]
    taken = [line for line, _ in lines(storage(1e9), means=("cephfs",), workload="snapped", restart="no")]
    (found,) = snapshots_of([*plain, *taken])
    assert found.means == "cephfs" and found.cost.cost_ns == pytest.approx(1e9, rel=1e-6)


def test_without_the_other_side_nothing_is_said() -> None:
    assert snapshots_of(line for line, _ in lines(storage(1e9), means=("none",))) == ()
    assert snapshots_of(line for line, _ in lines(storage(1e9), means=("btrfs",))) == ()


def test_a_failed_trial_is_in_no_cost() -> None:
    found = [line for line, _ in lines(storage(1e9))]
    spoilt = next(line for line in found if line["setting"]["snapshot"] == "btrfs")
    spoilt |= {"status": "failed", "checkpoint": {**spoilt["checkpoint"], "checkpoint_ns": 10**15}}
    (cost,) = snapshots_of(found)
    assert cost.cost.cost_ns == pytest.approx(1e9, rel=1e-6)


def test_the_finding_has_seconds_both_shares_and_both_verdicts(tmp_path: Path) -> None:
    found = analyse(run_of(tmp_path / "run", lines(storage(1e9, 0.1), transfer=MIB, repetitions=5)))
    (fixed,) = [finding for finding in found.findings if finding.code == "fixed-cost"]
    assert fixed.subject == "snapshot btrfs"
    assert re.match(
        r"each snapshot adds [0-9.]+ m?s to its round \(95 % interval [0-9.]+ m?s to [0-9.]+ m?s\); that",
        fixed.evidence,
    )
    assert "times a round of 1 MiB by 1 task" in fixed.evidence and "of one of 400 MiB by 4 tasks" in fixed.evidence
    assert "no change shown with the number of tasks" in fixed.evidence
    told = summary(found, None)
    jsonschema.validate(told, schema())
    assert told["snapshots"][0]["cost"]["verdict"] == "costs"


@pytest.mark.parametrize(("cost_ns", "noise"), [(0.0, 0.3), (0.2e6, 0.01)])
def test_the_finding_is_silent_where_there_is_no_cost_or_it_is_a_trifle(
    tmp_path: Path, cost_ns: float, noise: float
) -> None:
    found = analyse(run_of(tmp_path / "run", lines(storage(cost_ns, noise), repetitions=5)))
    assert "fixed-cost" not in {finding.code for finding in found.findings}


def test_the_rate_of_a_checkpoint_leaves_out_the_thinking(tmp_path: Path) -> None:
    found = analyse(run_of(tmp_path / "run", lines(storage(1e9), tasks=(1,), transfers=(100,), think_ns=10**10)))
    plain = next(point for point in found.points if "none" in point.group)
    assert plain.median == pytest.approx(409600e9 / (5e6 + 409600 / RATE), rel=1e-3)
    assert found.load_lines == ()
