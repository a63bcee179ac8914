"""A worker process: it waits without using a processor, carries out the commands of the first process, and removes its
files."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypedDict

from tonnage import _native
from tonnage.cluster import own_scratch
from tonnage.cluster.launcher import ProcessLost
from tonnage.cluster.mpi import clock_offsets
from tonnage.cluster.mpi.commands import Command, carry_out, pass_on, tell_above
from tonnage.cluster.mpi.phase_share import PhaseShare
from tonnage.cluster.mpi.ranks import Ranks
from tonnage.cluster.mpi.task_assignment import of_runs
from tonnage.cluster.mpi.time_limits import LEAVE_S, SIGNALLED_S, SILENT_S
from tonnage.cluster.mpi.transport import Tag

if TYPE_CHECKING:
    from types import FrameType

    from tonnage.cluster.host_group import Arguments
    from tonnage.records.line_types import Json
    from tonnage.records.phase_specs import PhaseSpec

_TICK_S = 0.1
_CHECK_S = 1.0
"""Seconds between two checks of whether the first process still runs."""
_ALONE_S = 2.0
"""From a signal to end, without a following command, until this process ends by itself, where it cannot see whether the
first one has ended. Where it can, ``LEAVE_S``: that one has records to write, and a launcher gives the run the code of
the process that ends first."""


class ServiceRequest(TypedDict):
    """A service that the first process wants; the answer has its serial."""

    serial: int
    service: str
    arguments: Arguments


class Worker:
    """Serves the first process until the command to leave."""

    def __init__(self, ranks: Ranks, silent_s: float) -> None:
        self._ranks = ranks
        self._silent_s = silent_s
        self._targets: dict[int, _native.Target] = {}
        self._part: PhaseShare | None = None
        self._signal = 0
        self._signalled_at = 0.0
        self._obeyed_at = 0.0
        self._signal_sent = False
        self._code: int | None = None

    def serve(self) -> int:
        """Serves commands until the end, and returns the exit code of the first process's command."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._remember)
        poll_pause, next_check = self._ranks.transport.poll_pause(), 0.0
        while self._code is None:
            if self._serve_one():
                self._obeyed_at = time.monotonic()
                poll_pause.again()
                continue
            poll_pause.pause()
            self._tell_signal()
            now = time.monotonic()
            if now < next_check:
                continue
            next_check = now + _CHECK_S
            if self._ranks.gone(0) or self._is_left_alone(now):
                self._give_up()
        own_scratch.leave_all()
        return self._code

    def _is_left_alone(self, now: float) -> bool:
        limit_s = LEAVE_S if self._ranks.sees(0) else _ALONE_S
        return bool(self._signal) and now - max(self._signalled_at, self._obeyed_at) > limit_s

    def _remember(self, number: int, _frame: FrameType | None) -> None:
        self._signal = self._signal or number
        self._signalled_at = time.monotonic()

    def _tell_signal(self) -> None:
        if self._signal and not self._signal_sent:
            self._signal_sent = True
            self._ranks.transport.send(0, Tag.SIGNAL, b"%d" % self._signal)

    def _serve_one(self) -> bool:
        transport = self._ranks.transport
        if (found := transport.try_receive(Tag.ORDER)) is not None:
            self._obey(Command.read(found[1]))
        elif (found := transport.try_receive(Tag.DUTY, 0)) is not None:
            self._do_service(json.loads(found[1]))
        elif (found := transport.try_receive(Tag.PING, 0)) is not None:
            clock_offsets.answer(self._ranks, 0)
        elif transport.try_receive(Tag.ABANDON, 0) is not None:
            self._abandon()
        else:
            return False
        return True

    def _obey(self, order: Command) -> None:
        ranks = self._ranks
        if order.verb == "go":
            if self._part is not None:
                pass_on(ranks, self._part.members, order)
                self._run(self._part)
            self._part = None
            return
        # A phase that was prepared and not begun is dropped.
        self._part = None
        members: Sequence[int] = range(ranks.size)
        if order.verb == "prepare":
            shares = of_runs(order.arguments["shares"])
            self._part = PhaseShare(ranks, order.serial, shares, self._silent_s)
            members = self._part.members
        act = getattr(self, f"_do_{order.verb}")
        answer = carry_out(ranks, members, order, lambda: act(**order.arguments))
        answer.signal = answer.signal or self._signal
        if answer.problems or answer.lost:
            self._part = None
        tell_above(ranks, members, order, answer)

    def _do_open(self, number: int, spec: Json, others: Json, apart: list[str], forget: list[int]) -> None:
        for other in forget:
            self._targets.pop(other, None)
        here = self._ranks.me.host
        if here in apart:
            first = self._ranks.first_on_host[here] == self._ranks.rank
            others = {**spec, "process": "first" if first else "other"}
        if others["kind"] == "mpiio":
            # Most runs have none, and a process that follows loads no more than it needs.
            from tonnage.cluster.mpi.io_library import with_io_library

            others = with_io_library(others)
        self._targets[number] = _native.Target(json.dumps(others))

    def _do_prepare(self, number: int, spec: PhaseSpec, shares: list[list[int]]) -> None:  # noqa: ARG002 - of the order
        assert self._part is not None
        self._part.prepare(self._targets[number], spec)

    def _do_clear(self, number: int) -> None:
        self._targets[number].clear()

    def _do_keep(self, number: int, keep: bool) -> None:
        self._targets[number].keep_named(keep)

    def _do_finish(self, number: int) -> list[tuple[str, str]]:
        return self._targets.pop(number).finish()

    def _do_close(self, code: int) -> None:
        self._code = code

    def _run(self, part: PhaseShare) -> None:
        """Runs the phase from the start line to the result."""
        try:
            part.go(lambda: bool(self._signal) and time.monotonic() - self._signalled_at > SIGNALLED_S)
        except ProcessLost as lost:
            part.lost = lost
            part.beat()
            return
        sent_signal = 0
        while not part.turn(_TICK_S):
            if self._signal and not sent_signal:
                sent_signal = self._signal
                self._signal_sent = True
                part.beat(sent_signal)
                part.stop()
            if self._ranks.transport.try_receive(Tag.ABANDON, 0) is not None:
                part.stop()
                part.turn(_TICK_S)
                self._abandon()
                return
            if self._ranks.gone(0) or (self._signal and time.monotonic() - self._signalled_at > SILENT_S):
                self._give_up()
        assert part.above is not None
        self._ranks.transport.send(part.above, Tag.SHARE, part.message())

    def _do_service(self, message: ServiceRequest) -> None:
        # Most processes are never asked: one on each host is.
        from tonnage.cluster.host_group import perform

        try:
            answer = perform(message["service"], message["arguments"])
            told = {"value": answer.value, "problem": answer.problem}
        except Exception as error:
            _print_traceback()
            told = {"value": None, "problem": f"{type(error).__name__}: {error}"}
        self._ranks.transport.send(0, Tag.REPLY, json.dumps({"serial": message["serial"], **told}).encode())

    def _abandon(self) -> None:
        """Another process is lost, and the first one ends the run: this process removes its scratch, confirms that, and
        waits for the end."""
        self._part = None
        self._targets.clear()
        own_scratch.leave_all()
        self._ranks.transport.send(0, Tag.REPLY, json.dumps({"serial": -1}).encode())
        self._ranks.transport.sent(1.0)
        time.sleep(LEAVE_S)
        os._exit(1)

    def _give_up(self) -> None:
        """The first process is gone: this one ends."""
        own_scratch.leave_all()
        sys.stderr.flush()
        os._exit(1)


def run_worker(ranks: Ranks, silent_s: float) -> int:
    """Serves the first process; the exit code of its command."""
    try:
        return Worker(ranks, silent_s).serve()
    except Exception:
        _print_traceback()
        own_scratch.leave_all()
        ranks.abort(1)
        raise


def _print_traceback() -> None:
    import traceback

    traceback.print_exc()
