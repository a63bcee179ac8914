"""Tasks as threads of this process."""

from __future__ import annotations

import json
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tonnage import _native
from tonnage.cluster.crew import Alone, Crew
from tonnage.cluster.launcher import ANYWHERE, Placing
from tonnage.cluster.modelled import ModelledEnsemble
from tonnage.cluster.mpi.started import started
from tonnage.errors import RequestError


class LocalStep:
    """A phase of this process alone: its own start line is the trial's."""

    def __init__(self, phase: _native.Phase, hosts: Sequence[str]) -> None:
        self._phase = phase
        self._hosts = hosts

    def go(self) -> None:
        self._phase.go()

    def wait(self, timeout_s: float) -> bool:
        return self._phase.wait(timeout_s)

    def stop(self) -> None:
        self._phase.stop()

    def live(self) -> dict[str, Any]:
        return self._phase.live()

    def result(self) -> dict[str, Any]:
        return self._phase.result()

    def hosts(self) -> Sequence[str]:
        return self._hosts

    def gathering(self) -> None:
        return None


class LocalEnsemble:
    """This process."""

    def __init__(self, target: dict[str, Any], series_directory: Path | None) -> None:
        self.host = platform.node()
        directory = None if series_directory is None else str(series_directory)
        self._target = _native.Target(json.dumps(target), series_directory=directory)

    def prepare(self, phase: dict[str, Any], placing: Placing = ANYWHERE) -> LocalStep:
        check_placing(self.host, phase["tasks"]["total"], placing)
        return LocalStep(self._target.start(json.dumps(phase)), [self.host] * phase["tasks"]["here"])

    def clear(self) -> None:
        self._target.clear()

    def finish(self) -> list[tuple[str, str]]:
        return self._target.finish()

    def keep_named(self, keep: bool) -> None:
        self._target.keep_named(keep)

    def now_ns(self) -> int:
        return self._target.now_ns()


def check_placing(host: str, tasks: int, placing: Placing) -> None:
    """RequestError where tasks would have to run elsewhere than in this process."""
    if placing.hosts is not None and placing.hosts != (host,):
        raise RequestError(
            f"hosts {', '.join(placing.hosts)}: this process runs on {host} alone; "
            "hint: start it with mpiexec or srun on those hosts, or with --on and a scheduler"
        )
    if placing.tasks_per_node is not None and tasks > placing.tasks_per_node:
        raise RequestError(
            f"{tasks} tasks are more than {placing.tasks_per_node} on one host (tasks_per_node); "
            "hint: start Tonnage on more hosts, or give more tasks to each"
        )


class Local:
    """The launcher where there is no MPI and no scheduler."""

    name = "local"
    processes = 1
    lost = None

    def __init__(self) -> None:
        self.crew: Crew = Alone()
        self.apart: frozenset[str] = frozenset()

    def open(self, target: dict[str, Any], series_directory: Path | None) -> LocalEnsemble | ModelledEnsemble:
        if target["kind"] == "sim":
            return ModelledEnsemble(target, series_directory, platform.node())
        return LocalEnsemble(target, series_directory)

    def check(self, tasks: int, placing: Placing) -> None:
        check_placing(platform.node(), tasks, placing)

    def hosts_of(self, tasks: int, placing: Placing = ANYWHERE) -> Sequence[str]:
        self.check(tasks, placing)
        return [platform.node()] * tasks

    def facts(self) -> dict[str, Any] | None:
        if started() is None:
            return None
        # `mpiexec -n 1`, or a launcher whose other processes have nothing to do with this one.
        return {"name": self.name, "processes": 1, "hosts": [platform.node()], "versions": {}}
