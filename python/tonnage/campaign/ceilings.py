"""What nothing can beat here: the memory's copy rate, and the generator alone, on a storage that does nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tonnage.campaign.hosts import ask_all
from tonnage.campaign.kinds.kind import Setting
from tonnage.campaign.kinds.stream import Stream, StreamSetting, phase_spec
from tonnage.cluster.launcher import Launcher

_DURATION_NS = 200_000_000
_OF_A_SIZE_NS = 3 * _DURATION_NS
"""Memory, the generator alone, and one of it for each processor."""
_SHARE_OF_BUDGET = 0.05
_MOST_SIZES = 16
_LARGEST = 16 << 20
"""Each processor copies between two buffers of the size: larger ones take memory and tell nothing new."""


def sized(settings: Sequence[Setting]) -> list[StreamSetting]:
    """A stream of each transfer size of what uses a storage, the first one's first; of one where nothing has a size,
    and of none where nothing uses a storage."""
    found: dict[int, StreamSetting] = {}
    plain = Stream().first()
    for setting in settings:
        transfer = getattr(setting, "transfer_size", None)
        if setting.uses_storage and isinstance(transfer, int):
            stream = setting if isinstance(setting, StreamSetting) else replace(plain, transfer_size=transfer)
            found.setdefault(transfer, stream)
    if not found and any(setting.uses_storage for setting in settings):
        return [plain]
    return list(found.values())


def measure_ceilings(
    start: Launcher, streams: Sequence[StreamSetting], seed: int, budget_ns: int | None
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """``ceilings`` and ``costs`` of the manifest, of each of these transfer sizes: small buffers are copied in a cache,
    and what an operation costs the generator grows with what it carries.

    Ceilings of fewer sizes, evenly apart, where all of them would take more than a part of the ``budget_ns``.
    """
    sizes = _affordable([stream.transfer_size for stream in streams], budget_ns)
    ceilings, costs = [], []
    for stream in streams:
        if stream.transfer_size in sizes:
            found, cost = _of_size(start, stream, seed)
            ceilings += found
        else:
            cost = _cost_alone(start, stream, seed)
        costs.append(cost)
    return ceilings, costs


def _affordable(sizes: Sequence[int], budget_ns: int | None) -> set[int]:
    """The first, and as many of the others as there is time and memory for."""
    first, *others = sizes
    others = sorted(size for size in others if size <= _LARGEST)
    most = _MOST_SIZES if budget_ns is None else min(_MOST_SIZES, int(_SHARE_OF_BUDGET * budget_ns / _OF_A_SIZE_NS))
    if len(others) < most:
        return {first, *others}
    steps = max(most - 1, 0)
    # The smallest and the largest lie furthest from the first: what is between them has a nearer one.
    return {first, *(others[round(step * (len(others) - 1) / max(steps - 1, 1))] for step in range(steps))}


def _of_size(start: Launcher, setting: StreamSetting, seed: int) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Measured with the payload and transfer size of ``setting``, on all hosts at once: what they can do together is
    the sum, and the cost that of the first."""
    transfer = setting.transfer_size
    asked = {"spec": _bare(setting, seed), "transfer_bytes": transfer, "duration_ns": _DURATION_NS}
    found = ask_all(start, "ceilings", dict.fromkeys(start.host_group.hosts, asked))
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
            "transfer_size": transfer,
            "source": f"{tasks} threads{where} copy buffers of {transfer} bytes for {_DURATION_NS // 10**6} ms",
        },
        {
            "name": "null-storage",
            "bytes_per_s": sum(null.values()) * transfer,
            "operations_per_s": sum(null.values()),
            "tasks": tasks,
            "transfer_size": transfer,
            "source": f"{tasks} tasks{where} write {transfer} bytes an operation to a storage that does nothing",
        },
    ]
    if len(found) > 1:
        ceilings[0]["hosts"] = memory
        ceilings[1]["hosts"] = {host: operations * transfer for host, operations in null.items()}
    return ceilings, _cost(found[start.host_group.hosts[0]]["alone"], transfer)


def _cost_alone(start: Launcher, setting: StreamSetting, seed: int) -> dict[str, Any]:
    """What the generator alone takes for an operation of this transfer size, on the first host."""
    first, transfer = start.host_group.hosts[0], setting.transfer_size
    asked = {"spec": _bare(setting, seed), "transfer_bytes": transfer, "duration_ns": 0, "alone_only": True}
    return _cost(ask_all(start, "ceilings", {first: asked})[first]["alone"], transfer)


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
