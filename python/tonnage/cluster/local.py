"""Tasks as threads of this process."""

from __future__ import annotations

import json
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tonnage import _native
from tonnage.cluster.host_group import Alone, HostGroup
from tonnage.cluster.launcher import ANYWHERE, Placing
from tonnage.cluster.modelled import ModelledEnsemble
from tonnage.cluster.mpi.started import started
from tonnage.cluster.native import NativeEnsemble, NativeStep
from tonnage.errors import RequestError


class LocalStep(NativeStep):
    """A phase whose tasks are threads of this process."""

    def __init__(self, phase: _native.Phase, hosts: Sequence[str]) -> None:
        super().__init__(phase)
        self._hosts = hosts

    def hosts(self) -> Sequence[str]:
        return self._hosts


class LocalEnsemble(NativeEnsemble):
    """This process."""

    def prepare(self, phase: dict[str, Any], placing: Placing = ANYWHERE) -> LocalStep:
        check_placing(self.host, phase["tasks"]["total"], placing)
        return LocalStep(self._target.start(json.dumps(phase)), [self.host] * phase["tasks"]["here"])


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
        self.host_group: HostGroup = Alone()
        self.apart: frozenset[str] = frozenset()

    def open(self, target: dict[str, Any], series_directory: Path | None) -> LocalEnsemble | ModelledEnsemble:
        if target["kind"] == "sim":
            return ModelledEnsemble(target, series_directory, platform.node())
        return LocalEnsemble(target, series_directory, platform.node())

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
