"""One process's part of a phase: it runs its own tasks and forwards the messages of the processes below it in the
tree."""

from __future__ import annotations

import json
import struct
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

from tonnage import _native
from tonnage.cluster.launcher import Live, ProcessLost, together
from tonnage.cluster.mpi import barrier
from tonnage.cluster.mpi.commands import FEW, Problem
from tonnage.cluster.mpi.membership import children, parent
from tonnage.cluster.mpi.ranks import Ranks
from tonnage.cluster.mpi.task_assignment import Share
from tonnage.cluster.mpi.time_limits import BEAT_S, SIGNALLED_S
from tonnage.cluster.mpi.transport import Tag

if TYPE_CHECKING:
    from tonnage.records.phase_specs import PhaseSpec

_MEETING_REST_S = 0.001
"""Longest sleep between two polls while tasks wait for those of other processes."""
_LOOK_S = 0.1
"""Seconds between two checks of whether the processes below still run."""
_SIZE = struct.Struct("<QI")
"""Before a share: number of the phase, bytes of the JSON that comes first."""


class Beat(TypedDict):
    """The heartbeat of a process to its parent, with the state of all below."""

    serial: int
    live: Live
    failed: bool
    lost: tuple[int, str] | None
    """A process that is lost, and how."""
    signal: int


class Handed(TypedDict):
    """What comes before the bytes of a share: ``opened``, ``problems`` and ``failed`` of ``PhaseShare``."""

    opened: dict[str, list[int]]
    problems: list[list[Any]]
    failed: bool


class PhaseShare:
    """From the preparation to the result of this process. The caller calls ``turn`` repeatedly; nothing else waits."""

    def __init__(self, ranks: Ranks, serial: int, shares: Sequence[Share], silent_s: float) -> None:
        """``shares``: of all processes that take part. The first process always does, if only to forward messages."""
        self._ranks = ranks
        self._serial = serial
        self._silent_s = silent_s
        self._shares = {share.rank: share for share in shares}
        self.members = [0, *(share.rank for share in shares if share.rank)]
        position = self.members.index(ranks.rank)
        above = parent(position)
        self.above = None if above is None else self.members[above]
        self.below = [self.members[child] for child in children(position, len(self.members))]
        self.barriers_ns: list[int] = []
        self.opened_ns = 0
        """Wall clock at this process's opening of the line."""
        self.ended_ns: int | None = None
        """When its own tasks had ended, and with them their agreements (monotonic)."""
        self.opened: dict[str, list[int]] = {}
        """The first and last opening of each host by its own wall clock, of the processes that have reported."""
        self.problems: list[list[Any]] = []
        """Of processes here and below that could not say what their tasks did."""
        self.failed = False
        """Whether an operation failed, here or below: the tasks of all end."""
        self.lost: ProcessLost | None = None
        self._phase: _native.Phase | None = None
        self._share: bytes | None = None
        self._came: set[int] = set()
        """The processes below whose results have arrived."""
        self._live: dict[int, Live] = {}
        self._heard: dict[int, float] = {}
        self._round = 0
        self._arrived: dict[int, int] = {}
        self._said_arrived = False
        self._stopped: float | None = None
        self._next_beat = 0.0
        self._next_look = 0.0
        self._pause = ranks.transport.poll_pause()
        self.on_signal: Callable[[int], None] = lambda _number: None

    def prepare(self, target: _native.Target, spec: PhaseSpec) -> None:
        """Leaves the tasks of this process at the line; OSError, ValueError or MemoryError where they cannot."""
        mine = self._shares.get(self._ranks.rank)
        if mine is None:
            return
        tasks = {"first": mine.first, "here": mine.tasks, "total": spec["tasks"]["total"]}
        processes = [share.rank for share in self._shares.values() for _ in range(share.tasks)]
        self._phase = target.start(json.dumps({**spec, "tasks": tasks}), share=True, processes=processes)

    def go(self, ended: Callable[[], bool]) -> None:
        """Crosses the start line with all others. ProcessLost names the process that did not arrive."""
        self.barriers_ns = barrier.cross(self._ranks, self.members, self._serial, ended)
        if self._phase is not None:
            self._phase.go()
        self.opened_ns = time.time_ns()
        if self._phase is not None:
            self.opened = {self._ranks.me.host: [self.opened_ns, self.opened_ns]}
        now = time.monotonic()
        self._heard = dict.fromkeys(self.below, now)
        self._next_beat = now + BEAT_S
        if self._phase is None:
            self.ended_ns = time.monotonic_ns()

    def turn(self, timeout_s: float) -> bool:
        """Waits at most so long and forwards the messages that arrived; True once its own tasks and all below have
        delivered their results."""
        if self.ended_ns is not None or self._ranks.rank in self._arrived:
            self._pause.pause()
        elif self._phase is not None:
            self._work(self._phase, timeout_s)
        self._read()
        if self.failed and self.above is None:
            self.stop()
        self._meet()
        now = time.monotonic()
        if now >= self._next_look:
            self._next_look = now + _LOOK_S
            self._check_children(now)
        if self.above is not None and now >= self._next_beat:
            self.beat()
        return self.ended_ns is not None and len(self._came) == len(self.below)

    def stop(self) -> None:
        """Stops all tasks, here and below, after the operation in hand."""
        if self._stopped is not None:
            return
        self._stopped = time.monotonic()
        for rank in self.below:
            self._ranks.transport.send(rank, Tag.STOP, b"%d" % self._serial)
        if self._phase is not None and self.ended_ns is None:
            self._phase.stop()
        if self.above is not None:
            self.beat()

    def live(self) -> Live:
        """Figures of this process and of all below, as far as they were told."""
        mine = [self._phase.live()] if self._phase is not None and self.ended_ns is None else []
        return together([*mine, *self._live.values()])

    def beat(self, number: int = 0) -> None:
        """Sends a heartbeat to the parent: the state of all below, and the signal that this process received."""
        self._next_beat = time.monotonic() + BEAT_S
        lost = (self.lost.rank, self.lost.how) if self.lost else None
        message = Beat(serial=self._serial, live=self.live(), failed=self.failed, lost=lost, signal=number)
        if self.above is not None:
            self._ranks.transport.send(self.above, Tag.BEAT, json.dumps(message).encode())

    def message(self) -> bytes:
        """Returns the share of this process and of all below, for the one above."""
        told = Handed(opened=self.opened, problems=self.problems[:FEW], failed=self.failed)
        coordinator = json.dumps(told).encode()
        return _SIZE.pack(self._serial, len(coordinator)) + coordinator + (self._share or b"")

    @property
    def share(self) -> bytes | None:
        """After ``turn`` was True: the merged shares; None where no process here or below had tasks."""
        return self._share

    def _work(self, phase: _native.Phase, timeout_s: float) -> None:
        """Waits for the tasks here: until they have ended, or wait for those of other processes."""
        ended = phase.wait(timeout_s)
        self._fail(phase.live()["failed"])
        if ended:
            self.ended_ns = time.monotonic_ns()
            self._pause = self._ranks.transport.poll_pause()
            self._phase = None
            try:
                self._add(phase.share())
            except (OSError, ValueError, MemoryError) as error:
                self.problems.append([*Problem.of(error, self._ranks)])
        elif (meeting := phase.meeting()) is not None:
            self._pause = self._ranks.transport.poll_pause(_MEETING_REST_S)
            self._arrived[self._ranks.rank] = meeting

    def _add(self, share: bytes) -> None:
        if share:
            self._share = share if self._share is None else _native.merge_shares(self._share, share)

    def _read(self) -> None:
        """Reads all messages of this phase that have arrived."""
        transport = self._ranks.transport
        for rank in self.below:
            while (found := transport.try_receive(Tag.BEAT, rank)) is not None:
                self._read_beat(rank, json.loads(found[1]))
            while (found := transport.try_receive(Tag.ARRIVED, rank)) is not None:
                serial, number, value = map(int, found[1].split())
                if (serial, number) == (self._serial, self._round):
                    self._heard_of(rank)
                    self._arrived[rank] = value
            while rank not in self._came and (found := transport.try_receive(Tag.SHARE, rank)) is not None:
                self._read_share(rank, found[1])
        if self.above is None:
            return
        while (found := transport.try_receive(Tag.STOP, self.above)) is not None:
            if int(found[1]) == self._serial:
                self.stop()
        while (found := transport.try_receive(Tag.AGREED, self.above)) is not None:
            serial, number, value = map(int, found[1].split())
            if (serial, number) == (self._serial, self._round):
                self._agree(value)

    def _heard_of(self, rank: int) -> None:
        self._heard[rank] = time.monotonic()
        self._pause.again()

    def _read_beat(self, rank: int, message: Beat) -> None:
        if message["serial"] != self._serial:
            return
        self._heard_of(rank)
        self._live[rank] = message["live"]
        self._fail(message["failed"])
        if message["signal"]:
            self.on_signal(message["signal"])
        if message["lost"]:
            self._lose(self._ranks.lost(*message["lost"]))

    def _read_share(self, rank: int, message: bytes) -> None:
        serial, length = _SIZE.unpack_from(message)
        if serial != self._serial:
            return
        self._heard_of(rank)
        coordinator: Handed = json.loads(message[_SIZE.size : _SIZE.size + length])
        for host, (first, last) in coordinator["opened"].items():
            known = self.opened.get(host, [first, last])
            self.opened[host] = [min(known[0], first), max(known[1], last)]
        self.problems += coordinator["problems"]
        self._fail(coordinator["failed"])
        self._add(message[_SIZE.size + length :])
        self._live.pop(rank, None)
        self._came.add(rank)

    def _meet(self) -> None:
        """Tells the parent once all tasks that still work, here and below, have reached the agreement point."""
        waiting = [rank for rank in self.below if rank not in self._came]
        mine = self.ended_ns is not None or self._ranks.rank in self._arrived
        if self._said_arrived or not self._arrived or not mine or any(rank not in self._arrived for rank in waiting):
            return
        most = max(self._arrived.values())
        if self.above is None:
            self._agree(most)
            return
        self._said_arrived = True
        self._ranks.transport.send(self.above, Tag.ARRIVED, b"%d %d %d" % (self._serial, self._round, most))

    def _agree(self, value: int) -> None:
        for rank in self.below:
            self._ranks.transport.send(rank, Tag.AGREED, b"%d %d %d" % (self._serial, self._round, value))
        self._round += 1
        self._arrived.clear()
        self._said_arrived = False
        if self._phase is not None and self.ended_ns is None:
            self._phase.meet(value)
        self._pause = self._ranks.transport.poll_pause()

    def _check_children(self, now: float) -> None:
        """Marks processes as lost that ended, or sent no heartbeat for too long."""
        for rank in self.below:
            if rank in self._came or self.lost is not None:
                continue
            silent_s = now - self._heard[rank]
            if self._ranks.gone(rank):
                self._lose(self._ranks.lost(rank, f"its process ended{self._into()}"))
            elif silent_s > self._silent_s:
                self._lose(self._ranks.lost(rank, f"it gave no sign of life for {silent_s:.0f} s{self._into()}"))
            elif self._is_mute(rank, now):
                self._lose(self._ranks.lost(rank, f"it did not answer when all were told to end{self._into()}"))

    def _is_mute(self, rank: int, now: float) -> bool:
        """A launcher that ends a job whose process died leaves little time; here it is seen at once, elsewhere so."""
        if self._stopped is None or self._ranks.members[rank].place == self._ranks.me.place:
            return False
        return self._heard[rank] < self._stopped < now - SIGNALLED_S

    def _into(self) -> str:
        return f" {(time.time_ns() - self.opened_ns) / 1e9:.1f} s after the start line" if self.opened_ns else ""

    def _fail(self, failed: bool) -> None:
        if failed and not self.failed:
            self.failed = True
            self.beat()

    def _lose(self, lost: ProcessLost) -> None:
        if self.lost is None:
            self.lost = lost
            self.beat()
