"""One score a candidate: the seconds until a job there would have its data. Each term is in seconds, so they add up."""

from __future__ import annotations

from tonnage.placement.choice.candidate import Candidate, Demand

UNKNOWN_LINE_TASKS = 16.0
"""Where no load line is known, so many tasks double the access: enough to tell a busy server from an idle one, too
little to send a job away from its data for a guess."""


def access_s(demand: Demand, candidate: Candidate) -> float:
    """Its bytes and operations, alone: bytes ÷ bandwidth + operations × latency."""
    return demand.bytes / candidate.bandwidth_bytes_per_s + demand.operations * candidate.latency_s


def tasks_there(candidate: Candidate) -> float:
    """Tasks that use the server: those the scheduler counts, or as many as its indices say where that is more (others
    use it too), and those placed since."""
    counted = candidate.on_server
    if candidate.line is not None and candidate.pressure is not None:
        counted = max(counted, candidate.pressure * candidate.line)
    return counted + candidate.placed


def fill(demand: Demand, candidate: Candidate) -> float:
    """How full the server would be with this job, 1 at its load line. Between equal scores the emptier one wins."""
    if candidate.line is not None:
        return (tasks_there(candidate) + demand.tasks) / candidate.line
    return tasks_there(candidate) / UNKNOWN_LINE_TASKS + (candidate.pressure or 0.0)


def load_share(demand: Demand, candidate: Candidate) -> float:
    """What the load adds to the access, as a share of it.

    Up to its load line a server gives each task its full rate, so nothing; beyond it all share what the line carries,
    so each takes ``tasks ÷ line`` times as long. Without a line, gently more with each task.
    """
    full = fill(demand, candidate)
    return max(0.0, full - 1.0) if candidate.line is not None else full


def wait_s(candidate: Candidate, *, slots: int, unknown_slot_s: float) -> float:
    """Expected wait for a slot: none where one is free, else the turns before it.

    With k jobs side by side a turn ends every ``slot_s ÷ k`` seconds. ``slots``: those that the job takes.
    ``unknown_slot_s``: how long a job keeps its slot where nobody knows.
    """
    if candidate.slots is None or candidate.busy + slots <= candidate.slots:
        return 0.0
    turn_s = unknown_slot_s if candidate.slot_s is None else candidate.slot_s
    return (candidate.waiting + 1) * turn_s / max(1, candidate.slots // slots)
