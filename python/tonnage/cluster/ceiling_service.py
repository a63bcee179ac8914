"""Upper bounds of what a host can measure: its memory copy rate, and the rate of the load generator without storage.
Services of a host group."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, TypedDict

from tonnage import _native

if TYPE_CHECKING:
    from tonnage.records.phase_specs import PhaseSpec


class NullRate(TypedDict):
    """The rate of a phase on the null storage, which does nothing."""

    operations: int
    operations_per_s: int
    cpu_ns: int


class Ceilings(TypedDict, total=False):
    """Of a host; ``alone`` is always there."""

    memory_bytes_per_s: int
    tasks: int
    alone: NullRate
    together: NullRate


def measure(spec: PhaseSpec, transfer_size: int, duration_ns: int, alone_only: bool = False) -> Ceilings:
    """``memory_bytes_per_s`` of copies of ``transfer_size``, ``tasks`` (a thread for each processor), and of the phase
    ``spec`` on a storage that does nothing, ``alone`` and ``together``: ``operations``, their rate, ``cpu_ns``.

    ``alone_only``: no more than what one task does."""
    alone = null_phase(spec, 1)
    if alone_only:
        return {"alone": alone}
    tasks = os.cpu_count() or 1
    return {
        "memory_bytes_per_s": _native.memory_copy_bytes_per_s(transfer_size, tasks, duration_ns),
        "tasks": tasks,
        "alone": alone,
        "together": alone if tasks == 1 else null_phase(spec, tasks),
    }


def null_phase(spec: PhaseSpec, tasks: int) -> NullRate:
    """Returns the phase with so many tasks, all in this process."""
    phase = _native.Target(json.dumps({"kind": "null"})).start(
        json.dumps({**spec, "tasks": {"first": 0, "here": tasks, "total": tasks}})
    )
    phase.go()
    while not phase.wait(1.0):
        pass
    result = phase.result()
    done = result["tasks"]
    elapsed_ns = max(task["end_ns"] for task in done) - min(task["start_ns"] for task in done)
    operations = sum(task["operations"] for task in done)
    return {
        "operations": operations,
        "operations_per_s": operations * 10**9 // max(elapsed_ns, 1),
        "cpu_ns": (result["cpu_user_ns"] or 0) + (result["cpu_system_ns"] or 0),
    }
