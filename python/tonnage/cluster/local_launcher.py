"""Tasks of this process: its threads, or the simulated tasks on the nodes of a model that it computes."""

from __future__ import annotations

import json
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tonnage import _native
from tonnage.cluster.host_group import Alone, HostGroup
from tonnage.cluster.launcher import ANYWHERE, LauncherFacts, Live, Placing
from tonnage.cluster.mpi.io_library import with_io_library
from tonnage.cluster.mpi.launch_environment import started
from tonnage.errors import RequestError

if TYPE_CHECKING:
    from tonnage.records.line_types import Json
    from tonnage.records.phase_results import PhaseResult
    from tonnage.records.phase_specs import PhaseSpec, TaskRange


class LocalStep:
    """A phase whose tasks are threads of this process: its own start line is the trial's."""

    def __init__(self, phase: _native.Phase | _native.Beside, hosts: Sequence[str]) -> None:
        self._phase = phase
        self._hosts = hosts

    def go(self) -> None:
        self._phase.go()

    def wait(self, timeout_s: float) -> bool:
        return self._phase.wait(timeout_s)

    def stop(self) -> None:
        self._phase.stop()

    def live(self) -> Live:
        return self._phase.live()

    def result(self) -> PhaseResult:
        assert isinstance(self._phase, _native.Phase)
        return self._phase.result()

    def hosts(self) -> Sequence[str]:
        return self._hosts

    def gathering(self) -> None:
        return None


class BesideStep(LocalStep):
    """The step of the measured phase; the company's result comes with its own."""

    company: PhaseResult | None = None
    """After ``result``."""

    def result(self) -> PhaseResult:
        assert isinstance(self._phase, _native.Beside)
        result, self.company = self._phase.results()
        return result


class NativeEnsemble:
    """This process, with a target open."""

    def __init__(self, target: Json, series_directory: Path | None, host: str) -> None:
        self.host = host
        directory = None if series_directory is None else str(series_directory)
        self._target = _native.Target(json.dumps(target), series_directory=directory)

    def prepare_beside(self, phase: PhaseSpec, other: NativeEnsemble, company: PhaseSpec, lead_ns: int) -> BesideStep:
        """Leaves the tasks of a phase and those of its company, on a target of its own, at their start lines; the
        company's opens ``lead_ns`` before the other one."""
        phases = self._target.start_beside(json.dumps(phase), other._target, json.dumps(company), lead_ns)
        return BesideStep(phases, [self.host] * phase["tasks"]["here"])

    def clear(self) -> None:
        self._target.clear()

    def finish(self) -> list[tuple[str, str]]:
        return self._target.finish()

    def keep_named(self, keep: bool) -> None:
        self._target.keep_named(keep)

    def now_ns(self) -> int:
        return self._target.now_ns()


@dataclass(frozen=True, slots=True)
class Nodes:
    """Which modelled node each task is on."""

    per_node: int
    names: tuple[str, ...]
    """Given by the user; empty: ``node0001`` and so on."""
    first: int
    tasks: int

    @staticmethod
    def of(placing: Placing, tasks: TaskRange) -> Nodes:
        """RequestError where the named hosts have no room for all tasks."""
        per_node, total = placing.tasks_per_node or 1, tasks["total"]
        names = placing.hosts or ()
        if names and total > per_node * len(names):
            raise RequestError(
                f"{total} tasks with {per_node} on a host need {-(-total // per_node)} hosts, not {len(names)}; "
                "hint: name more, or give tasks_per_node"
            )
        return Nodes(per_node, names, tasks.get("first", 0), tasks["here"])

    def host(self, task: int) -> str:
        """Returns the name of a task's node."""
        number = task // self.per_node
        return self.names[number] if self.names else f"node{number + 1:04d}"

    def tasks_from(self, task: int) -> int:
        """How many tasks a line stands for that begins with this one, where lines are of whole nodes."""
        return min(self.per_node - (task - self.first) % self.per_node, self.first + self.tasks - task)


class ModelledStep(LocalStep):
    """A phase on a model. Of very many tasks each line of the result is a node's."""

    def __init__(self, phase: _native.Phase, nodes: Nodes) -> None:
        super().__init__(phase, ())
        self._nodes = nodes

    def result(self) -> PhaseResult:
        result = super().result()
        self._hosts = [self._nodes.host(task["task"]) for task in result["tasks"]]
        if result["facts"].get("by_node"):
            for task in result["tasks"]:
                task["tasks"] = self._nodes.tasks_from(task["task"])
        return result


class ModelledEnsemble(NativeEnsemble):
    """A model that this process computes, whatever nodes it has."""

    def prepare(self, phase: PhaseSpec, placing: Placing = ANYWHERE) -> ModelledStep:
        if placing == ANYWHERE:
            # Where nothing is said of hosts, the tasks of a model are those of the process that computes it.
            alone = Nodes(phase["tasks"]["total"], (self.host,), phase["tasks"].get("first", 0), phase["tasks"]["here"])
            return ModelledStep(self._target.start(json.dumps(phase)), alone)
        nodes = Nodes.of(placing, phase["tasks"])
        return ModelledStep(self._target.start(json.dumps(phase | {"tasks_per_node": nodes.per_node})), nodes)


class LocalEnsemble(NativeEnsemble):
    """This process."""

    def prepare(self, phase: PhaseSpec, placing: Placing = ANYWHERE) -> LocalStep:
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

    def open(self, target: Json, series_directory: Path | None) -> LocalEnsemble | ModelledEnsemble:
        if target["kind"] == "sim":
            return ModelledEnsemble(target, series_directory, platform.node())
        return LocalEnsemble(with_io_library(target), series_directory, platform.node())

    def check(self, tasks: int, placing: Placing) -> None:
        check_placing(platform.node(), tasks, placing)

    def hosts_of(self, tasks: int, placing: Placing = ANYWHERE) -> Sequence[str]:
        self.check(tasks, placing)
        return [platform.node()] * tasks

    def facts(self) -> LauncherFacts | None:
        if started() is None:
            return None
        # `mpiexec -n 1`, or a launcher whose other processes have nothing to do with this one.
        return {"name": self.name, "processes": 1, "hosts": [platform.node()], "versions": {}}
