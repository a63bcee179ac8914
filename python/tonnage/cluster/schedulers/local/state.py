"""What a spooler has in its head: the jobs that wait or run, as the spool tells of them, and whose turn it is."""

from __future__ import annotations

import os
import signal
import time
from collections import deque
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, field

from tonnage.cluster.schedulers.local.dispatch import Waiting, next_turn
from tonnage.cluster.schedulers.local.process import Process
from tonnage.cluster.schedulers.local.records import GRACE_NS, Ended, Entry, Started
from tonnage.cluster.schedulers.local.spool import Spool

LOST = "the process that waited for it ended before it did"


@dataclass(slots=True)
class Active:
    """A job that waits or runs."""

    number: int
    entry: Entry
    cap: int | None
    cancelled_at_ns: int | None = None
    cancelled_copies: dict[int, int] = field(default_factory=dict)
    """Copies that run and are to end by themselves, and since when in nanoseconds since 1970."""
    pending: deque[int] = field(default_factory=deque)
    running: set[int] = field(default_factory=set)
    """Copies that hold their slots: started, or about to be."""

    def end_ordered_ns(self, copy: int) -> int | None:
        """When the end of a copy was ordered, with its job or by itself."""
        return self.cancelled_copies.get(copy) if self.cancelled_at_ns is None else self.cancelled_at_ns

    def waiting(self) -> Waiting:
        """As the rule of turns wants it."""
        request = self.entry.request
        return Waiting(
            number=self.number,
            pending=len(self.pending),
            running=len(self.running),
            slots=request.slots,
            cap=self.cap,
            licences=request.licences,
        )


class SpoolState:
    """Every job of the spool that has not ended."""

    def __init__(self, spool: Spool, slots: int) -> None:
        self.jobs: dict[int, Active] = {}
        self._spool = spool
        self._slots = slots
        self._totals: dict[str, int] = {}

    def load(self, number: int) -> None:
        """Takes up a job that is not known yet, as far as it has come."""
        if number in self.jobs or not self._spool.is_active(number):
            return
        entry = self._spool.entry(number)
        if entry is None:
            # Of another version of this program, say: nobody can run it.
            self._spool.retire(number)
            return
        if not self._spool.is_own(number):
            # One that another user owns can be put away by root alone.
            with suppress(OSError):
                self._spool.cancel(number)
                self._spool.retire(number)
            return
        self._totals.update(entry.request.licence_totals)
        started, ended = self._spool.copies(number)
        job = Active(number, entry, entry.request.cap)
        job.running = started - ended
        job.pending = deque(copy for copy in entry.copies if copy not in started)
        if entry.waiter is not None and job.pending and self._spool.granted(number):
            job.running.add(job.pending.popleft())
        self.jobs[number] = job
        self._look(job)

    def look(self, number: int) -> None:
        """Takes up a job, or what was ordered for it since."""
        if number in self.jobs:
            self._look(self.jobs[number])
        else:
            self.load(number)

    def _look(self, job: Active) -> None:
        cap = self._spool.cap(job.number)
        job.cap = job.entry.request.cap if cap is None else cap
        job.cancelled_at_ns = self._spool.cancelled_at_ns(job.number)
        if job.cancelled_at_ns is not None:
            job.pending.clear()
            for copy in job.running:
                self._signal(job, copy, signal.SIGTERM)
        elif job.entry.request.copies is not None:
            self._look_at_copies(job)
        self._put_away(job)

    def _look_at_copies(self, job: Active) -> None:
        """Those that waited and were cancelled are claimed by whoever did that; those that run are ended here."""
        started, _ = self._spool.copies(job.number)
        job.pending = deque(copy for copy in job.pending if copy not in started)
        for copy in job.running - job.cancelled_copies.keys():
            ordered_ns = self._spool.cancelled_at_ns(job.number, copy)
            if ordered_ns is not None:
                job.cancelled_copies[copy] = ordered_ns
                self._signal(job, copy, signal.SIGTERM)

    def begin(self) -> list[tuple[Active, int]]:
        """The copies whose turn it is; they hold their slots from now on."""
        jobs = [self.jobs[number] for number in sorted(self.jobs)]
        free = self._slots - sum(job.entry.request.slots * len(job.running) for job in jobs)
        if free <= 0:
            return []
        licences = dict(self._totals)
        for job in jobs:
            for name, count in job.entry.request.licences:
                licences[name] = licences.get(name, 0) - count * len(job.running)
        waiting = [job.waiting() for job in jobs if job.pending]
        begun = []
        for number, count in next_turn(waiting, free, licences).starts.items():
            job = self.jobs[number]
            for _ in range(count):
                copy = job.pending.popleft()
                job.running.add(copy)
                begun.append((job, copy))
        return begun

    def put_back(self, job: Active, copy: int) -> None:
        """A copy that could not be started: its turn comes again."""
        job.running.discard(copy)
        job.pending.appendleft(copy)

    def watched(self, children: Collection[tuple[int, int]]) -> list[tuple[int, int]]:
        """The copies to look at from time to time: those whose end nobody tells of for certain, and cancelled ones."""
        known = set(children)
        found = []
        for job in self.jobs.values():
            copies = {*job.running, *job.pending} if job.entry.waiter is not None else job.running
            found += [
                (job.number, copy)
                for copy in copies
                if job.end_ordered_ns(copy) is not None or (job.number, copy) not in known
            ]
        return found

    def settle(self, number: int, copy: int, *, is_child: bool) -> None:
        """Looks whether a copy has ended, and whether it must be made to. OSError where that cannot be written down.

        ``is_child``: a process of this spooler's is with it still.
        """
        job = self.jobs.get(number)
        if job is None:
            return
        if copy in job.pending:
            if job.entry.waiter is not None and not job.entry.waiter.alive:
                self._spool.cancel(number)
                self.look(number)
            return
        ordered_ns = job.end_ordered_ns(copy)
        late_ns = 0 if ordered_ns is None else time.time_ns() - ordered_ns
        if late_ns > GRACE_NS:
            self._signal(job, copy, signal.SIGKILL)
        if late_ns > 2 * GRACE_NS:
            self._free(job, copy)
        if is_child or (self._spool.ended(number, copy) is None and not self._conclude(job, copy)):
            return
        job.running.discard(copy)
        self._put_away(job)

    def _conclude(self, job: Active, copy: int) -> bool:
        """Whether a copy has come to its end without a word; then it is given one."""
        started = self._spool.started(job.number, copy)
        now_ns = time.time_ns()
        if started is None:
            if job.entry.waiter is not None and job.entry.waiter.alive:
                return False
            # Whoever was to start it is gone. Nobody will from now on, as it is claimed.
            self._spool.claim(job.number, copy, Started(Process.this(), now_ns))
            ended = Ended("failed", None, "its process ended before it could start it", now_ns)
        else:
            program = self._spool.program(job.number, copy)
            if started.waiter.alive or (program is not None and program.alive):
                return False
            ended = Ended("unknown", None, LOST, now_ns)
            if program is None and job.end_ordered_ns(copy) is not None:
                ended = Ended("cancelled", None, "ended before its program began", now_ns)
        self._spool.end(job.number, copy, ended)
        return True

    def _signal(self, job: Active, copy: int, number: int) -> None:
        started = self._spool.started(job.number, copy)
        if started is not None and started.takes_orders and started.waiter.alive:
            # It ends what left the program's group, and reads the order itself.
            with suppress(ProcessLookupError):
                os.kill(started.waiter.pid, signal.SIGTERM)
        program = self._spool.program(job.number, copy)
        # One that is not known yet is ended by whoever starts it.
        if program is None or not program.alive:
            return
        with suppress(ProcessLookupError, PermissionError):
            if job.entry.waiter is None:
                os.killpg(program.pid, number)
            else:
                os.kill(program.pid, number)

    def _free(self, job: Active, copy: int) -> None:
        """Ends the process that is to start a copy and hangs before it can, in a file system that does not answer."""
        started = self._spool.started(job.number, copy)
        is_before = self._spool.program(job.number, copy) is None
        if is_before and started is not None and started.takes_orders and started.waiter.alive:
            with suppress(ProcessLookupError):
                os.kill(started.waiter.pid, signal.SIGKILL)

    def _put_away(self, job: Active) -> None:
        if not job.pending and not job.running:
            del self.jobs[job.number]
            with suppress(FileNotFoundError):
                self._spool.retire(job.number)
