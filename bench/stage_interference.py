"""How much a mover slows an application that computes and writes checkpoints.

``python bench/stage_interference.py [--quick]`` as root. The application alone, beside a mover at full speed and beside
a gentle one take turns in blocks of steps, in an order drawn anew for each round; every block begins with a backlog
that keeps the mover busy. See ``bench/README.md``.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import fcntl
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# The checkout's own package, wherever the interpreter comes from.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

from child_processes import cleaned_up_on_signals, said_by
from run import host_facts, machine_name
from stage_carriers import plan
from stage_file_systems import EmptyDirectory, enter_namespace

HERE = Path(__file__).resolve().parent
GIB, MIB = 1 << 30, 1 << 20
ALONE, FULL, GENTLE = "alone", "mover at full speed", "gentle mover"
GOALS = {"median": 1.03, "p99": 1.10}
FIRST_STEPS = 2
"""Of a block, which do not count: the application's files and the mover's journal are new."""


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure how a mover slows an application beside it; as root.")
    parser.add_argument("--rounds", type=int, default=10, help="blocks of each of the three")
    parser.add_argument("--steps", type=int, default=14, help="steps of a block, of which 2 do not count")
    parser.add_argument("--compute-ms", type=int, default=500, help="computation of a step on an idle machine")
    parser.add_argument("--mib", type=int, default=128, help="size of a checkpoint")
    processors = os.cpu_count() or 1
    parser.add_argument("--threads", type=int, nargs="+", default=sorted({max(1, processors - 1), processors}),
                        help="numbers of threads that compute (default: all processors but one, and all)")  # fmt: skip
    parser.add_argument(
        "--backlog-gib", type=float, default=4.0, help="what the mover has to copy beside the checkpoints"
    )
    parser.add_argument("--quick", action="store_true", help="2 rounds of 6 steps: to see that it works")
    parser.add_argument("--disk", type=Path, default=Path("/var/tmp"), help="a directory on a disk")
    parser.add_argument(
        "--lock", type=Path, help="a file that is locked during each block, where others share the machine"
    )
    parser.add_argument("--machine", help="name of this machine in the results (default: from its CPU)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the order")
    parser.add_argument("--out", type=Path, default=HERE / "results", help="where the results' directory is made")
    given = parser.parse_args()
    if given.quick:
        given.rounds, given.steps, given.backlog_gib = 2, 6, 1.0
    return given


class Application:
    """``checkpoint.c``: fixed work in each step, so that a disturbed step takes longer."""

    def __init__(self, given: argparse.Namespace, work: Path, threads: int) -> None:
        self.program = work / "checkpoint"
        said = said_by(["cc", "-O2", "-pthread", str(HERE / "checkpoint.c"), "-o", str(self.program)])
        if said.returncode != 0:
            raise RuntimeError(said.stderr)
        pass_ns = int(said_by([str(self.program), str(work), "--steps", "0"]).stdout)
        passes = max(1, given.compute_ms * 1_000_000 // pass_ns)
        self.words = [
            "--steps",
            str(given.steps),
            "--passes",
            str(passes),
            "--threads",
            str(threads),
            "--mib",
            str(given.mib),
        ]

    @contextlib.contextmanager
    def started(self, directory: Path) -> Iterator[subprocess.Popen[str]]:
        """It runs; ended with the block, whatever ends that."""
        process = subprocess.Popen([str(self.program), str(directory), *self.words], stdout=subprocess.PIPE, text=True)
        try:
            yield process
        finally:
            process.kill()
            process.wait()


def block(who: str, application: Application, source: EmptyDirectory, to: EmptyDirectory) -> dict[str, Any]:
    """Steps of the application in nanoseconds, and what the mover copied meanwhile."""
    from tonnage import _native

    checkpoints = source.path / "tree" / "checkpoints"
    with tempfile.TemporaryDirectory(dir=to.path) as out, tempfile.TemporaryDirectory(dir=source.path) as state:
        source.sync()
        with application.started(checkpoints) as process:
            if who == ALONE:
                told, _ = process.communicate()
                copied = 0
            else:
                gentle = "auto" if who == GENTLE else "off"
                options = plan(source.path / "tree", Path(out), Path(state), gentle=gentle)
                mover = _native.Mover(options)
                mover.start()
                mover.give_way_to(process.pid)
                told, _ = process.communicate()
                copied = mover.status()["copied_bytes"]
                mover.stop(0)
                while not mover.wait(1.0):
                    pass
            if process.returncode != 0:
                raise RuntimeError(f"the application ended with {process.returncode}")
    to.sync()
    steps = [json.loads(line) for line in told.splitlines()]
    return {"steps": steps[FIRST_STEPS:], "elapsed_ns": sum(map(length, steps)), "copied_bytes": copied}


def length(step: dict[str, int]) -> int:
    return step["compute_ns"] + step["checkpoint_ns"]


@contextlib.contextmanager
def quiet(lock: Path | None) -> Iterator[None]:
    """Keeps the machine for this bench, as far as others keep to the lock."""
    if lock is None:
        yield
        return
    with lock.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def measure(given: argparse.Namespace, threads: int, order: random.Random) -> dict[str, Any]:
    """All rounds with one number of computing threads."""
    size_bytes = round(given.backlog_gib * GIB) + 8 * given.mib * MIB + GIB
    blocks: dict[str, list[dict[str, Any]]] = {ALONE: [], FULL: [], GENTLE: []}
    with (
        EmptyDirectory("ext4", given.disk, size_bytes) as source,
        EmptyDirectory("ext4", given.disk, size_bytes) as to,
        tempfile.TemporaryDirectory(dir=given.disk, prefix="tonnage-bench-") as work,
    ):
        (source.path / "tree" / "checkpoints").mkdir(parents=True)
        noise = random.Random(given.seed).randbytes(MIB)
        for number in range(max(1, round(given.backlog_gib * 4))):
            with (source.path / "tree" / f"backlog.{number}").open("wb") as file:
                for _ in range(256):
                    file.write(noise)
        with quiet(given.lock):
            application = Application(given, Path(work), threads)
        for number in range(given.rounds):
            print(f"{threads} thread(s), round {number + 1} of {given.rounds}", file=sys.stderr, flush=True)
            for who in order.sample(list(blocks), len(blocks)):
                with quiet(given.lock):
                    blocks[who].append(block(who, application, source, to))
    return {"threads": threads, "blocks": blocks}


def at(values: list[int], share: float) -> float:
    """The value that this share of them does not exceed; nearest rank."""
    ordered = sorted(values)
    return float(ordered[min(len(ordered) - 1, max(0, -int(-share * len(ordered) // 1) - 1))])


def rows(cell: dict[str, Any]) -> list[str]:
    steps = {who: [step for found in blocks for step in found["steps"]] for who, blocks in cell["blocks"].items()}
    alone = [length(step) for step in steps[ALONE]]
    base = {"median": statistics.median(alone), "p99": at(alone, 0.99)}
    lines = []
    for who, found in steps.items():
        all_ns = [length(step) for step in found]
        now = {"median": statistics.median(all_ns), "p99": at(all_ns, 0.99)}
        ratios = {name: now[name] / base[name] for name in base}
        said = [f"{now[name] / 1e6:.0f} ms | {ratios[name]:.3f}" for name in base]
        compute = statistics.median(step["compute_ns"] for step in found) / 1e6
        checkpoint = statistics.median(step["checkpoint_ns"] for step in found) / 1e6
        blocks = cell["blocks"][who]
        rate = sum(one["copied_bytes"] for one in blocks) * 1e9 / sum(one["elapsed_ns"] for one in blocks) / MIB
        met = all(ratios[name] <= GOALS[name] for name in GOALS)
        verdict = "" if who == ALONE else "pass" if met else "miss"
        lines.append(
            f"| {cell['threads']} | {who} | {' | '.join(said)} | {compute:.0f} ms | {checkpoint:.0f} ms "
            f"| {rate:.0f} MiB/s | {len(found)} | {verdict} |"
        )
    return lines


def markdown(results: dict[str, Any]) -> str:
    host, asked = results["host"], results["asked"]
    lines = [
        f"# An application beside a mover, {results['date']}, {results['machine']}",
        "",
        f"{host['cpu_model']}, {host['cpu_count']} CPUs, Linux {host['kernel']}; load average before",
        f"{host['load_before']:.2f}. The application computes for {asked['compute_ms']} ms, writes {asked['mib']} MiB,",
        "fsyncs, renames. Source and destination are ext4 on loop devices of one disk. Steps of all blocks together;",
        "ratios to the application alone in the same rounds.",
        f"Goal: median ≤ {GOALS['median']:g}, p99 ≤ {GOALS['p99']:g} of alone.",
        "",
        "| threads | who | median step | ÷ alone | p99 step | ÷ alone | compute | checkpoint | mover | steps | goal |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for cell in results["cells"]:
        lines += rows(cell)
    return "\n".join([*lines, ""])


def main() -> int:
    given = arguments()
    enter_namespace()
    host, order = host_facts(), random.Random(given.seed)
    results: dict[str, Any] = {
        "date": datetime.date.today().isoformat(), "machine": given.machine or machine_name(host), "host": host,
        "asked": {"compute_ms": given.compute_ms, "mib": given.mib, "steps": given.steps, "rounds": given.rounds},
    }  # fmt: skip
    with cleaned_up_on_signals():
        results["cells"] = [measure(given, threads, order) for threads in given.threads]
    text = markdown(results)
    if not given.quick:
        out = given.out / f"{results['date']}-{results['machine']}"
        out.mkdir(parents=True, exist_ok=True)
        (out / "stage_interference.json").write_text(json.dumps(results, indent=1) + "\n")
        (out / "stage_interference.md").write_text(text)
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
