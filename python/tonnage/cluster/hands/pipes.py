"""A crew of processes on other hosts, each at the end of pipes. One thread moves the bytes of all of them."""

from __future__ import annotations

import contextlib
import itertools
import os
import selectors
import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any

from tonnage.cluster.crew import Answer
from tonnage.cluster.hands.hand import Hand
from tonnage.cluster.hands.ways import first_line

START_S = 30.0
"""In which a host must be there: longer than a login on a busy one takes."""
END_S = 8.0
"""For all hosts together to end what they started, before they are ended from here."""
_TERM_S = 1.0
"""Between SIGTERM, which lets a scheduler's command take its step back, and SIGKILL."""
_LOOK_S = 0.02


class PipeCrew:
    """One process on each host. A host that cannot be reached, or is lost, has a problem from then on, and no other one
    waits for it. ``close`` ends them all, within 10 s."""

    def __init__(self, hosts: Sequence[str], way: Callable[[str], Sequence[str]], *, start_s: float = START_S) -> None:
        """Starts them all at once and returns when each is there or has a problem, after ``start_s`` at the latest."""
        self.hosts: Sequence[str] = tuple(dict.fromkeys(hosts))
        self._numbers = itertools.count(1)
        self._changed = threading.Condition()
        self._closing = False
        self._woken, self._wake = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._woken, selectors.EVENT_READ, None)
        self._silent: dict[Hand, float] = {}
        """Those whose outputs are closed, until when their status is waited for."""
        self._hands: dict[str, Hand] = {}
        self._listener = threading.Thread(target=self._listen, name="hands", daemon=True)
        try:
            for host in self.hosts:
                self._hands[host] = hand = Hand(way(host), first_line())
                if hand.process is not None:
                    assert hand.process.stdout and hand.process.stderr
                    for pipe in (hand.process.stdout, hand.process.stderr):
                        self._selector.register(pipe.fileno(), selectors.EVENT_READ, hand)
            self._listener.start()
            self._wait_ready(start_s)
        except BaseException:
            self.close()
            raise

    def _wait_ready(self, start_s: float) -> None:
        with self._changed:
            self._changed.wait_for(lambda: all(one.ready or one.problem for one in self._hands.values()), start_s)
            for hand in self._hands.values():
                if not hand.ready and not hand.problem:
                    hand.problem = f"it did not answer within {start_s:g} s"
                    hand.signal(signal.SIGTERM)

    @property
    def problems(self) -> dict[str, str]:
        """Host → why it does not answer."""
        with self._changed:
            return {host: hand.problem for host, hand in self._hands.items() if hand.problem is not None}

    @property
    def nodes(self) -> dict[str, str]:
        """Host → what it calls itself, of those that are there."""
        with self._changed:
            return {host: hand.hello["host"] for host, hand in self._hands.items() if hand.hello is not None}

    def ask(self, duty: str, arguments: Mapping[str, Mapping[str, Any]], *, timeout_s: float) -> dict[str, Answer]:
        """As ``Crew.ask``; several threads may ask at once. A duty that is late goes on; its answer is dropped."""
        until_s = time.monotonic() + timeout_s
        found: dict[str, Answer] = {}
        waiting: dict[str, int] = {}
        with self._changed:
            for host, given in arguments.items():
                if host not in self._hands:
                    found[host] = Answer(problem=f"{host} is none of the hosts of this crew")
                    continue
                waiting[host] = next(self._numbers)
                if self._hands[host].problem is None:
                    self._hands[host].ask(waiting[host], duty, dict(given))
            self._nudge()
            while waiting:
                for host, number in list(waiting.items()):
                    hand = self._hands[host]
                    if number in hand.answers or hand.problem is not None:
                        found[host] = hand.answers.pop(number, Answer(problem=hand.problem))
                        del waiting[host]
                left_s = until_s - time.monotonic()
                if not waiting or left_s <= 0:
                    break
                self._changed.wait(left_s)
            for host, number in waiting.items():
                self._hands[host].forget(number)
                found[host] = Answer(problem=f"it did not answer within {timeout_s:g} s ({duty})")
        return {host: found[host] for host in arguments}

    def close(self) -> None:
        """Ends every far end with what it started; those that do not go in time are ended from here."""
        with self._changed:
            self._closing = True
            self._nudge()
        if self._listener.ident is not None:
            self._listener.join()
        for hand in self._hands.values():
            hand.let_go()
        for number, patience_s in ((None, END_S), (signal.SIGTERM, _TERM_S), (signal.SIGKILL, _TERM_S)):
            for hand in self._hands.values():
                if number is not None:
                    hand.signal(number)
            self._wait_ended(patience_s)
        self._selector.close()
        for hand in self._hands.values():
            if hand.process is not None:
                for pipe in (hand.process.stdout, hand.process.stderr):
                    if pipe is not None:
                        pipe.close()
        for descriptor in (self._woken, self._wake):
            with contextlib.suppress(OSError):
                os.close(descriptor)

    def _wait_ended(self, patience_s: float) -> None:
        """Until all have ended; reads what they still say, so that no full pipe holds one back."""
        until_s = time.monotonic() + patience_s
        while left := [hand for hand in self._hands.values() if hand.process and hand.process.poll() is None]:
            if time.monotonic() > until_s:
                return
            for key, _ in self._selector.select(_LOOK_S):
                if isinstance(key.data, Hand) and key.data in left and not key.data.hear(key.fd):
                    self._selector.unregister(key.fd)

    def __enter__(self) -> PipeCrew:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _nudge(self) -> None:
        """There is something to send, or the end has come."""
        with contextlib.suppress(OSError):
            os.write(self._wake, b".")

    def _listen(self) -> None:
        """The thread's life."""
        while not self._closing:
            self._offer()
            for key, events in self._selector.select(_LOOK_S if self._silent else None):
                with self._changed:
                    self._move(key, events)
                    self._changed.notify_all()
            self._bury()

    def _move(self, key: selectors.SelectorKey, events: int) -> None:
        hand = key.data
        if hand is None:
            with contextlib.suppress(BlockingIOError):
                os.read(self._woken, 1 << 12)
        elif events & selectors.EVENT_WRITE:
            hand.send()
        elif not hand.hear(key.fd):
            self._selector.unregister(key.fd)
            if hand.process.stdout.fileno() not in self._selector.get_map():
                self._silent.setdefault(hand, time.monotonic() + 1)

    def _offer(self) -> None:
        """Looks for room in the pipes of those that have something to send, and of no others."""
        with self._changed:
            for hand in self._hands.values():
                if hand.process is None or hand.process.stdin is None:
                    continue
                pipe = hand.process.stdin.fileno()
                watched = pipe in self._selector.get_map()
                if hand.has_unsent and not watched:
                    self._selector.register(pipe, selectors.EVENT_WRITE, hand)
                elif watched and not hand.has_unsent:
                    self._selector.unregister(pipe)

    def _bury(self) -> None:
        """Tells of those that have ended, as soon as their status is known."""
        for hand, until_s in list(self._silent.items()):
            status = hand.process.poll() if hand.process else None
            if status is not None or time.monotonic() > until_s:
                del self._silent[hand]
                with self._changed:
                    hand.ended(status)
                    self._changed.notify_all()
