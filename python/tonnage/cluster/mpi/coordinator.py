"""The first process: it controls the run and sends commands to the others."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from tonnage.cluster.host_group import Answer as ServiceAnswer
from tonnage.cluster.host_group import Arguments, perform
from tonnage.cluster.launcher import ProcessLost
from tonnage.cluster.mpi import clock_offsets
from tonnage.cluster.mpi.commands import Answer, Command, carry_out, pass_on
from tonnage.cluster.mpi.ranks import Ranks
from tonnage.cluster.mpi.time_limits import ORDER_S, silent_s
from tonnage.cluster.mpi.transport import Tag
from tonnage.errors import RequestError

_GOODBYE_S = 1.0
"""Time in which the others remove their own scratch directories after one process is lost."""

Act = Callable[[], Sequence[tuple[str, str]] | None]


class Coordinator:
    """Sends commands and service requests to all processes, and ends them."""

    def __init__(self, ranks: Ranks) -> None:
        self.ranks = ranks
        self.silent_s = silent_s()
        self.lost: ProcessLost | None = None
        self._closing = False
        self._serial = 0
        self._offsets: dict[str, clock_offsets.Offset] = {}

    def next_serial(self) -> int:
        """A number that no message has had."""
        self._serial += 1
        return self._serial

    def check(self) -> None:
        """RequestError where these processes cannot do a run together."""
        members = self.ranks.members
        versions: dict[str, str] = {}
        for member in members:
            versions.setdefault(member.tonnage, member.host)
        if len(versions) > 1:
            told = ", ".join(f"{version} on {host}" for version, host in versions.items())
            raise RequestError(f"the hosts have different versions of Tonnage: {told}; hint: install the same on all")
        counts: dict[int, str] = {}
        for host, count in Counter(self.ranks.hosts).items():
            counts.setdefault(count, host)
        if len(counts) > 1:
            told = ", ".join(f"{count} on {host}" for count, host in counts.items())
            raise RequestError(
                f"the hosts have different numbers of processes: {told}; hint: start equally many on each"
            )

    def order(self, verb: str, arguments: Arguments, act: Act) -> list[tuple[str, str]]:
        """Sends a command to all processes and calls ``act`` in this one; returns the merged answer. Raises the problem
        of the first process that has one; ProcessLost where one does not answer."""
        return self.order_to(range(self.ranks.size), Command(self.next_serial(), verb, arguments, ORDER_S), act)

    def order_to(self, members: Sequence[int], order: Command, act: Act) -> list[tuple[str, str]]:
        """Gives the same order to those processes."""
        if self.lost is not None:
            raise self.lost
        own: list[Exception] = []

        def noted() -> Sequence[tuple[str, str]] | None:
            try:
                return act()
            except Exception as error:
                own.append(error)
                raise

        answer = carry_out(self.ranks, members, order, noted)
        self._check_answer(answer)
        if own:
            raise own[0]
        if answer.problems:
            raise answer.problems[0].error()
        return answer.notes

    def begin(self, members: Sequence[int]) -> None:
        """Tells the prepared processes to go to the start line."""
        pass_on(self.ranks, members, Command(self.next_serial(), "go", {}, ORDER_S))

    def _check_answer(self, answer: Answer) -> None:
        if answer.signal:
            self.signalled(answer.signal)
        if answer.lost is not None:
            raise self.break_off(self.ranks.lost(*answer.lost))

    def signalled(self, number: int) -> None:
        """Another process received a signal to end: it is handled as if this one had received it, as long as a run is
        going on."""
        if not self._closing:
            os.kill(os.getpid(), number)

    def check_processes(self) -> None:
        """Reads the unsolicited messages of other processes."""
        while (found := self.ranks.transport.try_receive(Tag.SIGNAL)) is not None:
            self.signalled(int(found[1]))

    def break_off(self, lost: ProcessLost) -> ProcessLost:
        """A process is lost: the others remove their own scratch directories, and no command follows. Returns the error
        to raise."""
        if self.lost is not None:
            return self.lost
        self.lost = lost
        told = {rank for rank in range(1, self.ranks.size) if rank != lost.rank and not self.ranks.gone(rank)}
        for rank in told:
            self.ranks.transport.send(rank, Tag.ABANDON, b"")
        until = time.monotonic() + _GOODBYE_S
        rest = self.ranks.transport.poll_pause(0.01)
        while told and time.monotonic() < until:
            found = self.ranks.transport.try_receive(Tag.REPLY)
            if found is None:
                rest.pause()
                told = {rank for rank in told if not self.ranks.gone(rank)}
            elif json.loads(found[1])["serial"] == -1:
                told.discard(found[0])
        return lost

    def offsets(self) -> dict[str, clock_offsets.Offset]:
        """The wall clock of each host against this one's, measured now if it was not before."""
        for host, rank in self.ranks.first_on_host.items():
            if host not in self._offsets:
                own = rank == self.ranks.rank
                self._offsets[host] = clock_offsets.Offset(0, 0) if own else clock_offsets.ask(self.ranks, rank)
        return self._offsets

    def ask(self, service: str, arguments: Mapping[str, Arguments], timeout_s: float) -> dict[str, ServiceAnswer]:
        """Has the first process of each host do its service; see ``HostGroup.ask``."""
        serial = self.next_serial()
        firsts = self.ranks.first_on_host
        said: dict[str, ServiceAnswer] = {}
        asked: dict[int, str] = {}
        for host, given in arguments.items():
            if host not in firsts:
                said[host] = ServiceAnswer(problem=f"there is no process on {host}")
            elif self.lost is not None and firsts[host] != self.ranks.rank:
                said[host] = ServiceAnswer(problem=f"not asked: {self.lost}")
            elif firsts[host] != self.ranks.rank:
                message = {"serial": serial, "service": service, "arguments": given}
                self.ranks.transport.send(firsts[host], Tag.DUTY, json.dumps(message).encode())
                asked[firsts[host]] = host
        until = time.monotonic() + timeout_s
        for host, given in arguments.items():
            if firsts.get(host) == self.ranks.rank:
                said[host] = perform(service, given)
        self._await_replies(serial, asked, said, until, timeout_s)
        return {host: said[host] for host in arguments}

    def _await_replies(
        self, serial: int, asked: dict[int, str], said: dict[str, ServiceAnswer], until: float, timeout_s: float
    ) -> None:
        rest = self.ranks.transport.poll_pause()
        while asked:
            found = self.ranks.transport.try_receive(Tag.REPLY)
            if found is not None:
                message = json.loads(found[1])
                if message["serial"] == serial and found[0] in asked:
                    said[asked.pop(found[0])] = ServiceAnswer(message["value"], message["problem"])
                    rest.again()
                continue
            rest.pause()
            late = time.monotonic() > until
            for rank, host in list(asked.items()):
                if self.ranks.gone(rank):
                    said[asked.pop(rank)] = ServiceAnswer(problem=f"its process {rank} on {host} has ended")
                elif late:
                    said[asked.pop(rank)] = ServiceAnswer(problem=f"it did not answer within {timeout_s:g} s")

    def close(self, code: int) -> None:
        """Ends the command: all processes leave with its exit code."""
        self._closing = True
        if self.lost is None:
            try:
                self.order("close", {"code": code}, lambda: None)
            except (ProcessLost, OSError, ValueError, MemoryError, KeyboardInterrupt):
                self.ranks.abort(code or 1)
            self.ranks.leave()
        else:
            self.ranks.abort(code or 1)
