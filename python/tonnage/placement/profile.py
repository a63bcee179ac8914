"""How much a program waits for storage, from a run that measured it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from tonnage.errors import RecordError, RequestError
from tonnage.placement.choice.candidate import Demand
from tonnage.placement.site.model import Policy
from tonnage.records import Run

_HOW = 'measure it with a campaign whose [workload] says kind = "command" and tasks = 1, and `tonnage run` it'

Copy = Mapping[str, Any]


def demand_of_run(run_directory: str | Path, policy: Policy) -> Demand:
    """What one copy alone used in a ``command`` run, by the kernel's account: medians over its copies at ``tasks`` 1.

    The share of its time in which a copy waits is what its time on a processor, and waiting for one, leaves of its time
    alone; a program of several threads may so pass for one that never waits. RequestError where the run has no such
    trial.
    """
    try:
        run = Run.open(run_directory)
        trials = run.trials()
        alone = {
            line["record"]
            for line in trials
            if line["phase"] == "command" and line["status"] == "ok" and line["setting"]["tasks"] == 1
        }
        copies = [copy for copy in run.copies() if copy["record"] in alone and copy.get("exit_code") == 0]
    except RecordError as error:
        raise RequestError(f"{error}; hint: give a run directory of `tonnage run`") from None
    kinds = {line["setting"].get("workload") or "" for line in trials if line["record"] in alone}
    if len(kinds) > 1:
        raise RequestError(f"{run_directory} measured several programs; hint: give a run of one of them")
    copies = [copy for copy in copies if copy["end_ns"] > copy["start_ns"]]
    if not copies:
        raise RequestError(f"{run_directory} has no copy of a command that ran alone and well; hint: {_HOW}")
    moved, calls = _median(copies, _bytes_of), _median(copies, _calls_of)
    return Demand(
        bytes=policy.reference_bytes if moved is None else moved,
        operations=policy.reference_operations if calls is None else calls,
        io_share=median(map(_waits, copies)),
        source=f"measured in {run_directory}, {len(copies)} cop{'y' if len(copies) == 1 else 'ies'} alone",
    )


def _waits(copy: Copy) -> float:
    """Neither on a processor nor waiting for one: on a busy host that is not the storage's doing."""
    computed_ns: int = copy["cpu_user_ns"] + copy["cpu_system_ns"] + (copy.get("run_delay_ns") or 0)
    alone_ns: int = copy["end_ns"] - copy["start_ns"]
    return max(1.0 - computed_ns / alone_ns, 0.0)


def _bytes_of(copy: Copy) -> int | None:
    """Through calls, or at devices where that is more: what is mapped is not called for."""
    by_calls = _sum(copy, "read_call_bytes", "write_call_bytes")
    at_devices = _sum(copy, "device_read_bytes", "device_write_bytes")
    return None if by_calls is None else max(by_calls, at_devices or 0)


def _calls_of(copy: Copy) -> int | None:
    return _sum(copy, "read_calls", "write_calls")


def _sum(copy: Copy, *keys: str) -> int | None:
    values = [copy.get(key) for key in keys]
    return None if None in values else sum(value for value in values if value is not None)


def _median(copies: Sequence[Copy], value: Any) -> int | None:
    """None where one copy lacks it: an earlier version did not count calls."""
    values = [value(copy) for copy in copies]
    return None if None in values else int(median(values))
