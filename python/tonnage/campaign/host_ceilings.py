"""Upper bounds of this host: its memory copy rate, and the rate of the load generator on the null storage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tonnage.campaign.execute.stream import phase_spec
from tonnage.campaign.host_queries import ask_all
from tonnage.campaign.kinds.kind import Setting
from tonnage.campaign.kinds.stream import StreamSetting, plain_stream
from tonnage.cluster.launcher import Launcher
from tonnage.records.line_types import CeilingEntry, CostEntry
from tonnage.records.phase_specs import PhaseSpec

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
    plain = plain_stream()
    for setting in settings:
        if setting.needs_scratch and (transfers := setting.transfers) is not None:
            found.setdefault(transfers.transfer_size, replace(plain, **transfers._asdict()))
    if not found and any(setting.needs_scratch for setting in settings):
        return [plain]
    return list(found.values())


def measure_ceilings(
    start: Launcher, streams: Sequence[StreamSetting], seed: int, budget_ns: int | None
) -> tuple[list[CeilingEntry], list[CostEntry]]:
    """``ceilings`` and ``costs`` of the manifest, of each of these transfer sizes: small buffers are copied in a cache,
    and what an operation costs the generator grows with what it carries.

    Ceilings of fewer sizes, evenly apart, where all of them would take more than a part of the ``budget_ns``.
    """
    sizes = _affordable([stream.transfer_size for stream in streams], budget_ns)
    ceilings: list[CeilingEntry] = []
    costs: list[CostEntry] = []
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


def _of_size(start: Launcher, setting: StreamSetting, seed: int) -> tuple[list[CeilingEntry], CostEntry]:
    """Measured with the payload and transfer size of ``setting``, on all hosts at once: what they can do together is
    the sum, and the cost that of the first."""
    transfer_size = setting.transfer_size
    asked = {"spec": _bare(setting, seed), "transfer_size": transfer_size, "duration_ns": _DURATION_NS}
    found = ask_all(start, "ceilings", dict.fromkeys(start.host_group.hosts, asked))
    memory = {host: one["memory_bytes_per_s"] for host, one in found.items()}
    null = {host: one["together"]["operations_per_s"] for host, one in found.items()}
    tasks = sum(one["tasks"] for one in found.values())
    where = f" on {len(found)} hosts" if len(found) > 1 else ""
    ceilings: list[CeilingEntry] = [
        {
            "name": "memory-copy",
            "bytes_per_s": sum(memory.values()),
            "operations_per_s": sum(memory.values()) // transfer_size,
            "tasks": tasks,
            "transfer_size": transfer_size,
            "source": f"{tasks} threads{where} copy buffers of {transfer_size} bytes for {_DURATION_NS // 10**6} ms",
        },
        {
            "name": "null-storage",
            "bytes_per_s": sum(null.values()) * transfer_size,
            "operations_per_s": sum(null.values()),
            "tasks": tasks,
            "transfer_size": transfer_size,
            "source": f"{tasks} tasks{where} write {transfer_size} bytes an operation to a storage that does nothing",
        },
    ]
    if len(found) > 1:
        ceilings[0]["hosts"] = memory
        ceilings[1]["hosts"] = {host: operations * transfer_size for host, operations in null.items()}
    return ceilings, _cost(found[start.host_group.hosts[0]]["alone"], transfer_size)


def _cost_alone(start: Launcher, setting: StreamSetting, seed: int) -> CostEntry:
    """Measures the generator's cost of an operation of this transfer size, on the first host."""
    first, transfer_size = start.host_group.hosts[0], setting.transfer_size
    asked = {"spec": _bare(setting, seed), "transfer_size": transfer_size, "duration_ns": 0, "alone_only": True}
    return _cost(ask_all(start, "ceilings", {first: asked})[first]["alone"], transfer_size)


def _cost(alone: dict[str, int], transfer_size: int) -> CostEntry:
    return {
        "operations_per_s": alone["operations_per_s"],
        "ns_per_operation": round(1e9 / max(alone["operations_per_s"], 1)),
        "cpu_ns_per_operation": round(alone["cpu_ns"] / max(alone["operations"], 1)),
        "transfer_size": transfer_size,
        "tasks": 1,
    }


def _bare(setting: StreamSetting, seed: int) -> PhaseSpec:
    """The PhaseSpec of writes that only cost what the generator costs."""
    block_size = setting.transfer_size << 10
    bare = setting.plain(
        "transfer_size", "payload", storage="null", sync="none", block_size=block_size, wrap=True,
        time_limit_ns=_DURATION_NS,
    )  # fmt: skip
    return phase_spec(bare, "null", seed)
