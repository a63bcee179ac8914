"""The jobs of a spool as ``Scheduler.jobs`` tells of them: a line a copy, and one for all copies that wait."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

from tonnage.cluster.scheduler import Job, State
from tonnage.cluster.schedulers.local.dispatch import Waiting, next_turn
from tonnage.cluster.schedulers.local.records import WHOLE, Ended, Entry
from tonnage.cluster.schedulers.local.spool import Spool, copies_in

LATELY_NS = 3600 * 10**9
"""How long a job that ended is listed."""


def list_jobs(spool: Spool, slots: int, *, ended: bool = False) -> list[Job]:
    """What waits or runs on a host of so many slots, and with ``ended`` what did lately, in the order of submission."""
    found: list[Job] = []
    queue: list[Waiting] = []
    free = slots
    totals: dict[str, int] = {}
    held: dict[str, int] = {}
    # Those that wait or run first: a job that ends meanwhile is met again, not missed.
    numbers = {*spool.numbers()}
    if ended:
        numbers.update(spool.ended_since(time.time_ns() - LATELY_NS))
    for number in sorted(numbers):
        entry = spool.entry(number)
        if entry is None:
            continue
        files = spool.files(number)
        lines = list(_lines(spool, number, entry, files, ended=ended))
        found += lines
        running = sum(line.state == "running" for line in lines)
        pending = sum(line.count for line in lines if line.state == "pending")
        free -= running * entry.request.slots
        totals.update(entry.request.licence_totals)
        for name, count in entry.request.licences:
            held[name] = held.get(name, 0) + count * running
        if pending:
            queue.append(_waiting(spool, number, entry, pending, running, files))
    free_licences = {name: total - held.get(name, 0) for name, total in totals.items()}
    reasons = next_turn(queue, free, free_licences).reasons
    return [replace(line, reason=reasons.get(int(line.job), "")) if line.state == "pending" else line for line in found]


def _waiting(spool: Spool, number: int, entry: Entry, pending: int, running: int, files: set[str]) -> Waiting:
    request = entry.request
    return Waiting(
        number=number,
        pending=pending,
        running=running,
        slots=request.slots,
        cap=_cap(spool, number, entry, files) or None,
        licences=request.licences,
    )


def _cap(spool: Spool, number: int, entry: Entry, files: set[str]) -> int:
    """As it is now; 0: all may run at once."""
    ordered = spool.cap(number) if "cap" in files else None
    return (entry.request.cap if ordered is None else ordered) or 0


def _lines(spool: Spool, number: int, entry: Entry, files: set[str], *, ended: bool) -> Iterator[Job]:
    request = entry.request
    line = Job(
        job=str(number),
        name=request.name,
        slots=request.slots,
        key=request.key,
        server=request.server,
        submitted_at_s=entry.submitted_at_ns / 1e9,
    )
    started, over = copies_in(files)
    for copy in sorted(started if ended else started - over):
        told = _copy_line(spool, number, copy, replace(line, copy=None if copy == WHOLE else copy))
        if ended or told.state == "running":
            yield told
    pending = (request.copies or 1) - len(started)
    is_cancelled = "cancelled" in files
    if pending and (ended or not is_cancelled):
        state: State = "cancelled" if is_cancelled else "pending"
        left = next(copy for copy in entry.copies if copy not in started) if pending == 1 else WHOLE
        cap = _cap(spool, number, entry, files) if request.copies else None
        yield replace(line, copy=None if left == WHOLE else left, state=state, count=pending, cap=cap)


def _copy_line(spool: Spool, number: int, copy: int, line: Job) -> Job:
    started = spool.started(number, copy)
    ended: Ended | None = spool.ended(number, copy)
    began_at_s = None if started is None else started.at_ns / 1e9
    if ended is None:
        return replace(line, state="running", started_at_s=began_at_s)
    return replace(
        line,
        state=ended.state,
        started_at_s=began_at_s,
        ended_at_s=ended.at_ns / 1e9,
        exit_status=ended.status,
        reason=ended.reason,
    )
