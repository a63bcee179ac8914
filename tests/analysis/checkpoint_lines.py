"""Trial lines of checkpoints whose every time is known, as the campaign writes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from made_results import equal_latencies, phase_result, task_result
from tonnage.records.lines import trial_line

ROUNDS = 3
MEANS = ("none", "btrfs")


def setting(snapshot: str, tasks: int, transfer: int, block: int, **more: Any) -> dict[str, Any]:
    """A setting of all its factors."""
    return {
        "kind": "checkpoint", "workload": "", "tasks": tasks, "snapshot": snapshot, "transfer_size": transfer,
        "block_size": block, "coordination": "together", "queue_depth": 1, "layout": "file-per-task", "sync": "fsync",
        "think_ns": 0, "rounds": ROUNDS, "snapshot_command": [], "remove_command": [], "snapshot_directory": None,
        "restart": "newest", "cache": "drop", "verify": False, "payload": "unique", "storage": "posix",
        "direct": "auto", **more,
    }  # fmt: skip


def result(of: dict[str, Any], round_ns: int, take_ns: int, begin_ns: int = 10**12) -> dict[str, Any]:
    """The PhaseResult of rounds that each took ``round_ns``, of which ``take_ns`` was the snapshot."""
    windows, events = [], []
    for number in range(of["rounds"]):
        begin = begin_ns + number * (round_ns + of["think_ns"]) + of["think_ns"]
        windows.append([begin, begin, begin + round_ns, begin + round_ns, take_ns])
        if take_ns:
            start = begin + round_ns - take_ns
            events.append({"kind": "snapshot", "time_ns": start, "duration_ns": take_ns, "task": 0})
    each = of["rounds"] * of["block_size"]
    operations = each // of["transfer_size"]
    waits_ns = round_ns // max(operations, 1)
    done = {"transfer_ns": 1, "bytes": each, "operations": operations, "role": "work"}
    latency = equal_latencies(operations, waits_ns)
    tasks = (task_result(number, begin_ns, windows[-1][3], latency, **done) for number in range(of["tasks"]))
    return phase_result(
        tasks, equal_latencies(operations * of["tasks"], waits_ns), stop_reason="size", cpu_user_ns=10**7,
        cpu_system_ns=10**7, events=events,
        checkpoint={
            "step": "checkpoint", "coordination": of["coordination"], "rounds": of["rounds"],
            "checkpoint_ns": of["rounds"] * round_ns, "think_ns": of["rounds"] * of["think_ns"],
            "snapshot_ns": of["rounds"] * take_ns, "leftovers_ns": 0, "windows": windows,
            "snapshot": equal_latencies(of["rounds"] if take_ns else 0, take_ns),
        },
    )  # fmt: skip


def lines(
    time_ns: Callable[[str, int, int, int, int], int],
    *,
    tasks: tuple[int, ...] = (1, 4),
    transfer: int = 4096,
    transfers: tuple[int, ...] = (1, 10, 100),
    repetitions: int = 4,
    means: tuple[str, ...] = MEANS,
    **more: Any,
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Line and PhaseResult of each trial. ``time_ns(means, tasks, transfer, block, repetition)`` is that of a round."""
    trial = 0
    for repetition in range(repetitions):
        for number in tasks:
            for count in transfers:
                for snapshot in means:
                    of = setting(snapshot, number, transfer, count * transfer, **more)
                    round_ns = time_ns(snapshot, number, transfer, count * transfer, repetition)
                    found = result(of, round_ns, 0 if snapshot == "none" else round_ns // 2)
                    line = trial_line(
                        trial=trial, setting=of, phase="checkpoint", repetition=repetition, block=repetition,
                        started="now", result=found,
                    )  # fmt: skip
                    yield line, found
                    trial += 1
