"""Tasks on the nodes of a model: as many nodes as the placing asks for, none of which exists."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tonnage import _native
from tonnage.cluster.launcher import ANYWHERE, Placing
from tonnage.cluster.native import NativeEnsemble, NativeStep
from tonnage.errors import RequestError


@dataclass(frozen=True, slots=True)
class Nodes:
    """Which modelled node each task is on."""

    per_node: int
    names: tuple[str, ...]
    """Given by the user; empty: ``node0001`` and so on."""
    first: int
    here: int

    @staticmethod
    def of(placing: Placing, tasks: dict[str, int]) -> Nodes:
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
        """The name of a task's node."""
        number = task // self.per_node
        return self.names[number] if self.names else f"node{number + 1:04d}"

    def tasks_from(self, task: int) -> int:
        """How many tasks a line stands for that begins with this one, where lines are of whole nodes."""
        return min(self.per_node - (task - self.first) % self.per_node, self.first + self.here - task)


class ModelledStep(NativeStep):
    """A phase on a model. Of very many tasks each line of the result is a node's."""

    def __init__(self, phase: _native.Phase, nodes: Nodes) -> None:
        super().__init__(phase)
        self._nodes = nodes
        self._tasks: list[int] = []

    def result(self) -> dict[str, Any]:
        result = super().result()
        self._tasks = [task["task"] for task in result["tasks"]]
        if result["facts"].get("by_node"):
            for task in result["tasks"]:
                task["tasks"] = self._nodes.tasks_from(task["task"])
        return result

    def hosts(self) -> Sequence[str]:
        return [self._nodes.host(task) for task in self._tasks]


class ModelledEnsemble(NativeEnsemble):
    """A model that this process computes, whatever nodes it has."""

    def prepare(self, phase: dict[str, Any], placing: Placing = ANYWHERE) -> ModelledStep:
        if placing == ANYWHERE:
            # Where nothing is said of hosts, the tasks of a model are those of the process that computes it.
            alone = Nodes(phase["tasks"]["total"], (self.host,), phase["tasks"].get("first", 0), phase["tasks"]["here"])
            return ModelledStep(self._target.start(json.dumps(phase)), alone)
        nodes = Nodes.of(placing, phase["tasks"])
        return ModelledStep(self._target.start(json.dumps(phase | {"tasks_per_node": nodes.per_node})), nodes)
