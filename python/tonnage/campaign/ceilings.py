"""What nothing can beat here: the memory's copy rate, and the generator alone, on a storage that does nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tonnage.campaign.elsewhere import ask_all
from tonnage.campaign.kinds.stream import StreamSetting, phase_spec
from tonnage.cluster.launcher import Launcher

_DURATION_NS = 200_000_000


def measure_ceilings(start: Launcher, setting: StreamSetting, seed: int) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """``ceilings`` and ``cost`` of the manifest, measured with the payload and transfer size of ``setting``, on all
    hosts at once: what they can do together is the sum, and the cost that of the first."""
    transfer = setting.transfer_size
    asked = {"spec": _bare(setting, seed), "transfer_bytes": transfer, "duration_ns": _DURATION_NS}
    found = ask_all(start, "ceilings", dict.fromkeys(start.crew.hosts, asked))
    memory = {host: one["memory_bytes_per_s"] for host, one in found.items()}
    null = {host: one["together"]["operations_per_s"] for host, one in found.items()}
    tasks = sum(one["tasks"] for one in found.values())
    where = f" on {len(found)} hosts" if len(found) > 1 else ""
    ceilings = [
        {
            "name": "memory-copy",
            "bytes_per_s": sum(memory.values()),
            "operations_per_s": sum(memory.values()) // transfer,
            "tasks": tasks,
            "source": f"{tasks} threads{where} copy buffers of {transfer} bytes for {_DURATION_NS // 10**6} ms",
        },
        {
            "name": "null-storage",
            "bytes_per_s": sum(null.values()) * transfer,
            "operations_per_s": sum(null.values()),
            "tasks": tasks,
            "source": f"{tasks} tasks{where} write {transfer} bytes an operation to a storage that does nothing",
        },
    ]
    if len(found) > 1:
        ceilings[0]["hosts"] = memory
        ceilings[1]["hosts"] = {host: operations * transfer for host, operations in null.items()}
    return ceilings, _cost(found[start.crew.hosts[0]]["alone"], transfer)


def measure_costs(start: Launcher, settings: Sequence[StreamSetting], seed: int) -> list[dict[str, Any]]:
    """What the generator alone takes for an operation of each of these settings' transfer sizes, on the first host."""
    first = start.crew.hosts[0]
    costs = []
    for setting in settings:
        transfer = setting.transfer_size
        asked = {"spec": _bare(setting, seed), "transfer_bytes": transfer, "duration_ns": 0, "alone_only": True}
        costs.append(_cost(ask_all(start, "ceilings", {first: asked})[first]["alone"], transfer))
    return costs


def _cost(alone: dict[str, int], transfer: int) -> dict[str, Any]:
    return {
        "operations_per_s": alone["operations_per_s"],
        "ns_per_operation": round(1e9 / max(alone["operations_per_s"], 1)),
        "cpu_ns_per_operation": round(alone["cpu_ns"] / max(alone["operations"], 1)),
        "transfer_size": transfer,
        "tasks": 1,
    }


def _bare(setting: StreamSetting, seed: int) -> dict[str, Any]:
    """The PhaseSpec of writes that only cost what the generator costs."""
    bare = replace(
        setting,
        op="write",
        tasks=1,
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
    return phase_spec(bare, "null", seed)
