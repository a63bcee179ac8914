"""The phases of IO500: Tonnage against the benchmark's own program, interleaved.

``python bench/io500.py --io500 PATH [--disk DIRECTORY]``. Each round runs both once, in an order drawn anew, with the
same configuration; a ratio is of two runs of the same round. See ``bench/README.md``.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from child_processes import cleaned_up_on_signals, said_by
from round_medians import spread

HERE = Path(__file__).resolve().parent
CONFIG = """[global]
datadir = {place}/data
resultdir = {place}/results
[debug]
stonewall-time = {stonewall}
[ior-easy]
blockSize = {block}
[ior-hard]
segmentCount = {segments}
[mdtest-easy]
n = {files}
[mdtest-hard]
n = {files}
"""
_LINE = re.compile(r"^\[(?:RESULT| {6})\] +(\S+) +([0-9.]+) (\S+) : time", re.MULTILINE)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure the phases of IO500 against its own program.")
    parser.add_argument("--io500", type=Path, required=True, help="the benchmark's program")
    parser.add_argument("--mpiexec", default="mpiexec", help="what starts its processes, with its options")
    parser.add_argument("--rounds", type=int, default=6, help="runs of each in each cell (6 give 95 %%)")
    parser.add_argument("--tasks", type=int, nargs="+", default=[1, 2], help="numbers of ranks")
    parser.add_argument("--tmpfs", type=Path, default=Path("/dev/shm"), help="a directory on tmpfs")
    parser.add_argument("--disk", type=Path, help="also on this directory, on ext4 or XFS")
    parser.add_argument("--stonewall", type=int, default=30, help="seconds after which writes stop")
    parser.add_argument("--block", default="256m", help="bytes of each task in ior-easy at most")
    parser.add_argument("--segments", type=int, default=4000, help="segments of ior-hard at most")
    parser.add_argument("--files", type=int, default=10_000, help="files of each task at most")
    parser.add_argument("--seed", type=int, default=1, help="seed of the order")
    parser.add_argument("--out", type=Path, help="where the figures go, as JSON")
    return parser.parse_args()


def figures(command: list[str], given: argparse.Namespace, base: Path) -> dict[str, float]:
    """Of each phase, from the summary of a run in a directory of its own below ``base``, which goes again."""
    with tempfile.TemporaryDirectory(prefix="tonnage-io500-", dir=base) as directory:
        place = Path(directory)
        config = CONFIG.format(
            place=place, stonewall=given.stonewall, block=given.block, segments=given.segments, files=given.files
        )
        (place / "config.ini").write_text(config)
        done = said_by([*command, str(place / "config.ini")], place)
        found = list((place / "results").glob("*/result_summary.txt"))
        if len(found) != 1:
            raise RuntimeError(f"{' '.join(command)} left {len(found)} results:\n{done.stdout}{done.stderr}")
        return {name: float(value) for name, value, _ in _LINE.findall(found[0].read_text()) if name != "timestamp"}


def contenders(given: argparse.Namespace, tasks: int) -> dict[str, list[str]]:
    started = [*given.mpiexec.split(), "-n", str(tasks)]
    return {
        "io500": [*started, str(given.io500)],
        "tonnage": [str(HERE.parent / "tonnage"), "io500", "--tasks", str(tasks)],
    }


def cell(given: argparse.Namespace, base: Path, tasks: int, order: random.Random) -> dict[str, dict[str, list[float]]]:
    """Measures the figures of each phase of each contender, one a round."""
    found: dict[str, dict[str, list[float]]] = {"io500": {}, "tonnage": {}}
    for number in range(given.rounds):
        drawn = list(contenders(given, tasks).items())
        order.shuffle(drawn)
        for name, command in drawn:
            for phase, value in figures(command, given, base).items():
                found[name].setdefault(phase, []).append(value)
        print(f"round {number + 1} of {given.rounds}", file=sys.stderr)
    return found


def table(title: str, found: dict[str, dict[str, list[float]]]) -> Iterator[str]:
    yield f"\n### {title}\n"
    yield "| phase | io500 | tonnage | tonnage ÷ io500 | interval |"
    yield "|---|---:|---:|---:|---|"
    for phase, theirs in found["io500"].items():
        ours = found["tonnage"].get(phase, [])
        if not ours or not all(theirs) or len(ours) != len(theirs):
            yield f"| {phase} | {statistics.median(theirs):.4g} | not measured | | |"
            continue
        ratio = spread([one / other for one, other in zip(ours, theirs, strict=True)])
        values = f"{statistics.median(theirs):.4g} | {statistics.median(ours):.4g}"
        yield f"| {phase} | {values} | {ratio.median:.2f} | {ratio.low:.2f} – {ratio.high:.2f} |"


def main() -> None:
    given = arguments()
    order = random.Random(given.seed)
    kept: dict[str, dict[str, dict[str, list[float]]]] = {}
    os.environ.setdefault("OMPI_MCA_rmaps_base_oversubscribe", "1")
    places = {"tmpfs": given.tmpfs, **({"disk": given.disk} if given.disk else {})}
    for kind, base in places.items():
        for tasks in given.tasks:
            title = f"{kind}, {tasks} task{'s' if tasks > 1 else ''}"
            kept[title] = cell(given, base, tasks, order)
            print("\n".join(table(title, kept[title])), flush=True)
    if given.out:
        given.out.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    with cleaned_up_on_signals():
        main()
