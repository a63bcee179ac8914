"""Tonnage against a bare C loop, fio, IOR and elbencho: interleaved, repeated, as ratios of one run.

``python bench/run.py [--quick]``; what it finds goes to ``bench/results/<date>-<machine>/``. See ``bench/README.md``.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from cell_files import Ground
from cell_load import Sample
from child_processes import cleaned_up_on_signals
from contender import Contender
from memory import LIMIT_BYTES, measure_in_child
from peers import Bare, Elbencho, Fio, Ior
from round_medians import spread
from table import markdown
from table_cells import CONSTANT, VERIFIED, Cell, Goal, cells
from tonnage_contender import Tonnage

HERE = Path(__file__).resolve().parent
MEMORY_TASKS = 256


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure Tonnage against a bare C loop and its peers.")
    parser.add_argument("--rounds", type=int, default=9, help="runs of each contender in each cell (6 give 95 %%)")
    parser.add_argument(
        "--seconds", type=float, default=1.0, help="length of a run; IOR and elbencho take whole seconds"
    )
    parser.add_argument("--quick", action="store_true", help="3 rounds of 0.3 s: to see that it works, not to quote")
    parser.add_argument("--only", metavar="TEXT", default="", help="only cells whose title contains TEXT")
    parser.add_argument("--tmpfs", type=Path, default=Path("/dev/shm"), help="a directory on tmpfs")
    parser.add_argument("--disk", type=Path, default=Path("/var/tmp"), help="a directory on ext4 or XFS")
    parser.add_argument("--fio", help="the fio to run (default: the one on PATH)")
    parser.add_argument("--ior", help="the ior to run (default: the one on PATH)")
    parser.add_argument("--elbencho", help="the elbencho to run (default: the one on PATH)")
    parser.add_argument("--machine", help="name of this machine in the results (default: from its CPU)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the order of the contenders")
    parser.add_argument("--out", type=Path, default=HERE / "results", help="where the results' directory is made")
    given = parser.parse_args()
    if given.quick:
        given.rounds, given.seconds = 3, 0.3
    if given.rounds < 1 or given.seconds <= 0:
        parser.error("--rounds must be at least 1 and --seconds above 0")
    return given


def build_bare(directory: Path) -> Path:
    """The C loop, built by the system's compiler each time: it is small, and never stale."""
    program = directory / "bare"
    source = HERE / "bare.c"
    subprocess.run(["cc", "-O2", "-pthread", str(source), "-o", str(program), "-luring"], check=True)
    return program


def find_contenders(given: argparse.Namespace, work: Path) -> dict[str, Contender]:
    """Whoever is here, by name."""
    bare = build_bare(work)
    found: list[Contender] = [
        Tonnage(),
        Tonnage(payload="constant", name=CONSTANT),
        Tonnage(verify=True, name=VERIFIED),
        Bare(bare),
        Bare(bare, summing=True),
    ]
    fio, ior, elbencho = (shutil.which(getattr(given, name) or name) for name in ("fio", "ior", "elbencho"))
    mpirun = shutil.which("mpirun")
    if fio:
        found.append(Fio(Path(fio)))
    if ior and mpirun:
        found += [Ior(Path(ior), Path(mpirun)), Ior(Path(ior), Path(mpirun), verify=True)]
    if elbencho:
        found.append(Elbencho(Path(elbencho)))
    return {contender.name: contender for contender in found}


def run_cell(
    cell: Cell, contenders: list[Contender], ground: Ground, rounds: int, order: random.Random
) -> dict[str, Any]:
    """All rounds of a cell: samples and start-up cost (CPU of next to no operations) by contender."""
    samples: dict[str, list[Sample]] = {contender.name: [] for contender in contenders}
    idle: dict[str, int] = {}
    with ground:
        for contender in contenders:
            contender.prepare(cell.load, ground)
        for contender in contenders:
            idle[contender.name] = statistics.median_low(contender.run(cell.load.smallest()).cpu_ns for _ in range(3))
            contender.run(cell.load)  # warm: programs loaded, memory touched
        for _ in range(rounds):
            for contender in order.sample(contenders, len(contenders)):
                if cell.load.fresh:
                    ground.touch_free_memory()
                samples[contender.name].append(contender.run(cell.load))
    return {"samples": samples, "idle_cpu_ns": idle}


def judge(cell: Cell, outcome: dict[str, Any]) -> dict[str, Any]:
    """Medians and ratios of one cell; a ratio is of two runs of the same round."""
    samples: dict[str, list[Sample]] = outcome["samples"]
    contenders = {}
    for name, runs in samples.items():
        idle = outcome["idle_cpu_ns"][name]
        cpu = statistics.median((run.cpu_ns - idle) / run.operations / 1e3 for run in runs)
        contenders[name] = {
            "operations_per_s": asdict(spread([run.operations_per_s for run in runs])),
            # A run shorter than its own start-up says nothing about the cost of an operation.
            "cpu_s_per_million": cpu if cpu > 0 else None,
            "idle_cpu_ns": idle,
            "runs": [asdict(run) for run in runs],
        }
    goals = []
    for goal in cell.goals:
        if goal.of not in samples or (goal.against and goal.against not in samples):
            continue
        rates = [figure(goal, goal.of, run, outcome) for run in samples[goal.of]]
        if goal.against:
            theirs = (figure(goal, goal.against, run, outcome) for run in samples[goal.against])
            rates = [rate / other for rate, other in zip(rates, theirs, strict=True)]
        else:
            rates = [rate / cell.load.tasks for rate in rates]
        goals.append({**asdict(goal), "found": asdict(spread(rates))})
    return {"title": cell.title, "transfer": cell.load.transfer, "load": asdict(cell.load), "place": cell.place,
            "contenders": contenders, "goals": goals}  # fmt: skip


def figure(goal: Goal, name: str, run: Sample, outcome: dict[str, Any]) -> float:
    """What a goal compares of one run: operations per second, or per CPU second without what starting up takes."""
    if not goal.cpu:
        return run.operations_per_s
    return run.operations * 1e9 / max(run.cpu_ns - outcome["idle_cpu_ns"][name], 1)


def host_facts() -> dict[str, Any]:
    model = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    return {
        "cpu_model": model.group(1) if model else platform.machine(),
        "cpu_count": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "kernel": platform.release(),
        "load_before": os.getloadavg()[0],
    }


def machine_name(host: dict[str, Any]) -> str:
    """Returns a name such as ``epyc-2c``."""
    known = re.search(r"epyc|xeon|ryzen|core|graviton|neoverse|ampere|power\d*", host["cpu_model"].lower())
    return f"{known.group(0) if known else 'cpu'}-{host['cpu_count']}c"


def versions(contenders: dict[str, Contender]) -> dict[str, str]:
    """What each program says it is."""
    from tonnage import _native

    found = {"Tonnage": _native.__version__}
    for name in ("fio", "IOR", "elbencho"):
        contender = contenders.get(name)
        if contender is not None and contender.program is not None:
            flag = "-h" if name == "IOR" else "--version"
            done = subprocess.run([str(contender.program), flag], capture_output=True, text=True, check=False)
            number = re.search(r"\d+\.\d+[\w.+-]*", done.stdout + done.stderr)
            found[name] = number.group(0) if number else "(version unknown)"
    return found


def main() -> int:
    given = arguments()
    host = host_facts()
    order = random.Random(given.seed)
    results: dict[str, Any] = {
        "date": datetime.date.today().isoformat(), "machine": given.machine or machine_name(host), "host": host,
        "rounds": given.rounds, "seconds": given.seconds, "seed": given.seed,
        "confidence": spread(range(given.rounds)).confidence, "cells": [],
    }  # fmt: skip
    with cleaned_up_on_signals(), tempfile.TemporaryDirectory(dir=given.disk, prefix="tonnage-bench-") as work:
        contenders = find_contenders(given, Path(work))
        results["versions"] = versions(contenders)
        places = {"tmpfs": given.tmpfs, "disk": given.disk, "none": given.tmpfs}
        for cell in cells(given.seconds):
            if given.only not in cell.title:
                continue
            asked = [contenders[name] for name in cell.contenders() if name in contenders]
            able = [contender for contender in asked if contender.can(cell.load)]
            print(f"{cell.title}: {', '.join(contender.name for contender in able)}", file=sys.stderr, flush=True)
            ground = Ground(cell.load, places[cell.place], Path(work))
            results["cells"].append(judge(cell, run_cell(cell, able, ground, given.rounds, order)))
        loads = {} if given.only else measure_in_child(given.tmpfs, MEMORY_TASKS)
        results["memory"] = {"tasks": MEMORY_TASKS, "limit_bytes": LIMIT_BYTES, "loads": loads}
    text = markdown(results)
    if not (given.quick or given.only):
        out = given.out / f"{results['date']}-{results['machine']}"
        out.mkdir(parents=True, exist_ok=True)
        (out / "results.json").write_text(json.dumps(results, indent=1) + "\n")
        (out / "table.md").write_text(text)
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
