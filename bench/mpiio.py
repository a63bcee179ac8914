"""Calls of MPI-IO: ``tonnage ior -a MPIIO`` against IOR, interleaved.

``python bench/mpiio.py --ior PATH [--disk DIRECTORY]``. Both are started by one ``mpiexec`` with the same words, so the
library that moves the bytes is the same, and a ratio is what a call costs beside it. Each round runs both once, in
an order drawn anew; a round in which other programs used more than a little of the processors is measured again, and
told of where it stays so. See ``bench/README.md``.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from child_processes import cleaned_up_on_signals, said_by
from round_medians import spread

HERE = Path(__file__).resolve().parent
_ROW = re.compile(r"^(write|read) +([0-9.]+) ", re.MULTILINE)
_OTHERS = 0.1
"""Share of the processors that other programs may use in a round that counts."""
_AGAIN = 3
"""Times that a round is measured again, at most."""


@dataclass(slots=True)
class Cell:
    """One setting: what each contender's calls came to, a round each."""

    title: str
    words: list[str]
    tasks: int
    rates: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    """Contender → ``write`` or ``read`` → MiB/s."""
    others: list[float] = field(default_factory=list)
    """Share of the processors that other programs used, of each round."""


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure calls of MPI-IO against IOR.")
    parser.add_argument("--ior", type=Path, required=True, help="IOR's program, built with the same MPI")
    parser.add_argument("--mpiexec", default="mpiexec", help="what starts the processes of both, with its options")
    parser.add_argument("--rounds", type=int, default=9, help="runs of each in each cell (6 give 95 %%)")
    parser.add_argument("--tasks", type=int, nargs="+", default=[1, 2], help="numbers of ranks")
    parser.add_argument("--sizes", nargs="+", default=["4k", "1m"], help="transfer sizes, as IOR writes them")
    parser.add_argument("--tmpfs", type=Path, default=Path("/dev/shm"), help="a directory on tmpfs")
    parser.add_argument("--disk", type=Path, help="also on this directory, on ext4 or XFS")
    parser.add_argument("--block", default="256m", help="bytes of each task")
    parser.add_argument("--seed", type=int, default=1, help="seed of the order")
    parser.add_argument("--out", type=Path, help="where the figures go, as JSON")
    return parser.parse_args()


def cells(given: argparse.Namespace) -> Iterator[Cell]:
    for tasks in given.tasks:
        for size in given.sizes:
            for kind, more in (("independent", []), ("collective", ["-c"])):
                if more and tasks == 1:
                    continue
                words = ["-a", "MPIIO", "-t", size, "-b", given.block, "-w", "-r", "-C", *more]
                yield Cell(f"{size} {kind}, {tasks} task{'s' if tasks > 1 else ''}", words, tasks)


def contenders(given: argparse.Namespace, cell: Cell) -> dict[str, list[str]]:
    started = [*given.mpiexec.split(), "-n", str(cell.tasks)]
    return {
        "ior": [*started, str(given.ior), *cell.words],
        "tonnage": [*started, str(HERE.parent / "tonnage"), "ior", *cell.words],
    }


def busy_s() -> float:
    """Seconds for which processors have worked since the machine began."""
    words = Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()[1:]
    user, nice, system, _idle, _waiting, *more = map(int, words)
    return (user + nice + system + sum(more[:3])) / os.sysconf("SC_CLK_TCK")


def own_s() -> float:
    """Returns those of this process and of all that it waited for."""
    uses = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(use.ru_utime + use.ru_stime for use in uses)


def rates(command: list[str], base: Path) -> dict[str, float]:
    """MiB/s of the write and the read of a run in a directory of its own below ``base``, which goes again."""
    with tempfile.TemporaryDirectory(prefix="tonnage-mpiio-", dir=base) as place:
        done = said_by(command, Path(place))
    found = {name: float(value) for name, value in _ROW.findall(done.stdout.partition("Summary of all tests")[0])}
    if done.returncode or set(found) != {"write", "read"}:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return found


def one_round(given: argparse.Namespace, cell: Cell, base: Path, order: random.Random) -> dict[str, dict[str, float]]:
    drawn = list(contenders(given, cell).items())
    order.shuffle(drawn)
    return {name: rates(command, base) for name, command in drawn}


def measure(given: argparse.Namespace, cell: Cell, base: Path, order: random.Random) -> None:
    for number in range(given.rounds):
        for _ in range(1 + _AGAIN):
            busy, own, began = busy_s(), own_s(), time.monotonic()
            found = one_round(given, cell, base, order)
            had = (time.monotonic() - began) * (os.cpu_count() or 1)
            others = max(0.0, (busy_s() - busy) - (own_s() - own)) / had
            if others <= _OTHERS:
                break
        cell.others.append(others)
        for name, of in found.items():
            for operation, value in of.items():
                cell.rates.setdefault(name, {}).setdefault(operation, []).append(value)
        print(f"{cell.title}: round {number + 1} of {given.rounds}", file=sys.stderr)


def rows(cell: Cell) -> Iterator[str]:
    noisy = sum(share > _OTHERS for share in cell.others)
    told = f"; {noisy} of {len(cell.others)} rounds were not quiet" if noisy else ""
    for operation, theirs in cell.rates["ior"].items():
        ours = cell.rates["tonnage"][operation]
        ratio = spread([one / other for one, other in zip(ours, theirs, strict=True)])
        values = f"{statistics.median(theirs):.4g} | {statistics.median(ours):.4g}"
        interval = f"{ratio.low:.2f} – {ratio.high:.2f}"
        yield f"| {operation} {cell.title}{told} | {values} | {ratio.median:.2f} | {interval} |"


def main() -> None:
    given = arguments()
    order = random.Random(given.seed)
    os.environ.setdefault("OMPI_MCA_rmaps_base_oversubscribe", "1")
    # Both give up the processor while they wait for each other, where there are more ranks than processors.
    os.environ.setdefault("OMPI_MCA_mpi_yield_when_idle", "1")
    kept: dict[str, list[dict[str, object]]] = {}
    for kind, base in {"tmpfs": given.tmpfs, **({"disk": given.disk} if given.disk else {})}.items():
        print(f"\n### {kind}\n\n| MiB/s | ior | tonnage | tonnage ÷ ior | interval |\n|---|---:|---:|---:|---|")
        for cell in cells(given):
            measure(given, cell, base, order)
            print("\n".join(rows(cell)), flush=True)
            kept.setdefault(kind, []).append(asdict(cell))
    if given.out:
        given.out.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    with cleaned_up_on_signals():
        main()
