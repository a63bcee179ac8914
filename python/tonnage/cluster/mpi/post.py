"""Letters between processes: bytes under a tag, sent without waiting and looked for without blocking.

Nothing here waits inside MPI, where a process that died would be waited for without end. Whoever waits asks again and
again and rests in between, longer the longer nothing came.
"""

from __future__ import annotations

import time
from enum import IntEnum
from typing import Any

_SHORTEST_S = 50e-6
_LONGEST_S = 0.05
_SHARE_OF_WAIT = 8
"""A rest is this part of the time since the last letter: what comes is found soon, what does not come costs little."""


class Tag(IntEnum):
    """What a letter is about."""

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


class Post:
    """The communicator of all processes."""

    def __init__(self, mpi: Any, communicator: Any) -> None:
        """``mpi``: the module ``mpi4py.MPI``."""
        self._mpi = mpi
        self._communicator = communicator
        self._status = mpi.Status()
        self._sending: list[tuple[Any, bytes]] = []

    def send(self, to: int, tag: Tag, letter: bytes) -> None:
        """Sends it on its way; it is kept until it has left."""
        self._sending = [kept for kept in self._sending if not kept[0].Test()]
        request = self._communicator.Isend([letter, self._mpi.BYTE], to, tag)
        self._sending.append((request, letter))

    def look(self, tag: Tag, sender: int | None = None) -> tuple[int, bytes] | None:
        """The next letter under the tag, of one sender or of anybody: who sent it, and what it says. None: none yet."""
        sender = self._mpi.ANY_SOURCE if sender is None else sender
        message = self._communicator.Improbe(sender, tag, self._status)
        if message is None:
            return None
        source, count = self._status.Get_source(), self._status.Get_count(self._mpi.BYTE)
        letter = bytearray(count)
        # It was matched: its bytes are here or on their way. A sender that dies half-way is the launcher's to notice.
        message.Recv([letter, self._mpi.BYTE])
        return source, bytes(letter)

    def sent(self, limit_s: float) -> bool:
        """Waits until all letters have left; whether they have."""
        rest = Rest()
        until = time.monotonic() + limit_s
        while self._sending:
            self._sending = [kept for kept in self._sending if not kept[0].Test()]
            if self._sending and time.monotonic() > until:
                return False
            if self._sending:
                rest.rest()
        return True


class Rest:
    """Sleeps between two looks."""

    def __init__(self, longest_s: float = _LONGEST_S) -> None:
        self._longest_s = longest_s
        self._since = time.monotonic()

    def again(self) -> None:
        """Something came: look often for a while."""
        self._since = time.monotonic()

    def rest(self) -> None:
        """Sleeps a while."""
        waited = time.monotonic() - self._since
        time.sleep(min(max(waited / _SHARE_OF_WAIT, _SHORTEST_S), self._longest_s))
