"""The result of one fio job in one direction, from text and terse outputs, and the trials that jobs of one name
make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tonnage.importers.imported_phases import OF_A_MIX, Latency, Note, Phase, StatedRate, Task
from tonnage.importers.rounded_numbers import Rounded
from tonnage.records.line_types import SettingValues

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


def together(shares: Sequence[JobResult]) -> tuple[Phase, ...]:
    """Jobs of one name and group ran at the same time: they are the tasks of one trial in each direction."""
    found: dict[tuple[str, str, str], list[JobResult]] = {}
    for share in shares:
        found.setdefault((share.group, share.job, share.op), []).append(share)
    return tuple(
        _phase(several, mixed=len({op for group, job, op in found if (group, job) == key[:2]}) > 1)
        for key, several in found.items()
    )


def _phase(shares: Sequence[JobResult], *, mixed: bool) -> Phase:
    first = shares[0]
    tasks = sum(share.tasks for share in shares)
    apart = len(shares) == tasks
    reasons = [share.failed for share in shares if share.failed]
    notes = dict.fromkeys(note for share in shares for note in share.notes)
    return Phase(
        phase=first.op,
        setting=_setting(first, tasks),
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
        notes=(*notes, *((OF_A_MIX,) if mixed else ())),
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
