"""How long the report of a run of a million trials takes, how much memory, and how large its page is.

``python bench/report.py [--rows N] [--tasks] [--keep DIR]``. The engine runs 96 settings (tasks, transfer size, access,
write and read) on the null storage. Its lines, with new figures, are then repeated: a plateau at eight tasks, noise
of 3 %. Series and histograms are not: a million files would measure the file system that they are on. With ``--tasks``
each trial has its lines in ``tasks.jsonl`` too, ten on average.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CAMPAIGN = """\
target = "null:"
seed = 1
[workload]
op = ["write", "read"]
tasks = [1, 2, 4, 8, 16, 32]
transfer_size = ["4KiB", "64KiB", "1MiB", "4MiB"]
access = ["sequential", "random"]
block_size = "8MiB"
time_limit = "2ms"
wrap = true
"""
ELAPSED_NS = 400_000_000
TASK_BYTES_PER_S = 400_000_000
KNEE_TASKS = 8
COMMAND = [sys.executable, "-m", "tonnage.cli"]
_FIGURES = (
    "trial", "repetition", "block", "first_start_ns", "last_start_ns", "first_done_ns", "last_done_ns", "elapsed_ns",
    "bytes", "operations", "bandwidth_bytes_per_s", "operations_per_s",
)  # fmt: skip
_LATENCIES = ("min_ns", "mean_ns", "p50_ns", "p90_ns", "p99_ns", "p999_ns", "max_ns")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="The report of a run of very many trials.")
    parser.add_argument("--rows", type=int, default=1_000_000, help="lines of trials.jsonl")
    parser.add_argument("--tasks", action="store_true", help="a line for each task of each trial besides")
    parser.add_argument("--keep", type=Path, help="where to leave the run (default: nowhere)")
    return parser.parse_args()


def make(run: Path, rows: int, *, with_tasks: bool = False, seed: int = 1) -> None:
    """Makes a run directory of so many trials."""
    with tempfile.TemporaryDirectory(dir=run.parent) as place:
        campaign, real = Path(place, "campaign.toml"), Path(place, "run")
        campaign.write_text(CAMPAIGN)
        subprocess.run(
            [*COMMAND, "run", str(campaign), "--out", str(real)],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        run.mkdir()
        shutil.copy(real / "manifest.json", run)
        lines = (json.loads(line) for line in (real / "trials.jsonl").read_text().splitlines())
        measured = [line for line in lines if line["purpose"] == "measure" and line["repetition"] == 0]
        working = task_templates(real) if with_tasks else {}
    (run / "events.jsonl").touch()
    with (run / "trials.jsonl").open("w") as file, (run / "tasks.jsonl").open("w") as tasks:
        for line, text, known in repeated(measured, rows, seed):
            file.write(text)
            tasks.writelines(task % known for task in working.get(line["record"], ()))


def task_templates(run: Path) -> dict[str, list[str]]:
    """Returns the lines of each record's tasks as text, with places for the record."""
    found: dict[str, list[str]] = {}
    for line in (json.loads(line) for line in (run / "tasks.jsonl").read_text().splitlines()):
        marked = {**line, "trial": "@trial@", "record": "@record@"}
        text = json.dumps(marked, separators=(",", ":")).replace("%", "%%").replace('"@trial@"', "%(trial)d")
        named = text.replace('"@record@"', f'"%(trial)04d-{line["phase"]}"')
        found.setdefault(line["record"], []).append(f"{named}\n")
    return found


def repeated(lines: list[dict[str, Any]], rows: int, seed: int) -> Iterator[tuple[dict[str, Any], str, dict[str, int]]]:
    """Lines in randomised blocks, with what they are made of: each block has every setting once."""
    templates = [(line, template(line)) for line in lines]
    chance = random.Random(seed)
    for trial in range(rows):
        block, place = divmod(trial, len(templates))
        if place == 0:
            chance.shuffle(templates)
        line, text = templates[place]
        known = figures(line["setting"], trial, block, chance)
        yield line, text % known, known


def template(line: dict[str, Any]) -> str:
    """Returns the line as text, with a place for each figure."""
    marked = {**line, "record": "@record@", **{key: f"@{key}@" for key in _FIGURES}}
    marked["latency"] = {"count": "@operations@", **{key: f"@latency_{key}@" for key in _LATENCIES}}
    text = json.dumps(marked, separators=(",", ":")).replace("%", "%%")
    text = text.replace('"@record@"', f'"%(trial)04d-{line["phase"]}"')
    return re.sub(r'"@(\w+)@"', r"%(\1)d", text) + "\n"


def figures(setting: dict[str, Any], trial: int, block: int, chance: random.Random) -> dict[str, int]:
    """What a storage with a plateau at eight tasks would have given."""
    tasks, size = setting["tasks"], setting["transfer_size"]
    elapsed_ns = ELAPSED_NS + chance.randrange(1_000_000)
    rate = min(tasks, KNEE_TASKS) * TASK_BYTES_PER_S * (0.95 + 0.1 * chance.random())
    operations = max(1, int(rate * elapsed_ns / 10**9) // size)
    start_ns, middle_ns = trial * 10**9, tasks * elapsed_ns // operations
    return {
        "trial": trial, "repetition": block, "block": block, "first_start_ns": start_ns,
        "last_start_ns": start_ns + 20_000, "first_done_ns": start_ns + elapsed_ns - 30_000,
        "last_done_ns": start_ns + elapsed_ns, "elapsed_ns": elapsed_ns, "operations": operations,
        "bytes": operations * size, "bandwidth_bytes_per_s": operations * size * 10**9 // elapsed_ns,
        "operations_per_s": operations * 10**9 // elapsed_ns,
        **{f"latency_{key}": middle_ns * (1 + at * at) // 5 for at, key in enumerate(_LATENCIES)},
    }  # fmt: skip


def measure(run: Path) -> dict[str, float]:
    """Measures the seconds, processor seconds and the most memory of ``tonnage report RUN``, and the size of its
    page."""
    began = time.monotonic()
    process = subprocess.Popen([*COMMAND, "report", str(run)], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"tonnage report ended with {process.returncode}")
    return {
        "elapsed_s": round(time.monotonic() - began, 2),
        "cpu_s": round(usage.ru_utime + usage.ru_stime, 2),
        "memory_mib": round(usage.ru_maxrss / 1024),
        "page_bytes": (run / "report.html").stat().st_size,
        **{f"{name}_bytes": (run / f"{name}.jsonl").stat().st_size for name in ("trials", "tasks")},
    }


def main() -> None:
    asked = arguments()
    with tempfile.TemporaryDirectory(dir=asked.keep.parent if asked.keep else None) as place:
        run = asked.keep or Path(place, "run")
        make(run, asked.rows, with_tasks=asked.tasks)
        print(json.dumps({"rows": asked.rows, **measure(run)}))


if __name__ == "__main__":
    main()
