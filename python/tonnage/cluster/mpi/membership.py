"""The identity of each process, and how all processes exchange it."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from tonnage import __version__
from tonnage.cluster.mpi.transport import Tag, Transport


def parent(position: int) -> int | None:
    """Returns the parent of a position; None for the root."""
    return position & (position - 1) if position else None


def children(position: int, count: int) -> list[int]:
    """The children of a position, the one with the largest subtree first: it passes the most messages on."""
    found = []
    step = 1
    while (position == 0 or step < position & -position) and position + step < count:
        found.append(position + step)
        step <<= 1
    return found[::-1]


class Member(NamedTuple):
    """One process. ``place`` identifies its PID namespace: within one namespace a process can be found by its PID."""

    host: str
    pid: int
    place: str
    tonnage: str
    processors: int
    """Those it may run on: bit n stands for number n."""

    @classmethod
    def this_process(cls) -> Member:
        """Returns this process."""
        try:
            space = os.stat("/proc/self/ns/pid").st_ino  # noqa: PTH116 - a link to no file
        except OSError:
            space = 0
        host = os.uname().nodename
        return cls(
            host,
            os.getpid(),
            f"{_boot_id()}{host}/{space}",
            __version__,
            sum(1 << number for number in os.sched_getaffinity(0)),
        )


def meet(transport: Transport, rank: int, size: int) -> list[Member]:
    """All processes, by rank: their identities are gathered up the tree, and the whole list goes down it. Waits for the
    last process."""
    known: list[list[object]] = [list(Member.this_process())]
    below = children(rank, size)
    for child in reversed(below):
        # Smallest subtree first, so that they stand by rank.
        known += json.loads(transport.take(Tag.HERE, child))
    above = parent(rank)
    message = json.dumps(known).encode()
    if above is not None:
        transport.send(above, Tag.HERE, message)
        message = transport.take(Tag.ALL, above)
    for child in below:
        transport.send(child, Tag.ALL, message)
    # MPI sends a long message only while its sender polls, and the next step may take a while.
    transport.sent()
    return [Member(*one) for one in json.loads(message)]


def crowded(members: Sequence[Member]) -> set[str]:
    """The hosts that have more processes than those may use processors."""
    processes, processors = Counter(member.host for member in members), Counter[str]()
    for member in members:
        processors[member.host] |= member.processors
    return {host for host, count in processes.items() if count > processors[host].bit_count()}


def _boot_id() -> str:
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:  # noqa: PTH123 - no pathlib for followers
            return file.read().strip()
    except OSError:
        return ""
