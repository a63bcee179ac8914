"""Tonnage itself, through the interface that the run loop uses, with everything recorded: histograms, series, heat."""

from __future__ import annotations

import itertools
import json
import resource
from pathlib import Path
from typing import Any

from cell_files import Ground
from cell_load import MIB, Load, Sample
from child_processes import to_the_end

SEED = 20_240_601


class Tonnage:
    """Each run is a phase, with its record files written to the disk as in a real run."""

    program: Path | None = None
    numbers = itertools.count()
    """Of the records, which all variants write to one run directory."""

    def __init__(self, *, payload: str = "unique", verify: bool = False, name: str = "Tonnage") -> None:
        self.name = name
        self.payload = payload
        self.verify = verify
        self.target: Any = None

    def can(self, _load: Load) -> bool:
        return True

    def prepare(self, load: Load, ground: Ground) -> None:
        self.target = ground.target
        if not (load.fresh or load.null or self.laid_out(load)):
            self.lay_out(load)

    def laid_out(self, load: Load) -> bool:
        try:
            return all(self.target.length(task) >= load.file_bytes for task in range(load.tasks))
        except FileNotFoundError:
            return False

    def lay_out(self, load: Load) -> None:
        """Writes the files of ``load``, verifiable, 1 MiB a write."""
        self.phase(Load("write", MIB, load.file_bytes, tasks=load.tasks, seconds=0.0), payload="unique", verify=False)

    def run(self, load: Load) -> Sample:
        if load.fresh:
            self.target.clear()
        before = self_cpu_ns()
        result = self.phase(load, payload=self.payload, verify=self.verify and load.op == "read")
        cpu_ns = self_cpu_ns() - before
        tasks = result["tasks"]
        elapsed_ns = max(task["end_ns"] for task in tasks) - min(task["start_ns"] for task in tasks)
        return Sample(sum(t["bytes"] for t in tasks), sum(t["operations"] for t in tasks), elapsed_ns, cpu_ns)

    def phase(self, load: Load, *, payload: str, verify: bool) -> dict[str, Any]:
        spec = {
            "record": f"{next(self.numbers):04}-{load.op}",
            "tasks": {"here": load.tasks, "total": load.tasks},
            "limit": {} if load.once else {"time_ns": round(load.seconds * 1e9), "wrap": True},
            "seed": SEED,
            "work": {
                "kind": "stream",
                "op": load.op,
                **({} if load.read_percent is None else {"read_percent": load.read_percent}),
                "geometry": {
                    "transfer_size": load.transfer,
                    "block_size": load.file_bytes,
                    "layout": "file-per-task",
                    "access": "random" if load.random else "sequential",
                },
                "queue_depth": load.depth,
                "durability": "none",
                "cache": "keep",
                "payload": payload,
                "verify": verify,
            },
        }
        phase = self.target.start(json.dumps(spec))
        phase.go()
        to_the_end(phase)
        result: dict[str, Any] = phase.result()
        if result["first_error"] or result["stop_reason"] not in ("size", "time"):
            raise RuntimeError(f"{self.name} stopped by {result['stop_reason']}: {result['first_error']}")
        if verify and (not result["verify"] or result["verify"]["damaged_operations"]):
            raise RuntimeError(f"{self.name} did not verify: {result['verify']}")
        return result


def self_cpu_ns() -> int:
    """Returns the user and system time of this process, its tasks and their kernel workers."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return round((usage.ru_utime + usage.ru_stime) * 1e9)
