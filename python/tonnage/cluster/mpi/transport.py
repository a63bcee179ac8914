"""Messages between processes: bytes under a tag, sent and received without blocking.

Nothing here waits inside MPI, where a process that died would be waited for without end. A waiting process polls and
sleeps in between; the sleeps grow while nothing arrives.
"""

from __future__ import annotations

import math
import select
import socket
import time
from collections.abc import Sequence
from contextlib import suppress
from enum import IntEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tonnage.cluster.mpi.membership import Member

_SHORTEST_S = 50e-6
_LONGEST_S = 0.05
_SHORTEST_RUNG_S = 0.005
"""The shortest sleep where all other processes send wakeups: polling then only finds what wakeups cannot report."""
_LONGEST_RUNG_S = 0.2
_SHARE_OF_WAIT = 8
"""A sleep is this share of the time since the last message: a message is found soon, and waiting costs little."""
_FINEST_S = 0.001
"""The resolution of the kernel when it waits for a wakeup; shorter waits are slept."""


class Tag(IntEnum):
    """What a message is about."""

    ORDER = 1
    ANSWER = 2
    DUTY = 3
    REPLY = 4
    BEAT = 5
    SHARE = 6
    ARRIVED = 7
    AGREED = 8
    STOP = 9
    BARRIER = 10
    PING = 11
    SIGNAL = 12
    ABANDON = 13
    HERE = 14
    ALL = 15
    NOTHING = 16


class Transport:
    """The communicator of all processes."""

    def __init__(self, mpi: Any, communicator: Any) -> None:
        """``mpi``: the module ``mpi4py.MPI``."""
        self._mpi = mpi
        self._communicator = communicator
        self._rank: int = communicator.Get_rank()
        self._status = mpi.Status()
        self._sending: list[tuple[Any, bytes]] = []
        self.wakeup: Wakeup | None = None
        """Wakeups of the processes on this host, once all are known."""
        self.rings_at_barrier = False
        """Whether processes that wait at a barrier sleep: otherwise they poll busily, and a wakeup would only cost
        time."""

    def send(self, to: int, tag: Tag, message: bytes) -> None:
        """Sends it on its way; it is kept until it has left."""
        self._sending = [kept for kept in self._sending if not kept[0].Test()]
        request = self._communicator.Isend([message, self._mpi.BYTE], to, tag)
        self._sending.append((request, message))
        if self.wakeup is not None and (tag != Tag.BARRIER or self.rings_at_barrier):
            self.wakeup.ring(to)

    def try_receive(self, tag: Tag, sender: int | None = None) -> tuple[int, bytes] | None:
        """The next message under the tag, of one sender or of any: its sender and its bytes. None: none has arrived."""
        sender = self._mpi.ANY_SOURCE if sender is None else sender
        arrived = self._communicator.Improbe(sender, tag, self._status)
        if arrived is None:
            return None
        source, count = self._status.Get_source(), self._status.Get_count(self._mpi.BYTE)
        message = bytearray(count)
        # It was matched: its bytes are here or on their way. A sender that dies half-way is the launcher's to notice.
        arrived.Recv([message, self._mpi.BYTE])
        return source, bytes(message)

    def take(self, tag: Tag, sender: int) -> bytes:
        """The next message of one sender, waited for without a limit: the caller has one."""
        rest = self.poll_pause()
        while (found := self.try_receive(tag, sender)) is None:
            rest.pause()
        return found[1]

    def sent(self, limit_s: float = math.inf) -> bool:
        """Waits until all messages have left; whether they have."""
        rest = self.poll_pause()
        until = time.monotonic() + limit_s
        while self.is_sending():
            if time.monotonic() > until:
                return False
            rest.pause()
        return True

    def is_sending(self) -> bool:
        """Whether messages are still to be sent, which happens only while this process polls."""
        self._sending = [kept for kept in self._sending if not kept[0].Test()]
        return bool(self._sending)

    @property
    def near(self) -> bool:
        """Whether every sender also sends a wakeup."""
        return self.wakeup is not None and self.wakeup.near

    def poll_pause(self, longest_s: float | None = None) -> PollPause:
        """The pauses of a caller that waits for messages and polls at least every ``longest_s``."""
        return PollPause(self, longest_s)

    def wait(self, limit_s: float) -> None:
        """Sleeps for so long, or until a process on this host has sent something."""
        time.sleep(limit_s) if self.wakeup is None else self.wakeup.wait(limit_s)
        # Open MPI answers a question from what it had before, and only then takes in what has come: so this one first.
        self._communicator.Iprobe(self._rank, Tag.NOTHING)


class PollPause:
    """Sleeps between two polls."""

    def __init__(self, transport: Transport, longest_s: float | None) -> None:
        self._transport = transport
        self._longest_s = longest_s
        self._since = time.monotonic()

    def again(self) -> None:
        """Notes that a message arrived: poll often for a while."""
        self._since = time.monotonic()

    def pause(self) -> None:
        """Sleeps a while."""
        rung = self._transport.near and not self._transport.is_sending()
        shortest_s, longest_s = (_SHORTEST_RUNG_S, _LONGEST_RUNG_S) if rung else (_SHORTEST_S, _LONGEST_S)
        waited = time.monotonic() - self._since
        self._transport.wait(min(max(waited / _SHARE_OF_WAIT, shortest_s), self._longest_s or longest_s))


class Wakeup:
    """This process's wakeup and those of the others on its host, which a sender triggers after a message: a process
    sleeps and wakes at once. A missed wakeup costs a sleep of a few milliseconds, never a message."""

    def __init__(self, members: Sequence[Member], rank: int) -> None:
        """OSError where this process can have none."""
        mine = members[rank]
        self._names = {
            other: _name(member) for other, member in enumerate(members) if member.place == mine.place and other != rank
        }
        self.near = len(self._names) == len(members) - 1
        """Whether all the others wake this process."""
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        self._socket.bind(_name(mine))
        self._rung = select.poll()
        self._rung.register(self._socket, select.POLLIN)

    def ring(self, rank: int) -> None:
        """Wakes that process, if it is on this host and sleeps."""
        name = self._names.get(rank)
        if name is not None:
            # A full wakeup buffer means that a wakeup is pending.
            with suppress(OSError):
                self._socket.sendto(b"", name)

    def wait(self, limit_s: float) -> None:
        """Returns at the next wakeup, after ``limit_s`` at the latest."""
        if limit_s < _FINEST_S:
            time.sleep(limit_s)
        elif self._rung.poll(limit_s * 1e3):
            # The next poll answers all wakeups until now.
            with suppress(BlockingIOError):
                while True:
                    self._socket.recv(1)


def _name(member: Member) -> bytes:
    """In the kernel's own space of names, where nothing is left behind."""
    return f"\0tonnage-wakeup {member.place} {member.pid}".encode()[:107]
