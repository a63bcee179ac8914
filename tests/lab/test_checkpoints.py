"""Checkpoints with real snapshots, typed as a user would: on Btrfs and on XFS, and what cannot be had."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from throttled import Throttled
from tonnage.analysis.verify import verify
from tonnage.records import Run

from .conftest import Command, Said

SMALL = {"tasks": [1, 2], "transfer_size": ["4k", "1MiB"], "transfers": [1, 4], "verify": True}


def whole(said: Said, settings: int, repetitions: int = 1) -> None:
    """Every phase of every setting was measured, and what was read back was right."""
    assert said.code == 0, (said.out, said.err)
    for phase in ("checkpoint", "restart", "drop"):
        lines = said.measured(phase)
        assert len(lines) == settings * repetitions and all(line["status"] == "ok" for line in lines)
    for line in said.measured("restart"):
        assert line["verify"]["checked_bytes"] == line["bytes"] > 0 and not line["verify"]["damaged_operations"]


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("file_system", "means"), [("btrfs", "btrfs"), ("xfs", "reflink"), ("btrfs", "reflink")])
def test_each_snapshot_is_taken_timed_read_back_and_removed(
    tonnage: Command, device: Callable[..., Throttled], file_system: str, means: str
) -> None:
    here = device(file_system=file_system, size=1 << 30).path
    file = tonnage.campaign(here, kind="checkpoint", snapshot=["none", means], restart="newest", **SMALL)
    said = tonnage("run", file)
    whole(said, settings=2 * 2 * 2 * 2)
    taken = [line for line in said.measured("checkpoint") if line["setting"]["snapshot"] == means]
    for line in taken:
        told = line["checkpoint"]
        assert told["rounds"] == 3 == told["snapshot"]["count"] == len(told["windows"])
        assert 0 < told["snapshot_ns"] < told["checkpoint_ns"]
    (cost,) = said.summary["snapshots"]
    assert cost["means"] == means and cost["call_ns"] > 0 and len(cost["rounds"]) == 8
    assert verify(Run.open(tonnage.work / "run-1")).contradictions == ()
    assert {path.name for path in here.iterdir()} <= {"lost+found"}


@pytest.mark.timeout(300)
def test_an_older_round_is_read_back_from_its_snapshot(tonnage: Command, device: Callable[..., Throttled]) -> None:
    here = device(file_system="btrfs", size=1 << 30).path
    file = tonnage.campaign(here, kind="checkpoint", snapshot="btrfs", restart=0, rounds=3, **SMALL)
    whole(tonnage("run", file), settings=2 * 2 * 2)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("means", ["btrfs", "cephfs", "reflink"])
def test_a_file_system_without_them_is_refused_in_one_line(
    tonnage: Command, device: Callable[..., Throttled], means: str
) -> None:
    here = device(file_system="ext4", size=1 << 28).path
    said = tonnage("run", tonnage.campaign(here, kind="checkpoint", snapshot=means, tasks=1, transfers=1))
    assert said.code == 2 and "hint:" in said.err and "Traceback" not in said.err
    assert len([line for line in said.err.splitlines() if line.strip()]) == 1
    assert "other means of snapshots" in said.err.split("hint: ")[1]
    assert {path.name for path in here.iterdir()} <= {"lost+found"}


@pytest.mark.timeout(300)
def test_each_of_the_four_ways_has_a_cost_of_its_own(tonnage: Command, device: Callable[..., Throttled]) -> None:
    here = device(file_system="btrfs", size=1 << 30).path
    ways = {"coordination": ["together", "each"], "queue_depth": [1, 4], "storage": "uring"}
    small = {"tasks": 2, "transfer_size": "64KiB", "transfers": 8, "verify": True}
    said = tonnage("run", tonnage.campaign(here, kind="checkpoint", snapshot=["none", "btrfs"], **ways, **small))
    whole(said, settings=2 * 2 * 2)
    assert {cost["group"] for cost in said.summary["snapshots"]} == {
        f"coordination {way}, queue_depth {depth}" for way in ways["coordination"] for depth in ways["queue_depth"]
    }
    lagging = [found["subject"] for found in said.summary["findings"] if found["code"] == "straggler-task"]
    assert not [subject for subject in lagging if subject.startswith("drop")], "one task removes for all"
