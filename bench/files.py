"""Create, stat and remove of empty files: Tonnage against a bare C loop, mdtest and elbencho, interleaved.

``python bench/files.py [--disk DIRECTORY]``. Every contender gives each task a directory of its own. Each round runs
all of them once, in an order drawn anew; a ratio is of two runs of the same round. See ``bench/README.md``.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import re
import resource
import secrets
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from child_processes import cleaned_up_on_signals, said_by, to_the_end
from round_medians import Spread, spread
from tonnage import _native

PHASES = ("create", "stat", "remove")
GOAL = 0.97
"""Of the bare loop's operations a second, and the most of its CPU time an operation as a divisor."""
FILES_MOST = 100_000
"""Files of each task where the file system is fast."""
RUN_SECONDS = 1.0
"""How long the C loop may take for all phases: nine rounds of four contenders are then over in a minute or two a cell,
also where names go through a journal."""
TRIED_FILES = 5000
"""Files of each task in the run that tells how fast the file system is, and in each contender's unmeasured one."""
HERE = Path(__file__).resolve().parent


@dataclass(frozen=True, slots=True)
class Round:
    """What one run of one contender did."""

    rates: dict[str, float]
    """Operations a second by phase."""
    cpu_ns: float
    """CPU time of an operation, over all phases, less what starting and ending costs."""


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure names against a bare C loop, mdtest and elbencho.")
    parser.add_argument("--rounds", type=int, default=9, help="runs of each contender in each cell (6 give 95 %%)")
    parser.add_argument(
        "--files",
        type=int,
        help=f"files of each task (default: as many as take the C loop a second, {FILES_MOST} at most)",
    )
    parser.add_argument("--tasks", type=int, nargs="+", default=[1, 2], help="numbers of tasks")
    parser.add_argument("--tmpfs", type=Path, default=Path("/dev/shm"), help="a directory on tmpfs")
    parser.add_argument("--disk", type=Path, help="also on this directory, on ext4 or XFS")
    parser.add_argument("--mdtest", help="the mdtest to run (default: the one on PATH)")
    parser.add_argument("--elbencho", help="the elbencho to run (default: the one on PATH)")
    parser.add_argument("--quick", action="store_true", help="3 rounds of 20,000 files: to see that it works")
    parser.add_argument("--seed", type=int, default=1, help="seed of the order of the contenders")
    given = parser.parse_args()
    if given.quick:
        given.rounds, given.files = 3, 20_000
    return given


def cpu_of(who: int) -> int:
    usage = resource.getrusage(who)
    return round((usage.ru_utime + usage.ru_stime) * 1e9)


def timed(command: list[str]) -> tuple[str, int]:
    """What a program prints, and the CPU time of it and its children, in ns."""
    before = cpu_of(resource.RUSAGE_CHILDREN)
    done = said_by(command)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stdout[-500:]}{done.stderr[-500:]}")
    return done.stdout, cpu_of(resource.RUSAGE_CHILDREN) - before


class Tonnage:
    """Through the interface that the run loop uses, with series and histograms written as in a real run."""

    numbers = itertools.count()

    def __init__(self, records: Path) -> None:
        for part in ("series", "heat", "latency"):
            (records / part).mkdir()
        self.records = records

    def run(self, place: Path, tasks: int, files: int) -> Round:
        scratch = _native.Scratch.create(str(place), secrets.token_hex(4))
        try:
            spec = {"kind": "posix", "directories": [scratch.path], "direct": "no"}
            target = _native.Target(json.dumps(spec), series_directory=str(self.records))
            self.phase(target, "make-tree", tasks, files)
            results = {phase: self.phase(target, phase, tasks, files) for phase in PHASES}
        finally:
            scratch.remove()
        return Round(
            {phase: tasks * files * 1e9 / elapsed for phase, (elapsed, _) in results.items()},
            sum(cpu for _, cpu in results.values()) / (len(PHASES) * tasks * files),
        )

    def phase(self, target: _native.Target, op: str, tasks: int, files: int) -> tuple[int, int]:
        """Measures elapsed and CPU time in ns."""
        tree = {"depth": 0, "branch": 1, "items_per_directory": files, "leaves_only": False, "shared": False}
        spec = {
            "record": f"{next(self.numbers):04}-{op}",
            "tasks": {"here": tasks, "total": tasks},
            "seed": 1,
            "work": {"kind": "files", "op": op, "tree": tree, "cache": "keep"},
        }
        phase = target.start(json.dumps(spec))
        phase.go()
        to_the_end(phase)
        result = phase.result()
        if result["first_error"]:
            raise RuntimeError(result["first_error"]["message"])
        ran = result["tasks"]
        elapsed = max(task["end_ns"] for task in ran) - min(task["start_ns"] for task in ran)
        return elapsed, result["cpu_user_ns"] + result["cpu_system_ns"]


class Bare:
    """The C loop, built by the system's compiler each time: it is small, and never stale."""

    def __init__(self, work: Path) -> None:
        self.program = work / "bare_files"
        subprocess.run(["cc", "-O2", "-pthread", HERE / "bare_files.c", "-o", self.program], check=True)

    def run(self, place: Path, tasks: int, files: int) -> Round:
        out, _ = timed([str(self.program), str(place), str(tasks), str(files)])
        lines = [json.loads(line) for line in out.splitlines()]
        rates = {line["phase"]: line["operations"] * 1e9 / line["elapsed_ns"] for line in lines}
        return Round(rates, sum(line["cpu_ns"] for line in lines) / sum(line["operations"] for line in lines))


class Peer:
    """A program that does all phases in one start; its CPU time is that of the whole, less a start with one file."""

    def __init__(self, command: Callable[[Path, int, int], list[str]], read: Callable[[str], dict[str, float]]) -> None:
        self.command, self.read = command, read

    def run(self, place: Path, tasks: int, files: int) -> Round:
        _, idle_ns = timed(self.command(place, tasks, 1))
        out, cpu_ns = timed(self.command(place, tasks, files))
        return Round(self.read(out), max(cpu_ns - idle_ns, 0) / (len(PHASES) * tasks * files))


def mdtest(program: str, mpirun: str) -> Peer:
    launch = [mpirun, "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n"]

    def command(place: Path, tasks: int, files: int) -> list[str]:
        run = [program, "-F", "-C", "-T", "-r", "-u", "-n", str(files), "-d", str(place / "mdtest")]
        return [*launch, str(tasks), *run]

    def read(out: str) -> dict[str, float]:
        rows = dict(re.findall(r"File (creation|stat|removal) +([0-9.]+)", out))
        return {"create": float(rows["creation"]), "stat": float(rows["stat"]), "remove": float(rows["removal"])}

    return Peer(command, read)


def elbencho(program: str, work: Path) -> Peer:
    results = work / "elbencho.json"

    def command(place: Path, tasks: int, files: int) -> list[str]:
        # It refuses paths below /dev; a link leads there all the same.
        (directory := place / "elbencho").mkdir(exist_ok=True)
        (link := work / "place").unlink(missing_ok=True)
        link.symlink_to(directory)
        results.unlink(missing_ok=True)
        run = [program, "--nolive", "--jsonfile", str(results), "-d", "-w", "--stat", "-F", "-D", "-s", "0"]
        return [*run, "-t", str(tasks), "-n", "1", "-N", str(files), str(link)]

    def read(_out: str) -> dict[str, float]:
        names = {"WRITE": "create", "STAT": "stat", "RMFILES": "remove"}
        lines = [json.loads(line) for line in results.read_text().splitlines()]
        # Its rates are rounded to a millisecond of elapsed time.
        return {
            names[line["phase_type"]]: float(line["last_done"]["entries/s"])
            for line in lines
            if line["phase_type"] in names
        }

    return Peer(command, read)


def contenders(given: argparse.Namespace, work: Path, bare: Bare) -> dict[str, Tonnage | Bare | Peer]:
    """Whoever is here, by name."""
    found: dict[str, Tonnage | Bare | Peer] = {"Tonnage": Tonnage(work), "C loop": bare}
    program, mpirun = shutil.which(given.mdtest or "mdtest"), shutil.which("mpirun")
    if program and mpirun:
        found["mdtest"] = mdtest(program, mpirun)
    if program := shutil.which(given.elbencho or "elbencho"):
        found["elbencho"] = elbencho(program, work)
    return found


def text(value: Spread, digits: int = 0, scale: float = 1.0) -> str:
    return f"{value.median / scale:.{digits}f} [{value.low / scale:.{digits}f}, {value.high / scale:.{digits}f}]"


def table(runs: dict[str, list[Round]]) -> list[str]:
    """Makes rows: rate by phase and CPU an operation, each with its ratio to Tonnage of the same round."""
    ours = runs["Tonnage"]
    lines = ["| | " + " | ".join(f"{phase} k/s | Tonnage ÷" for phase in PHASES) + " | CPU ns | Tonnage ÷ |"]
    lines.append("|---" * (2 * len(PHASES) + 3) + "|")
    for name, theirs in runs.items():
        cells = []
        for phase in PHASES:
            ratio = spread([a.rates[phase] / b.rates[phase] for a, b in zip(ours, theirs, strict=True)])
            cells += [text(spread([run.rates[phase] for run in theirs]), 0, 1e3), text(ratio, 3)]
        cpu = [run.cpu_ns for run in theirs]
        ratio = [a.cpu_ns / b for a, b in zip(ours, cpu, strict=True) if b > 0]
        cells += [text(spread(cpu)), text(spread(ratio), 3) if ratio else ""]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines


def spread_directories(place: Path) -> None:
    """Has ext4 put each directory in ``place`` into a group of blocks of its own; elsewhere it does nothing.

    ext4 gives out no inode of a removed file for a minute, and looks through all of them for a free one: where runs
    follow each other in one group, a create soon costs ten times as much, for whoever comes next.
    """
    if program := shutil.which("chattr"):
        subprocess.run([program, "+T", place], capture_output=True, check=False)


def alone(contender: Tonnage | Bare | Peer, place: Path, tasks: int, files: int) -> Round:
    """Runs it in a directory of its own."""
    with tempfile.TemporaryDirectory(dir=place) as own:
        return contender.run(Path(own), tasks, files)


def fitting(tried: Round, tasks: int) -> int:
    """Files of each task that the C loop, which was `tried`, creates, stats and removes in about RUN_SECONDS."""
    seconds_a_file = sum(tasks / rate for rate in tried.rates.values())
    return max(TRIED_FILES, min(FILES_MOST, int(RUN_SECONDS / seconds_a_file) // 1000 * 1000))


def main() -> int:
    given = arguments()
    order = random.Random(given.seed)
    places = [given.tmpfs] + ([given.disk] if given.disk else [])
    with cleaned_up_on_signals(), tempfile.TemporaryDirectory(prefix="tonnage-bench-") as work:
        bare = Bare(Path(work))
        found = contenders(given, Path(work), bare)
        for parent, tasks in itertools.product(places, given.tasks):
            with tempfile.TemporaryDirectory(prefix="tonnage-bench-", dir=parent) as place:
                runs: dict[str, list[Round]] = {name: [] for name in found}
                spread_directories(Path(place))
                for contender in found.values():  # warm: programs loaded, memory touched
                    alone(contender, Path(place), tasks, TRIED_FILES)
                files = given.files or fitting(alone(bare, Path(place), tasks, TRIED_FILES), tasks)
                for _ in range(given.rounds):
                    for name in order.sample(list(found), len(found)):
                        runs[name].append(alone(found[name], Path(place), tasks, files))
            print(f"\n{parent}, {tasks} tasks × {files} empty files, {given.rounds} rounds: median [interval]\n")
            print("\n".join(table(runs)), flush=True)
            ratios = [
                statistics.median(
                    a.rates[phase] / b.rates[phase] for a, b in zip(runs["Tonnage"], runs["C loop"], strict=True)
                )
                for phase in PHASES
            ]
            print(f"\ngoal {GOAL} of the C loop: {'met' if min(ratios) >= GOAL else 'missed'} ({min(ratios):.3f})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
