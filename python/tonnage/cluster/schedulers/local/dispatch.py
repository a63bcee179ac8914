"""Whose turn it is: first come, first served, within slots, caps and licences. Nothing here touches a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


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
