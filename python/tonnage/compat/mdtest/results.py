"""From the run's records to mdtest's numbers: operations and seconds of each test, in each iteration and task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import sqrt

from tonnage.compat.mdtest.request import Request
from tonnage.records import Run
from tonnage.records.line_types import TaskLine, TrialLine

TESTS = {
    "make-directory": "Directory creation",
    "stat-directory": "Directory stat",
    "read-directory": "Directory read",
    "rename-directory": "Directory rename",
    "remove-directory": "Directory removal",
    "create": "File creation",
    "stat": "File stat",
    "read": "File read",
    "remove": "File removal",
    "make-tree": "Tree creation",
    "remove-tree": "Tree removal",
}
"""Phase → what mdtest calls it, in the order of its tables."""
TREE = ("make-tree", "remove-tree")


@dataclass(frozen=True, slots=True)
class Share:
    """What one task did in one test."""

    operations: int
    seconds: float
    at_limit: int | None = None
    """Of them, those that were done when the time was up, before the tasks caught up; None where there was none."""

    @property
    def rate(self) -> float:
        """Operations per second; 0 where nothing was done."""
        return self.operations / self.seconds if self.seconds else 0.0


@dataclass(frozen=True, slots=True)
class Test:
    """One test of one iteration: all tasks together, and each."""

    operations: int
    seconds: float
    """From the first start to the last end."""
    tasks: tuple[Share, ...]
    line: TrialLine
    run: Run
    trees: int = 1

    @property
    def counted(self) -> int:
        """What mdtest divides by the time: of a tree that each task has, one; of several ``trees``, one; of shared
        files that one task removes, those of all."""
        setting, phase = self.line["setting"], self.line["phase"]
        if phase in TREE and self.trees > 1:
            return 1
        if phase in TREE and setting["directories"] == "unique":
            return self.operations // len(self.tasks)
        return self.operations * (len(self.tasks) if setting["shared_files"] and phase == "remove" else 1)

    @property
    def rate(self) -> float:
        """As mdtest prints it."""
        return self.counted / self.seconds if self.seconds else 0.0


@dataclass(slots=True)
class Results:
    """The tests with one number of tasks."""

    tasks: int
    iterations: int
    tests: dict[tuple[str, int], Test] = field(default_factory=dict)
    """(phase, iteration) → the test; one that was not asked for, or failed, is not there."""

    def made(self) -> int | None:
        """Files of each task after a creation that the time limit ended; None where none was."""
        made = [
            share.operations
            for (phase, _), test in self.tests.items()
            if phase == "create" and test.line["stop_reason"] == "time"
            for share in test.tasks
        ]
        return max(made, default=None)

    def rates(self, phase: str) -> list[float]:
        """One for each iteration, 0 where there is none."""
        return [test.rate if (test := self.tests.get((phase, at))) else 0.0 for at in range(self.iterations)]

    def seconds(self, phase: str) -> list[float]:
        """Returns, as :meth:`rates` does, the time of the whole phase."""
        return [test.seconds if (test := self.tests.get((phase, at))) else 0.0 for at in range(self.iterations)]

    def shares(self, phase: str, iteration: int) -> list[Share]:
        """Returns one share for each task."""
        test = self.tests.get((phase, iteration))
        return list(test.tasks) if test else [Share(0, 0.0)] * self.tasks


def results(runs: Sequence[Run], request: Request) -> list[Results]:
    """One for each number of tasks, from the records: of one run, or of one for each iteration."""
    found = {count: Results(count, request.iterations) for count in request.sweep}
    for number, run in enumerate(runs):
        _read(run, number, request.trees, found)
    for part in found.values():
        _drop_halves(part)
    return list(found.values())


def _read(run: Run, first: int, trees: int, found: Mapping[int, Results]) -> None:
    """Adds what a run measured, whose first iteration is that of this number."""
    of_record: dict[str, list[TaskLine]] = {}
    for task in run.tasks():
        of_record.setdefault(task["record"], []).append(task)
    # What a user's command took after a phase is in the phase's time, as in mdtest.
    took = {event["record"]: (event["duration_ns"] or 0) / 1e9 for event in run.events() if event["kind"] == "hook"}
    for line in run.trials():
        if line["purpose"] != "measure" or line["status"] != "ok":
            continue
        parts = sorted(of_record[line["record"]], key=lambda task: task["task"])
        shares = tuple(
            Share(task["operations"], (task["end_ns"] - task["start_ns"]) / 1e9, task["stonewall_operations"])
            for task in parts
        )
        seconds = (line["elapsed_ns"] or 0) / 1e9 + took.get(line["record"], 0.0)
        tests = found[line["setting"]["tasks"]].tests
        phase, at = line["phase"], first + line["repetition"]
        if phase == "write":
            # The second half of a creation whose first one task did for all.
            before = tests["create", at].seconds
            shares = tuple(replace(share, seconds=share.seconds + before) for share in shares)
            phase, seconds = "create", before + seconds
        tests[phase, at] = Test(line["operations"], seconds, shares, line, run, trees)


def _drop_halves(found: Results) -> None:
    """A creation of which only the first half was done was not done."""
    for key, test in list(found.tests.items()):
        if key[0] == "create" and test.line["phase"] == "create" and test.line["setting"]["collective"]:
            del found.tests[key]


def deviation(values: list[float]) -> float:
    """Of a sample, as mdtest has it; 0 of a single value."""
    if len(values) < 2:
        return 0.0
    mean = sum(values) / len(values)
    return sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1))
