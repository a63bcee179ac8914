"""A wakeup at each process, which those of its host ring after they sent it a message: so it rests, and wakes at once.

A courtesy: a wakeup that does not ring costs a rest of a few milliseconds, never a message.
"""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tonnage.cluster.mpi.member import Member


_FINEST_S = 0.001
"""What the kernel counts in where it waits for a ring; shorter rests are slept."""


class Wakeup:
    """This process's wakeup, and those of the others that can be rung from here."""

    def __init__(self, members: Sequence[Member], rank: int) -> None:
        """OSError where this process can have none."""
        mine = members[rank]
        self._names = {
            other: _name(member) for other, member in enumerate(members) if member.place == mine.place and other != rank
        }
        self.near = len(self._names) == len(members) - 1
        """Whether all the others ring this one."""
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        self._socket.bind(_name(mine))
        self._rung = select.poll()
        self._rung.register(self._socket, select.POLLIN)

    def ring(self, rank: int) -> None:
        """Wakes that process, if it is here and rests."""
        name = self._names.get(rank)
        if name is not None:
            # A wakeup that cannot take another ring has one to answer.
            with suppress(OSError):
                self._socket.sendto(b"", name)

    def wait(self, limit_s: float) -> None:
        """Returns once it was rung, at the latest after ``limit_s``."""
        if limit_s < _FINEST_S:
            time.sleep(limit_s)
        elif self._rung.poll(limit_s * 1e3):
            # All rings until now are answered by the one look that follows.
            with suppress(BlockingIOError):
                while True:
                    self._socket.recv(1)


def _name(member: Member) -> bytes:
    """In the kernel's own space of names, where nothing is left behind."""
    return f"\0tonnage-wakeup {member.place} {member.pid}".encode()[:107]
