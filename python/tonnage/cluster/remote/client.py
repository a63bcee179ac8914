"""A host group of processes on other hosts, each at the end of pipes. One thread moves the bytes of all of them."""

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

from tonnage.cluster.host_group import Answer, Arguments
from tonnage.cluster.remote.connections import first_line
from tonnage.cluster.remote.host_process import HostProcess

START_S = 30.0
"""Seconds in which a host must answer: longer than a login on a busy host takes."""
END_S = 8.0
"""For all hosts together to end what they started, before they are ended from here."""
_TERM_S = 1.0
"""Between SIGTERM, which lets a scheduler's command take its step back, and SIGKILL."""
_LOOK_S = 0.02


class RemoteHostGroup:
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
        self._silent: dict[HostProcess, float] = {}
        """Those whose outputs are closed, until when their status is waited for."""
        self._processes: dict[str, HostProcess] = {}
        self._listener = threading.Thread(target=self._listen, name="remote hosts", daemon=True)
        try:
            for host in self.hosts:
                self._processes[host] = there = HostProcess(way(host), first_line())
                if there.process is not None:
                    assert there.process.stdout and there.process.stderr
                    for pipe in (there.process.stdout, there.process.stderr):
                        self._selector.register(pipe.fileno(), selectors.EVENT_READ, there)
            self._listener.start()
            self._wait_ready(start_s)
        except BaseException:
            self.close()
            raise

    def _wait_ready(self, start_s: float) -> None:
        with self._changed:
            self._changed.wait_for(lambda: all(one.ready or one.problem for one in self._processes.values()), start_s)
            for there in self._processes.values():
                if not there.ready and not there.problem:
                    there.problem = f"it did not answer within {start_s:g} s"
                    there.signal(signal.SIGTERM)

    @property
    def problems(self) -> dict[str, str]:
        """Host → why it does not answer."""
        with self._changed:
            return {host: there.problem for host, there in self._processes.items() if there.problem is not None}

    @property
    def nodes(self) -> dict[str, str]:
        """Host → what it calls itself, of those that are there."""
        with self._changed:
            return {host: there.hello["host"] for host, there in self._processes.items() if there.hello is not None}

    def ask(self, service: str, arguments: Mapping[str, Arguments], *, timeout_s: float) -> dict[str, Answer]:
        """As ``HostGroup.ask``; threads may ask at once. A service that is late goes on; its answer is dropped."""
        until_s = time.monotonic() + timeout_s
        found: dict[str, Answer] = {}
        waiting: dict[str, int] = {}
        with self._changed:
            for host, given in arguments.items():
                if host not in self._processes:
                    found[host] = Answer(problem=f"{host} is none of the hosts of this host_group")
                    continue
                waiting[host] = next(self._numbers)
                if self._processes[host].problem is None:
                    self._processes[host].ask(waiting[host], service, dict(given))
            self._nudge()
            while waiting:
                for host, number in list(waiting.items()):
                    there = self._processes[host]
                    if number in there.answers or there.problem is not None:
                        found[host] = there.answers.pop(number, Answer(problem=there.problem))
                        del waiting[host]
                left_s = until_s - time.monotonic()
                if not waiting or left_s <= 0:
                    break
                self._changed.wait(left_s)
            for host, number in waiting.items():
                self._processes[host].forget(number)
                found[host] = Answer(problem=f"it did not answer within {timeout_s:g} s ({service})")
        return {host: found[host] for host in arguments}

    def close(self) -> None:
        """Ends every far end with what it started; those that do not go in time are ended from here."""
        with self._changed:
            self._closing = True
            self._nudge()
        if self._listener.ident is not None:
            self._listener.join()
        for there in self._processes.values():
            there.let_go()
        for number, patience_s in ((None, END_S), (signal.SIGTERM, _TERM_S), (signal.SIGKILL, _TERM_S)):
            for there in self._processes.values():
                if number is not None:
                    there.signal(number)
            self._wait_ended(patience_s)
        self._selector.close()
        for there in self._processes.values():
            if there.process is not None:
                for pipe in (there.process.stdout, there.process.stderr):
                    if pipe is not None:
                        pipe.close()
        for descriptor in (self._woken, self._wake):
            with contextlib.suppress(OSError):
                os.close(descriptor)

    def _wait_ended(self, patience_s: float) -> None:
        """Until all have ended; reads what they still say, so that no full pipe holds one back."""
        until_s = time.monotonic() + patience_s
        while left := [there for there in self._processes.values() if there.process and there.process.poll() is None]:
            if time.monotonic() > until_s:
                return
            for key, _ in self._selector.select(_LOOK_S):
                if isinstance(key.data, HostProcess) and key.data in left and not key.data.hear(key.fd):
                    self._selector.unregister(key.fd)

    def __enter__(self) -> RemoteHostGroup:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _nudge(self) -> None:
        """Wakes the listener: there is something to send, or the group closes."""
        with contextlib.suppress(OSError):
            os.write(self._wake, b".")

    def _listen(self) -> None:
        """The loop of the thread."""
        while not self._closing:
            self._offer()
            for key, events in self._selector.select(_LOOK_S if self._silent else None):
                with self._changed:
                    self._move(key, events)
                    self._changed.notify_all()
            self._bury()

    def _move(self, key: selectors.SelectorKey, events: int) -> None:
        there = key.data
        if there is None:
            with contextlib.suppress(BlockingIOError):
                os.read(self._woken, 1 << 12)
        elif events & selectors.EVENT_WRITE:
            there.send()
        elif not there.hear(key.fd):
            self._selector.unregister(key.fd)
            if there.process.stdout.fileno() not in self._selector.get_map():
                self._silent.setdefault(there, time.monotonic() + 1)

    def _offer(self) -> None:
        """Polls for room in the pipes of the processes that have something to send, and of no others."""
        with self._changed:
            for there in self._processes.values():
                if there.process is None or there.process.stdin is None:
                    continue
                pipe = there.process.stdin.fileno()
                watched = pipe in self._selector.get_map()
                if there.has_unsent and not watched:
                    self._selector.register(pipe, selectors.EVENT_WRITE, there)
                elif watched and not there.has_unsent:
                    self._selector.unregister(pipe)

    def _bury(self) -> None:
        """Reports the processes that have ended, as soon as their status is known."""
        for there, until_s in list(self._silent.items()):
            status = there.process.poll() if there.process else None
            if status is not None or time.monotonic() > until_s:
                del self._silent[there]
                with self._changed:
                    there.ended(status)
                    self._changed.notify_all()
