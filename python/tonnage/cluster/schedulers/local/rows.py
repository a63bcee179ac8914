"""What the rows of a spool mean. Those that no spool writes are damage, and are named."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple, get_args

from tonnage.cluster.array_numbers import Range
from tonnage.cluster.job_terms import Terms
from tonnage.cluster.scheduler import Job, JobRequest, State
from tonnage.processes import Process


@dataclass(frozen=True, slots=True)
class Waiting:
    """A job with copies that wait; a job that is no array is one copy."""

    number: int
    pending: int
    running: int
    slots: int
    """Of each copy."""
    cap: int | None
    licences: tuple[tuple[str, int], ...]
    """(name, count) of each copy."""


@dataclass(frozen=True, slots=True)
class Turn:
    """How many copies of each job start now, and why the rest of them wait."""

    starts: dict[int, int]
    reasons: dict[int, str]


def next_turn(queue: Iterable[Waiting], free_slots: int, free_licences: Mapping[str, int]) -> Turn:
    """What starts, with ``queue`` in the order of submission.

    A job that waits for slots holds back all behind it, else small jobs would keep a large one waiting for ever. One
    that waits for a licence holds back only those that want the same; one at its cap holds back nobody.
    """
    turn = Turn({}, {})
    licences = dict(free_licences)
    held_by: int | None = None
    for job in queue:
        if held_by is not None:
            turn.reasons[job.number] = f"behind job {held_by}"
            continue
        counts = {name: max(licences.get(name, 0), 0) // count for name, count in job.licences if count}
        below_cap = job.pending if job.cap is None else max(job.cap - job.running, 0)
        licensed = min([job.pending, below_cap, *counts.values()])
        started = min(licensed, max(free_slots, 0) // job.slots)
        if started:
            turn.starts[job.number] = started
            free_slots -= started * job.slots
            for name, count in job.licences:
                licences[name] = licences.get(name, 0) - started * count
        if started == job.pending:
            continue
        if started < licensed:
            held_by = job.number
            turn.reasons[job.number] = f"waits for {job.slots} free slot{'s' if job.slots > 1 else ''}"
        elif started == below_cap:
            turn.reasons[job.number] = f"at most {job.cap} at once"
        else:
            short = [name for name, count in counts.items() if count <= started]
            turn.reasons[job.number] = f"waits for licence {', '.join(short)}"
            # Those behind it do not overtake it for what it waits for.
            licences.update(dict.fromkeys(short, 0))
    return turn


WHOLE = 0
"""The copy of a job that is no array."""
UNREADABLE = "what was asked for cannot be read: another version of Tonnage submitted it, or it is damaged"
"""Why such a job does not run."""


class Entry(NamedTuple):
    """A job as it was submitted."""

    request: JobRequest
    umask: int
    environment: dict[str, str]


@dataclass(frozen=True, slots=True)
class Copy:
    """What became of one copy, in nanoseconds since 1970."""

    job: int
    copy: int
    count: int
    """Of copies that are told of as one, of which this is the first."""
    state: State
    foreground: bool
    """``waiter`` asked for it, and runs it with its own terminal."""
    waiter: Process | None
    """The process that runs its program, or will run it where the copy is pending in the foreground."""
    program: Process | None
    started_ns: int | None
    cancelled_ns: int | None
    """When its end was ordered."""
    ended_ns: int | None
    status: int | None
    """Its exit status, 128 + n where signal n ended it; None where it is unknown, or the copy never ran."""
    reason: str


class Ended(NamedTuple):
    """How a copy ended."""

    state: State
    status: int | None
    reason: str


class Damaged(Exception):
    """A row is not one that a spool writes."""


def jobs_of(rows: Iterable[tuple[Any, ...]]) -> dict[int, Job]:
    """What the lines of each job have in common. One that cannot be read is listed, and can be cancelled, all the
    same."""
    found: dict[int, Job] = {}
    for number, slots, key, submitted_ns, cap, text in rows:
        line = Job(job=str(number), slots=slots, key=key, submitted_at_s=submitted_ns / 1e9)
        request = request_of(text)
        if request is None:
            found[number] = replace(line, reason=UNREADABLE)
        else:
            limit = (cap or 0) if request.copies else None
            found[number] = replace(line, name=request.name, server=request.server, cap=limit)
    return found


def line_of(copy: Copy, job: Job, waits: str) -> Job:
    """``waits``: why one that is pending waits."""
    began = copy.started_ns is not None
    return replace(
        job,
        copy=None if copy.copy == WHOLE or copy.count > 1 else copy.copy,
        count=copy.count,
        cap=None if began else job.cap,
        state=copy.state,
        started_at_s=copy.started_ns and copy.started_ns / 1e9,
        ended_at_s=copy.ended_ns / 1e9 if began and copy.ended_ns else None,
        exit_status=copy.status,
        reason=copy.reason if began else job.reason or (waits if copy.state == "pending" else ""),
    )


def request_of(text: str) -> JobRequest | None:
    """None where nobody can tell what was asked for."""
    with suppress(ValueError, KeyError, TypeError, AttributeError):
        record = json.loads(text)
        for name in ("argv", "hosts"):
            record[name] = tuple(record[name])
        for name in ("licences", "licence_totals"):
            record[name] = tuple((str(licence), int(count)) for licence, count in record[name])
        record["numbers"] = tuple(Range(**one) for one in record["numbers"])
        record["terms"] = Terms.load(record["terms"])
        known = {field.name for field in fields(JobRequest)}
        return JobRequest(**{key: value for key, value in record.items() if key in known})
    return None


def copies_of(rows: Iterable[tuple[Any, ...]]) -> list[Copy]:
    found = []
    for job, copy, count, state, foreground, *processes, began, ordered, ended, status, reason in rows:
        try:
            if state not in get_args(State):
                raise ValueError(f"it has the state {state!r}")
            times = (began, ordered, ended)
            for instant in times:
                if not isinstance(instant, int | None):
                    raise ValueError(f"{instant!r} is no time")
            waiter, program = (text and Process.read(text) for text in processes)
            why = json.loads(reason)
            found.append(Copy(job, copy, count, state, bool(foreground), waiter, program, *times, status, why))
        except (ValueError, TypeError) as error:
            raise Damaged(f"copy {copy} of job {job}: {error}") from None
    return found


def turn_of(db: sqlite3.Connection, slots: int) -> Turn:
    """Whose turn it is now, and why the others wait."""
    queue: list[Waiting] = []
    free, totals, held = slots, dict[str, int](), dict[str, int]()
    rows = db.execute(
        "select number, slots, cap, licences, totals, pending, running from job join"
        " (select job, sum(state = 'pending') as pending, sum(state != 'pending') as running from copy"
        " where ended_ns is null group by job) on number = job order by number"
    )
    for number, wanted, cap, licences, known, pending, running in rows:
        try:
            each_holds = tuple((str(name), int(count)) for name, count in json.loads(licences))
            totals.update((str(name), int(total)) for name, total in json.loads(known))
            job = Waiting(number, pending, running, int(wanted), None if cap is None else int(cap) or None, each_holds)
        except (ValueError, TypeError) as error:
            raise Damaged(f"job {number}: {error}") from None
        free -= job.slots * running
        for name, count in each_holds:
            held[name] = held.get(name, 0) + count * running
        if pending:
            queue.append(job)
    return next_turn(queue, free, {name: total - held.get(name, 0) for name, total in totals.items()})
