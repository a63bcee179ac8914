"""The start line across processes: a barrier of the processes that take part. Only here do they wait busily.

Where each process has its own processor this is a dissemination barrier, which all leave at about the same time. Where
processes share processors the number of messages decides, and a tree needs the fewest."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from tonnage.cluster.mpi.membership import children, parent
from tonnage.cluster.mpi.ranks import Ranks
from tonnage.cluster.mpi.time_limits import BARRIER_S
from tonnage.cluster.mpi.transport import Tag

REHEARSALS = 3
"""Barriers before the one that counts: the first gathers those that come late, the others are timed."""
_SPINS = 64
"""Polls between two checks of whether to give up."""
_CROWDED_S = 50e-6
"""Sleep after each poll where processes share processors: the awaited process may need this processor."""
_RUNG_S = 0.005
"""The same where the awaited process sends a wakeup."""


def cross(ranks: Ranks, members: Sequence[int], serial: int, ended: Callable[[], bool]) -> list[int]:
    """Returns once all ``members`` (ranks, this one among them) have come, with the nanoseconds that each barrier after
    the first took here. ``ended``: says whether it is to be given up. ProcessLost names who did not come."""
    took: list[int] = []
    position = members.index(ranks.rank)
    one = _by_tree if ranks.crowded_somewhere else _by_rounds
    for number in range(REHEARSALS + 1):
        began = time.monotonic_ns()
        one(ranks, members, position, b"%d %d" % (serial, number), ended)
        if number:
            took.append(time.monotonic_ns() - began)
    return took


def _by_tree(ranks: Ranks, members: Sequence[int], position: int, name: bytes, ended: Callable[[], bool]) -> None:
    """Each process reports to its parent that all below it have arrived; the first process then tells each one that all
    have: two messages a process. A released process starts to work at once and occupies a processor that its children
    may need, so parents do not pass the release on.
    """
    below = [members[child] for child in children(position, len(members))]
    for rank in reversed(below):
        _await(ranks, rank, name, ended)
    above = parent(position)
    if above is not None:
        ranks.transport.send(members[above], Tag.BARRIER, name)
        _await(ranks, members[0], name, ended)
        return
    for rank in members[1:]:
        ranks.transport.send(rank, Tag.BARRIER, name)


def _by_rounds(ranks: Ranks, members: Sequence[int], position: int, name: bytes, ended: Callable[[], bool]) -> None:
    """After round k each process knows, through others, of the arrival of the 2^(k+1) processes before it."""
    count, step = len(members), 1
    while step < count:
        ranks.transport.send(members[(position + step) % count], Tag.BARRIER, name)
        _await(ranks, members[(position - step) % count], name, ended)
        step *= 2


def _await(ranks: Ranks, sender: int, name: bytes, ended: Callable[[], bool]) -> None:
    moved = time.monotonic()
    until, next_look = moved + BARRIER_S, moved + 0.1
    rest_s = (_RUNG_S if ranks.transport.near else _CROWDED_S) if ranks.crowded else 0.0
    spins = 0
    while True:
        found = ranks.transport.try_receive(Tag.BARRIER, sender)
        if found is not None and found[1] == name:
            return
        if rest_s:
            ranks.transport.wait(rest_s)
        spins += 1
        if rest_s < _RUNG_S and spins % _SPINS:
            continue
        now = time.monotonic()
        if now < next_look:
            continue
        next_look = now + 0.1
        if ranks.gone(sender):
            raise ranks.lost(sender, "its process ended")
        if ended():
            raise ranks.lost(sender, "it did not come to the start line when all were told to end")
        if not ranks.stopped(sender):
            moved = now
        elif now - moved > ranks.patience_s:
            raise ranks.lost(sender, "it was stopped, and gave no sign of life at the start line")
        if now > until:
            raise ranks.lost(sender, f"it did not come to the start line within {BARRIER_S:.0f} s")
