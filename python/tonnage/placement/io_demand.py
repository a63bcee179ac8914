"""The I/O demand of a program: its rate and the share of its time that it waits for storage, from a run that measured
it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from tonnage.demand.job_use import JobUse
from tonnage.errors import RecordError, RequestError
from tonnage.machine.guarded_access import carefully
from tonnage.placement.site import Policy
from tonnage.placement.task_caps import Demand
from tonnage.program_places import working_directory
from tonnage.records import Run
from tonnage.records.line_types import CopyLine

if TYPE_CHECKING:
    from tonnage.demand.profile import FileSystemProfile

_HOW = 'measure it with a campaign whose [workload] says kind = "command" and tasks = 1, and `tonnage run` it'
COUNTED = frozenset({"ext2", "ext3", "ext4", "xfs", "btrfs", "tmpfs"})
"""File systems of which the kernel's count of device bytes is true (docs/method.md, "Cache")."""
_READS = 10
"""Reading a whole run may take so many times the limit of one access."""


def demand_within(run_directory: str | Path, policy: Policy) -> Demand:
    """As :func:`demand_of_run`; RequestError too where the run's storage does not answer in time."""
    directory = str(Path(working_directory()) / run_directory)
    look_s = policy.file_timeout / 1e9

    try:
        carefully(lambda: Path(directory).exists(), [directory], timeout_s=look_s)
        told = carefully(
            lambda: asdict(_demand_of(directory, run_directory, policy)), [directory], timeout_s=_READS * look_s
        )
    except OSError as error:  # TimeoutError is one
        why = f"did not answer within {look_s:g} s" if isinstance(error, TimeoutError) else f"cannot be read: {error}"
        raise RequestError(f"--profile: {run_directory} {why}; hint: copy the run to another storage") from None
    return Demand(**told)


def _demand_of(path: str, given: str | Path, policy: Policy) -> Demand:
    from tonnage.placement.job_logs import is_darshan, uses_in

    if Path(path).is_file() and is_darshan(path):
        return demand_of_uses(uses_in(path), f"{given}")
    run = Path(path) / "originals"
    if run.is_dir() and (Run.open(path).manifest.get("imported") or {}).get("kind") == "darshan":
        return demand_of_uses(uses_in(path), f"{given}")
    return demand_of_run(given, policy)


def demand_of_uses(uses: Sequence[JobUse], given: str) -> Demand:
    """What the job of these Darshan logs asks of the file system that most of its bytes were on: medians over the logs.

    Tasks are those inside calls, on average over the job's whole time: of a program of many processes more than one.
    RequestError where they are of several programs or numbers of processes, or did nothing.
    """
    from tonnage.demand.profile import profile_of

    place = profile_of(uses).places[0]
    if lacking := sorted({part for use in uses for part in use.lacking}):
        raise RequestError(
            f"--profile: {given} lacks records of {' and '.join(lacking)}, and without them the job would seem to ask "
            "for less than it does; hint: give a whole log, or --io-share"
        )
    if not place.flows:
        raise RequestError(
            f"--profile: {given} tells of no read and no write; hint: leave --profile out, or give --io-share"
        )
    times = len(uses)
    source = f"counted by Darshan in {given} on {place.mount}" + (f", {times} runs" if times > 1 else "")
    return demand_of_place(place, source)


def demand_of_place(place: FileSystemProfile, source: str) -> Demand:
    """What a job asks of this file system in all its calls: reads, writes and names; medians over its runs."""
    return Demand(
        bytes=round(sum(flow.bytes.median for flow in place.flows)),
        operations=round(sum(flow.operations.median for flow in place.flows)),
        io_share=sum(flow.waiting.median for flow in place.flows) + place.names_waiting.median,
        bytes_per_s=round(sum(flow.job_bytes_per_s.median for flow in place.flows)),
        measured=True,
        source=source,
    )


def demand_of_run(run_directory: str | Path, policy: Policy) -> Demand:
    """What one copy alone used in a ``command`` run, by the kernel's account: medians over its copies at ``tasks`` 1,
    and the rate of all of them together.

    The share of its time in which a copy waits is what its time on a processor, and waiting for one, leaves of its time
    alone; a program of several threads may so pass for one that never waits, and its rate tells what it asks.
    RequestError where the run has no such trial.
    """
    try:
        run = Run.open(run_directory)
        trials = run.trials()
        file_system = (run.manifest.get("target") or {}).get("file_system")
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
    assumed = " and ".join(name for name, value in (("bytes", moved), ("operations", calls)) if value is None)
    return Demand(
        bytes=policy.reference_bytes if moved is None else moved,
        operations=policy.reference_operations if calls is None else calls,
        io_share=median(map(_waits, copies)),
        bytes_per_s=_rate(copies, counted=file_system in COUNTED),
        measured=True,
        source=f"measured in {run_directory}, {len(copies)} cop{'y' if len(copies) == 1 else 'ies'} alone"
        + (f"; {assumed} by the policy, for the kernel's account is not in the run" if assumed else ""),
    )


def _waits(copy: CopyLine) -> float:
    """Time neither on a processor nor waiting for one: waiting for a processor is not waiting for storage."""
    computed_ns: int = copy["cpu_user_ns"] + copy["cpu_system_ns"] + (copy.get("run_delay_ns") or 0)
    alone_ns: int = copy["end_ns"] - copy["start_ns"]
    return max(1.0 - computed_ns / alone_ns, 0.0)


def _bytes_of(copy: CopyLine) -> int | None:
    """Bytes of system calls, or of devices where that is more: mapped files need no calls."""
    by_calls = _sum(copy.get("read_call_bytes"), copy.get("write_call_bytes"))
    at_devices = _sum(copy.get("device_read_bytes"), copy.get("device_write_bytes"))
    return None if by_calls is None else max(by_calls, at_devices or 0)


def _rate(copies: Sequence[CopyLine], *, counted: bool) -> int | None:
    """Bytes per second to and from storage, total ÷ total, over the whole time of the copies.

    ``counted``: the kernel counts what devices gave, so that what came from the page cache is no use of storage.
    """
    at_devices = (
        [_sum(copy.get("device_read_bytes"), copy.get("device_write_bytes")) for copy in copies] if counted else [None]
    )
    moved = at_devices if None not in at_devices else [_bytes_of(copy) for copy in copies]
    elapsed_ns = sum(copy["end_ns"] - copy["start_ns"] for copy in copies)
    known = [one for one in moved if one is not None]
    return None if len(known) < len(copies) else sum(known) * 10**9 // elapsed_ns


def _calls_of(copy: CopyLine) -> int | None:
    return _sum(copy.get("read_calls"), copy.get("write_calls"))


def _sum(*values: int | None) -> int | None:
    return None if None in values else sum(value for value in values if value is not None)


def _median(copies: Sequence[CopyLine], value: Callable[[CopyLine], int | None]) -> int | None:
    """None where one copy lacks it: an earlier version did not count calls."""
    values = [value(copy) for copy in copies]
    known = [one for one in values if one is not None]
    return None if len(known) < len(values) else int(median(known))
