"""How the wall clocks of hosts differ from the first one's, measured by round trips: the shortest one counts."""

from __future__ import annotations

import time
from typing import NamedTuple

from tonnage.cluster.mpi.ranks import Ranks
from tonnage.cluster.mpi.transport import Tag

TRIES = 16
_LIMIT_S = 10.0


class Offset(NamedTuple):
    """A host's wall clock minus the first host's, and half the shortest round trip, within which that is known."""

    offset_ns: int
    uncertainty_ns: int


def ask(ranks: Ranks, rank: int) -> Offset:
    """Asks a process for its time; ProcessLost if it does not answer."""
    best: Offset | None = None
    for _ in range(TRIES):
        sent = time.time_ns()
        ranks.transport.send(rank, Tag.PING, b"")
        theirs = int(_reply(ranks, rank))
        came = time.time_ns()
        half = (came - sent) // 2
        if best is None or half < best.uncertainty_ns:
            best = Offset(theirs - (sent + half), half)
    ranks.transport.send(rank, Tag.PING, b"enough")
    assert best is not None
    return best


def answer(ranks: Ranks, rank: int) -> None:
    """Answers the clock requests of ``rank``. The caller has received the first one; returns after the last."""
    ranks.transport.send(rank, Tag.PING, b"%d" % time.time_ns())
    until = time.monotonic() + _LIMIT_S
    while time.monotonic() < until:
        found = ranks.transport.try_receive(Tag.PING, rank)
        if found is None:
            time.sleep(0)
        elif found[1]:
            return
        else:
            ranks.transport.send(rank, Tag.PING, b"%d" % time.time_ns())


def _reply(ranks: Ranks, rank: int) -> bytes:
    until = time.monotonic() + _LIMIT_S
    while time.monotonic() < until:
        found = ranks.transport.try_receive(Tag.PING, rank)
        if found is not None:
            return found[1]
        time.sleep(0)
    raise ranks.lost(rank, f"it did not tell its time within {_LIMIT_S:.0f} s")
