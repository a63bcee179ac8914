"""The launcher ``mpi``: a phase of many processes, as the run loop sees it."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tonnage import _native
from tonnage.cluster.host_group import Answer, Arguments
from tonnage.cluster.launcher import ANYWHERE, Ensemble, LauncherFacts, Live, Placing, ProcessLost
from tonnage.cluster.local_launcher import Local
from tonnage.cluster.mpi import run_together
from tonnage.cluster.mpi.commands import Command, Problem
from tonnage.cluster.mpi.coordinator import Coordinator
from tonnage.cluster.mpi.io_library import with_io_library
from tonnage.cluster.mpi.phase_share import PhaseShare
from tonnage.cluster.mpi.task_assignment import Share, as_runs, assign, clipped, hosts_in_order, hosts_of
from tonnage.cluster.mpi.time_limits import ORDER_S
from tonnage.errors import RequestError

if TYPE_CHECKING:
    from tonnage.records.line_types import Gathering, HostOffset, Json
    from tonnage.records.phase_results import PhaseResult
    from tonnage.records.phase_specs import PhaseSpec


class MpiStep:
    """One phase, seen from the first process."""

    def __init__(
        self, coordinator: Coordinator, ensemble: MpiEnsemble, part: PhaseShare, shares: Sequence[Share], record: str
    ) -> None:
        self._coordinator = coordinator
        self._ensemble = ensemble
        self._part = part
        self._shares = shares
        self._record = record
        self._line_ns = 0
        self._came_ns = 0
        self._gathering: Gathering | None = None

    def go(self) -> None:
        self._coordinator.begin(self._part.members)
        try:
            self._part.go(lambda: False)
        except ProcessLost as lost:
            raise self._coordinator.break_off(lost) from None
        self._line_ns = self._ensemble.now_ns() - (time.time_ns() - self._part.opened_ns)

    def wait(self, timeout_s: float) -> bool:
        until = time.monotonic() + timeout_s
        while not (done := self._part.turn(max(until - time.monotonic(), 0.0))):
            if self._part.lost is not None:
                self._part.stop()
                raise self._coordinator.break_off(self._part.lost)
            if time.monotonic() >= until:
                break
        self._coordinator.check_processes()
        if done:
            self._came_ns = self._ensemble.now_ns()
        return done

    def stop(self) -> None:
        self._part.stop()

    def live(self) -> Live:
        return self._part.live()

    def result(self) -> PhaseResult:
        if self._part.problems:
            raise Problem(*self._part.problems[0]).error()
        assert self._part.share is not None
        result = _native.write_share(self._part.share, self._ensemble.run_directory, self._record, self._line_ns)
        last_ns = max((task["end_ns"] for task in result["tasks"]), default=self._came_ns)
        self._gathering = self._gathered(max(self._came_ns - last_ns, 0))
        return result

    def hosts(self) -> Sequence[str]:
        return hosts_of(self._coordinator.ranks.hosts, self._shares)

    def gathering(self) -> Gathering | None:
        return self._gathering

    def _gathered(self, gather_ns: int) -> Gathering:
        hosts, offsets = self._coordinator.ranks.hosts, self._coordinator.offsets()
        rows: dict[str, HostOffset] = {}
        for share in self._shares:
            host = hosts[share.rank]
            offset = offsets[host]
            row = rows.setdefault(
                host,
                {
                    "host": host,
                    "processes": 0,
                    "tasks": 0,
                    "offset_ns": offset.offset_ns,
                    "uncertainty_ns": offset.uncertainty_ns,
                },
            )
            row["processes"] += 1
            row["tasks"] += share.tasks
        opened = self._part.opened
        corrected = [at - offsets[host].offset_ns for host, ends in opened.items() for at in ends]
        unsure_ns = sum(sorted((offsets[host].uncertainty_ns for host in opened), reverse=True)[:2])
        took = sorted(self._part.barriers_ns)
        return {
            "launcher": Mpi.name,
            "processes": len(self._shares),
            "hosts": list(rows.values()),
            "barrier_ns": took[len(took) // 2],
            "skew_ns": max(corrected) - min(corrected) + unsure_ns,
            "gather_ns": gather_ns,
        }


class MpiEnsemble:
    """All processes, each with the same target open."""

    def __init__(
        self, coordinator: Coordinator, target: Json, apart: Sequence[str], series_directory: Path | None
    ) -> None:
        """Opens it in all of them; raises what any of them raised. ``apart``: see ``Launcher``."""
        self._coordinator = coordinator
        self._number = coordinator.next_serial()
        self.host = coordinator.ranks.me.host
        self.run_directory = None if series_directory is None else str(series_directory)
        forget, _forgotten[:] = list(_forgotten), []
        self._target = _native.Target(json.dumps({**with_io_library(target), "process": "first"}))
        spec = {"spec": target, "others": json.loads(self._target.for_others()), "apart": list(apart)}
        coordinator.order("open", {"number": self._number, "forget": forget, **spec}, lambda: None)

    def __del__(self) -> None:
        _forgotten.append(self._number)

    def prepare(self, phase: PhaseSpec, placing: Placing = ANYWHERE) -> MpiStep:
        coordinator, tasks = self._coordinator, phase["tasks"]
        every = assign(coordinator.ranks.hosts, tasks["total"], placing)
        shares = clipped(every, tasks["first"], tasks["here"])
        serial = coordinator.next_serial()
        part = PhaseShare(coordinator.ranks, serial, shares, coordinator.silent_s)
        part.on_signal = coordinator.signalled
        order = Command(serial, "prepare", {"number": self._number, "spec": phase, "shares": as_runs(shares)}, ORDER_S)
        coordinator.order_to(part.members, order, lambda: part.prepare(self._target, phase))
        return MpiStep(coordinator, self, part, shares, phase["record"])

    def clear(self) -> None:
        if self._coordinator.lost is not None:
            self._target.clear()
            return
        self._coordinator.order("clear", {"number": self._number}, self._target.clear)

    def finish(self) -> list[tuple[str, str]]:
        if self._coordinator.lost is not None:
            return self._target.finish()
        return self._coordinator.order("finish", {"number": self._number}, self._target.finish)

    def keep_named(self, keep: bool) -> None:
        self._target.keep_named(keep)
        if self._coordinator.lost is None:
            self._coordinator.order("keep", {"number": self._number, "keep": keep}, lambda: None)

    def now_ns(self) -> int:
        return self._target.now_ns()


_forgotten: list[int] = []
"""Numbers of targets that are not used any more; the next command to open one tells the others."""


class MpiHostGroup:
    """The first process on each host."""

    def __init__(self, coordinator: Coordinator) -> None:
        self._coordinator = coordinator
        self.hosts: Sequence[str] = hosts_in_order(coordinator.ranks.hosts)

    def ask(self, service: str, arguments: Mapping[str, Arguments], *, timeout_s: float) -> dict[str, Answer]:
        return self._coordinator.ask(service, arguments, timeout_s)


class Mpi:
    """The processes of an MPI launcher."""

    name = "mpi"

    def __init__(self) -> None:
        coordinator = run_together.coordinator()
        if coordinator is None:
            raise RequestError(
                'launcher "mpi" is for processes that mpiexec or srun started; hint: start `tonnage` with one of them, '
                'or leave launcher at "auto"'
            )
        coordinator.check()
        self._coordinator = coordinator
        self.host_group = MpiHostGroup(coordinator)
        self.apart: frozenset[str] = frozenset()

    def open(self, target: Json, series_directory: Path | None) -> Ensemble:
        if target["kind"] == "sim":
            # A model has all its tasks, and hosts of its own, in one process.
            return Local().open(target, series_directory)
        return MpiEnsemble(self._coordinator, target, sorted(self.apart), series_directory)

    def check(self, tasks: int, placing: Placing) -> None:
        assign(self._coordinator.ranks.hosts, tasks, placing)

    def hosts_of(self, tasks: int, placing: Placing = ANYWHERE) -> Sequence[str]:
        return hosts_of(self._coordinator.ranks.hosts, assign(self._coordinator.ranks.hosts, tasks, placing))

    @property
    def lost(self) -> ProcessLost | None:
        return self._coordinator.lost

    @property
    def processes(self) -> int:
        return self._coordinator.ranks.size

    def facts(self) -> LauncherFacts:
        return {
            "name": self.name,
            "processes": self._coordinator.ranks.size,
            "hosts": list(self.host_group.hosts),
            "versions": {"mpi": self._coordinator.ranks.library(), "mpi4py": _mpi4py_version()},
        }


def _mpi4py_version() -> str:
    import mpi4py

    return str(mpi4py.__version__)
