"""Objects of a Ceph pool beside ``rados bench``: the same object size, the same depth, on a cluster started for it.

``python bench/rados.py [--rounds N] [--store memstore bluestore]``; writes ``rados.md`` and ``rados.json`` below
``bench/results``. Both write new objects for a time and read each of them once, in an order drawn anew for each round.
Both tell the OSDs that an object is written once, from its beginning to its end: ``rados bench`` does so by itself, and
bluestore then sums blocks of the write's size instead of 4 KiB.
"""

from __future__ import annotations

import argparse
import datetime
import itertools
import json
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lab"))

import ceph as lab  # noqa: E402
from child_processes import cleaned_up_on_signals, said_by, to_the_end  # noqa: E402
from round_medians import spread  # noqa: E402
from run import host_facts, machine_name  # noqa: E402
from table import verdict  # noqa: E402

KIB, MIB = 1 << 10, 1 << 20
CELLS = ((4 * MIB, 16), (4 * MIB, 1), (4 * KIB, 16), (4 * KIB, 1))
"""Bytes of an object, which is one operation, and operations in flight."""
OPS = ("write", "read")
SEED = 20_260_101
WARM_UPS = 4
"""Writes of each of the two that are not counted: the stores of the daemons grow to their size in them."""
BLOCK_BYTES = 1 << 40
"""Of a task's file: more than any time is enough for."""


@dataclass(frozen=True, slots=True)
class Sample:
    """What one of the two did."""

    operations: int
    elapsed_s: float
    cpu_s: float

    @property
    def operations_per_s(self) -> float:
        return self.operations / self.elapsed_s


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure objects of a Ceph pool beside rados bench.")
    parser.add_argument("--rounds", type=int, default=7, help="writes and reads of each of the two in each cell")
    parser.add_argument(
        "--seconds", type=int, default=3, help="of each write; a read ends when all was read, or sooner"
    )
    parser.add_argument("--store", nargs="*", default=["memstore", "bluestore"], choices=["memstore", "bluestore"])
    parser.add_argument("--only", default="", help="cells whose title contains this; writes no results")
    parser.add_argument(
        "--quick", action="store_true", help="one round of a second: to see that it works, not to quote"
    )
    parser.add_argument("--machine", help="name of this machine in the results (default: from its CPU)")
    parser.add_argument("--out", type=Path, help="where the results go (default: bench/results/<date>-<machine>)")
    given = parser.parse_args()
    if given.quick:
        given.rounds, given.seconds = 1, 1
    return given


class RadosBench:
    """``rados bench`` of the same Ceph."""

    name = "rados bench"
    numbers = itertools.count()

    def __init__(self, cluster: lab.Ceph, object_bytes: int, depth: int, seconds: int) -> None:
        self.cluster, self.object_bytes, self.depth, self.seconds = cluster, object_bytes, depth, seconds
        self.run = ""

    def write(self) -> Sample:
        self.run = f"bench-{next(self.numbers)}"
        return self._measure("write", "-b", str(self.object_bytes), "--no-cleanup")

    def read(self) -> Sample:
        return self._measure("seq")

    def clear(self) -> None:
        said_by(["rados", "--conf", str(self.cluster.conf), "--pool", "bench", "cleanup", "--run-name", self.run])

    def _measure(self, op: str, *words: str) -> Sample:
        argv = ["rados", "--conf", str(self.cluster.conf), "--pool", "bench", "bench", str(self.seconds), op]
        before = _cpu_s(resource.RUSAGE_CHILDREN)
        said: subprocess.CompletedProcess[str] = said_by([*argv, "-t", str(self.depth), "--run-name", self.run, *words])
        cpu_s = _cpu_s(resource.RUSAGE_CHILDREN) - before
        elapsed = re.search(r"Total time run:\s+([\d.]+)", said.stdout)
        made = re.search(r"Total (?:writes|reads) made:\s+(\d+)", said.stdout)
        if said.returncode or elapsed is None or made is None:
            raise RuntimeError(f"rados bench {op} failed: {said.stdout[-300:]}{said.stderr[-300:]}")
        return Sample(int(made[1]), float(elapsed[1]), cpu_s)


class Tonnage:
    """Runs a task at the same depth, by the interface that the run loop uses, with every latency, series and file."""

    name = "Tonnage"
    numbers = itertools.count()

    def __init__(self, cluster: lab.Ceph, object_bytes: int, depth: int, seconds: int, records: Path) -> None:
        from tonnage import _native

        pool = {"pool": "bench", "namespace": "tonnage-bench", "object_bytes": object_bytes, "write_once": True}
        spec = json.dumps({"kind": "rados", "rados": {**pool, "conf": str(cluster.conf)}})
        self.target = _native.Target(spec, series_directory=str(records))
        self.object_bytes, self.depth, self.seconds = object_bytes, depth, seconds
        self.written = 0

    def write(self) -> Sample:
        sample = self._phase("write", {"time_ns": self.seconds * 10**9})
        self.written = sample.operations
        return sample

    def read(self) -> Sample:
        return self._phase("read", {"time_ns": self.seconds * 10**9, "operations": self.written})

    def clear(self) -> None:
        self.target.clear()

    def end(self) -> None:
        self.target.finish()

    def _phase(self, op: str, limit: dict[str, int]) -> Sample:
        size = self.object_bytes
        geometry = {"transfer_size": size, "block_size": BLOCK_BYTES, "layout": "file-per-task", "access": "sequential"}
        work = {"kind": "stream", "op": op, "geometry": geometry, "queue_depth": self.depth, "durability": "none"}
        spec = {
            "record": f"{next(self.numbers):04}-{op}",
            "tasks": {"here": 1, "total": 1},
            "limit": limit,
            "seed": SEED,
            "work": {**work, "cache": "keep"},
        }
        before = _cpu_s(resource.RUSAGE_SELF)
        phase = self.target.start(json.dumps(spec))
        phase.go()
        to_the_end(phase)
        result: dict[str, Any] = phase.result()
        cpu_s = _cpu_s(resource.RUSAGE_SELF) - before
        if result["first_error"] or result["stop_reason"] not in ("size", "time"):
            raise RuntimeError(f"Tonnage stopped by {result['stop_reason']}: {result['first_error']}")
        (task,) = result["tasks"]
        return Sample(task["operations"], (task["end_ns"] - task["start_ns"]) / 1e9, cpu_s)


def _cpu_s(whose: int) -> float:
    usage = resource.getrusage(whose)
    return usage.ru_utime + usage.ru_stime


def measure(cluster: lab.Ceph, size: int, depth: int, given: argparse.Namespace, records: Path) -> dict[str, Any]:
    """All rounds of a cell, by operation and contender."""
    ours = Tonnage(cluster, size, depth, given.seconds, records)
    both: list[Tonnage | RadosBench] = [ours, RadosBench(cluster, size, depth, given.seconds)]
    rounds: list[dict[str, dict[str, Sample]]] = []
    dice = random.Random(SEED)
    try:
        # What a daemon's memory is touched for the first time by is not measured: it takes three times as long.
        for one in both * WARM_UPS:
            one.write()
            one.clear()
        for _ in range(given.rounds):
            found: dict[str, dict[str, Sample]] = {op: {} for op in OPS}
            for one in dice.sample(both, len(both)):
                found["write"][one.name] = one.write()
                found["read"][one.name] = one.read()
                one.clear()
            rounds.append(found)
    finally:
        ours.clear()
        ours.end()
    return {op: _figures([found[op] for found in rounds]) for op in OPS}


def _figures(rounds: list[dict[str, Sample]]) -> dict[str, Any]:
    def of(name: str, value: Callable[[Sample], float]) -> list[float]:
        return [value(found[name]) for found in rounds]

    names = (Tonnage.name, RadosBench.name)
    rates = {name: of(name, lambda sample: sample.operations_per_s) for name in names}
    cpu = {name: of(name, lambda sample: sample.cpu_s / sample.operations * 1e6) for name in names}
    ratios = [mine / theirs for mine, theirs in zip(rates[Tonnage.name], rates[RadosBench.name], strict=True)]
    return {"operations_per_s": rates, "cpu_us_per_operation": cpu, "ratios": ratios}


def _rate(value: float, size: int) -> str:
    return f"{value * size / 1e6:,.0f} MB/s" if size >= MIB else f"{value:,.0f} /s"


def markdown(results: dict[str, Any]) -> str:
    """Returns a row for each cell and operation."""
    facts = results["host"]
    lines = [
        f"# Objects of a pool beside rados bench: {facts['cpu_model']}, {facts['cpu_count']} processors",
        "",
        f"{results['ceph']}: a monitor and {results['osds']} OSDs on this machine, one copy.",
        f"{results['rounds']} rounds of {results['seconds']} s, after {WARM_UPS} writes of each that are not counted.",
        "Both tell the OSDs that an object is written once, in order, as `rados bench` does by itself.",
        "Medians, with an order-statistic interval;",
        "ratios are of two runs of the same round.",
        "MB = 10^6 bytes. CPU: of the whole process, Tonnage / rados bench.",
        "",
        "| store | object, depth | operation | Tonnage | rados bench | ratio, goal ≥ 1 | verdict | CPU an operation |",
        "|---|---|---|--:|--:|--:|---|--:|",
    ]
    for cell in results["cells"]:
        for op in OPS:
            found, size = cell[op], cell["object_bytes"]
            mine, theirs = (spread(found["operations_per_s"][name]) for name in (Tonnage.name, RadosBench.name))
            ratio = spread(found["ratios"])
            cpu = [spread(found["cpu_us_per_operation"][name]).median for name in (Tonnage.name, RadosBench.name)]
            what = f"{size // MIB} MiB" if size >= MIB else f"{size // KIB} KiB"
            row = [cell["store"], f"{what}, {cell['depth']}", op, _rate(mine.median, size), _rate(theirs.median, size)]
            row += [f"{ratio.median:.3f} [{ratio.low:.3f}, {ratio.high:.3f}]", verdict(ratio, 1.0)]
            lines.append(f"| {' | '.join([*row, f'{cpu[0]:,.0f} / {cpu[1]:,.0f} µs'])} |")
    return "\n".join(lines) + "\n"


def cells_of(store: str, given: argparse.Namespace, cluster: lab.Ceph, records: Path) -> list[dict[str, Any]]:
    """The cells of one store that are wanted."""
    found = []
    for size, depth in CELLS:
        title = f"{store} {size // MIB} MiB {depth}" if size >= MIB else f"{store} {size // KIB} KiB {depth}"
        if given.only in title:
            figures = measure(cluster, size, depth, given, records)
            ratios = {op: round(spread(figures[op]["ratios"]).median, 3) for op in OPS}
            print(f"{title}: ratio {json.dumps(ratios)}", flush=True)
            found.append({"store": store, "object_bytes": size, "depth": depth, **figures})
    return found


def main() -> None:
    given = arguments()
    facts, cells = host_facts(), []
    version = said_by(["rados", "--version"]).stdout.split(" (")[0].strip()
    with cleaned_up_on_signals():
        for store in given.store:
            with tempfile.TemporaryDirectory(prefix="tonnage-rados-") as name:
                directory, records = Path(name, "ceph"), Path(name, "run")
                directory.mkdir()
                for room in ("series", "heat", "latency", "operations"):
                    (records / room).mkdir(parents=True)
                with lab.ceph(directory, store=store, size=4 << 30) as cluster:
                    cluster.pool("bench")
                    cells += cells_of(store, given, cluster, records)
                    osds = sum(daemon.startswith("osd.") for daemon in cluster.daemons)
    results = {
        "date": str(datetime.date.today()),
        "host": facts,
        "load_after": os.getloadavg()[0],
        "ceph": version,
        "osds": osds,
        "rounds": given.rounds,
        "seconds": given.seconds,
        "cells": cells,
    }
    print(text := markdown(results))
    if given.quick or given.only:
        return
    out = given.out or HERE / "results" / f"{results['date']}-{given.machine or machine_name(facts)}"
    out.mkdir(parents=True, exist_ok=True)
    (out / "rados.json").write_text(json.dumps(results, indent=1) + "\n")
    (out / "rados.md").write_text(text)


if __name__ == "__main__":
    main()
