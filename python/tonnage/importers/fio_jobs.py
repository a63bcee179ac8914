"""The result of one fio job in one direction, from text and terse outputs, and the trials that jobs of one name
make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tonnage.importers.imported_phases import (
    BESIDE_OTHERS,
    OF_A_MIX,
    Latency,
    Note,
    Phase,
    StatedRate,
    Task,
    Unplaced,
)
from tonnage.importers.rounded_numbers import Rounded
from tonnage.records.line_types import SettingValues

_ONE_WAY = frozenset({"read", "write", "randread", "randwrite"})
"""Patterns of fio without a mix."""
_ON_NAMES = {
    "filecreate": "create", "filestat": "stat", "filedelete": "remove",
    "dircreate": "make-directory", "dirstat": "stat-directory", "dirdelete": "remove-directory",
}  # fmt: skip
"""Engines that call on names alone. fio counts a block of bytes for each call."""
_SIZES = range(9, 31)
"""Of one operation, from 512 bytes to 1 GiB, as powers of two."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobResult:
    """What one entry of a job did in one direction."""

    line: int
    job: str
    group: str
    op: str
    bytes: int
    operations: int
    elapsed_ns: int
    rate: Rounded
    seconds: Rounded
    text: str
    """The rate as printed."""
    latency: Latency | None
    tasks: int = 1
    """With group reporting one entry is the sum of several."""
    failed: str | None = None
    transfer_size: int | None = None
    pattern: str | None = None
    storage: str | None = None
    queue_depth: int | None = None
    notes: tuple[Note, ...] = ()


def size_of_one(moved: int, operations: Rounded) -> int | None:
    """The one power of two of which so many make ``moved``; None where several do, or none."""
    agree = [
        1 << bits for bits in _SIZES if not moved % (1 << bits) and operations.low <= moved >> bits <= operations.high
    ]
    return agree[0] if len(agree) == 1 else None


def on_names(phase: Phase) -> Phase:
    """The phase, without the bytes that nobody moved where its engine calls on names."""
    name = _ON_NAMES.get(str(phase.setting.get("storage")))
    if name is None:
        return phase
    setting = {key: value for key, value in phase.setting.items() if key not in ("op", "transfer_size")}
    return replace(
        phase,
        phase=name,
        setting={**setting, "kind": "files"},
        bytes=0,
        tasks=tuple(replace(task, bytes=0) for task in phase.tasks),
        stated_rate=None,
    )


def together(shares: Sequence[JobResult], *, call: str) -> tuple[Phase, ...]:
    """Jobs of one name and group of a ``call`` of fio ran at the same time: they are the tasks of one trial in each
    direction. Jobs of other names in their group ran beside them."""
    found: dict[tuple[str, str, str], list[JobResult]] = {}
    for share in shares:
        found.setdefault((share.group, share.job, share.op), []).append(share)
    groups: dict[str, dict[str, set[str]]] = {}
    for group, job, op in found:
        groups.setdefault(group, {}).setdefault(job, set()).add(op)
    return tuple(
        on_names(
            _phase(
                several,
                # One way and its verification come one after the other.
                mixed=len(groups[group][job]) > 1 and several[0].pattern not in _ONE_WAY,
                beside=tuple(sorted(other for other in groups[group] if other != job)),
                unplaced=Unplaced(f"group {group} of {call}", ("options",), "fio states its options in JSON alone"),
            )
        )
        for (group, job, _), several in found.items()
    )


def _phase(shares: Sequence[JobResult], *, mixed: bool, beside: tuple[str, ...], unplaced: Unplaced) -> Phase:
    first = shares[0]
    tasks = sum(share.tasks for share in shares)
    apart = len(shares) == tasks
    reasons = [share.failed for share in shares if share.failed]
    notes = dict.fromkeys(note for share in shares for note in share.notes)
    return Phase(
        phase=first.op,
        setting={**_setting(first, tasks), "beside": "; ".join(beside) or None},
        elapsed_ns=max(share.elapsed_ns for share in shares),
        bytes=sum(share.bytes for share in shares),
        operations=sum(share.operations for share in shares),
        line=first.line,
        tasks=tuple(Task(end_ns=share.elapsed_ns, bytes=share.bytes, operations=share.operations) for share in shares)
        if apart
        else (),
        latency=first.latency if len(shares) == 1 else None,
        stated_rate=None
        if notes
        else StatedRate(line=first.line, text=first.text, rate=first.rate, count=first.bytes, seconds=first.seconds),
        reason=reasons[0] if reasons else None,
        unplaced=unplaced,
        notes=(*notes, *((OF_A_MIX,) if mixed else ()), *((BESIDE_OTHERS,) if beside else ())),
    )


def _setting(share: JobResult, tasks: int) -> SettingValues:
    """Factors named as those of a ``stream``. Sizes of files are not said, so that jobs of other names are others."""
    pattern = share.pattern
    return {
        "kind": "stream",
        "op": share.op,
        "tasks": tasks,
        "transfer_size": share.transfer_size,
        "access": None if pattern is None else "random" if "rand" in pattern else "sequential",
        "pattern": pattern,
        "queue_depth": share.queue_depth,
        "storage": share.storage,
        "job": share.job,
    }
