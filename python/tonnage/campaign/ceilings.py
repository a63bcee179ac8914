"""What nothing can beat here: the memory's copy rate, and the generator alone, on a storage that does nothing."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tonnage.campaign.kinds.stream import StreamSetting, phase_spec
from tonnage.cluster import Launcher

_DURATION_NS = 200_000_000


def measure_ceilings(
    launcher: Launcher, setting: StreamSetting, seed: int
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """``ceilings`` and ``cost`` of the manifest, measured with the payload and transfer size of ``setting``."""
    from tonnage import _native

    transfer = setting.transfer_size
    tasks = os.cpu_count() or 1
    memory = _native.memory_copy_bytes_per_s(transfer, tasks, _DURATION_NS)
    alone = _null_phase(launcher, setting, 1, seed)
    all_tasks = alone if tasks == 1 else _null_phase(launcher, setting, tasks, seed)
    ceilings = [
        {
            "name": "memory-copy",
            "bytes_per_s": memory,
            "operations_per_s": memory // transfer,
            "tasks": tasks,
            "source": f"{tasks} threads copy buffers of {transfer} bytes for {_DURATION_NS // 10**6} ms",
        },
        {
            "name": "null-storage",
            "bytes_per_s": all_tasks["operations_per_s"] * transfer,
            "operations_per_s": all_tasks["operations_per_s"],
            "tasks": tasks,
            "source": f"{tasks} tasks write {transfer} bytes an operation to a storage that does nothing",
        },
    ]
    return ceilings, _cost(alone, transfer)


def measure_costs(launcher: Launcher, settings: Sequence[StreamSetting], seed: int) -> list[dict[str, Any]]:
    """What the generator alone takes for an operation of each of these settings' transfer sizes."""
    return [_cost(_null_phase(launcher, setting, 1, seed), setting.transfer_size) for setting in settings]


def _cost(alone: dict[str, int], transfer: int) -> dict[str, Any]:
    return {
        "operations_per_s": alone["operations_per_s"],
        "ns_per_operation": round(1e9 / max(alone["operations_per_s"], 1)),
        "cpu_ns_per_operation": round(alone["cpu_ns"] / max(alone["operations"], 1)),
        "transfer_size": transfer,
        "tasks": 1,
    }


def _null_phase(launcher: Launcher, setting: StreamSetting, tasks: int, seed: int) -> dict[str, int]:
    bare = replace(
        setting,
        op="write",
        tasks=tasks,
        storage="null",
        queue_depth=1,
        sync="none",
        verify=False,
        segments=1,
        block_size=setting.transfer_size << 10,
        time_limit_ns=_DURATION_NS,
        wrap=True,
        access="sequential",
        rate_bytes_per_s=None,
        operations_rate=None,
        think_ns=None,
        hog=None,
        wear_out=False,
        min_time_ns=None,
        operations=None,
        read_percent=None,
    )
    step = launcher.open({"kind": "null"}, None).prepare(phase_spec(bare, "null", seed))
    step.go()
    while not step.wait(1.0):
        pass
    result = step.result()
    began, ended = (pick(task[key] for task in result["tasks"]) for pick, key in ((min, "start_ns"), (max, "end_ns")))
    operations = sum(task["operations"] for task in result["tasks"])
    return {
        "operations": operations,
        "operations_per_s": operations * 10**9 // max(ended - began, 1),
        "cpu_ns": result["cpu_user_ns"] + result["cpu_system_ns"],
    }
