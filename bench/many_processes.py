"""What many processes cost: their start, and the barrier and collection of each trial, beside IOR under one mpiexec.

``python bench/many_processes.py [--quick] [--ior PATH]``; writes ``many.md`` and ``many.json`` below ``bench/results``.
``python bench/many_processes.py --page RESULTS`` puts the table of such a ``many.json`` into ``docs/scale.md``.
"""

from __future__ import annotations

import argparse
import compileall
import datetime
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from child_processes import cleaned_up_on_signals, said_by
from run import host_facts, machine_name

HERE = Path(__file__).resolve().parent
PACKAGE = HERE.parent / "python"
PAGE = HERE.parent / "docs" / "scale.md"
BEGIN, END = "<!-- measured: made by python bench/many_processes.py --page -->\n", "<!-- end of measured -->\n"
TRIALS = 9
EXTENDED = (4_608, 100_000)
CAMPAIGN = f"""
name = "many"
target = "null:"
order = "given"
[workload]
op = "write"
tasks = %d
block_size = "64MiB"
transfer_size = "64KiB"
time_limit = "200ms"
wrap = true
[repeat]
count = {TRIALS}
"""


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure what many processes cost, beside IOR.")
    parser.add_argument("--ranks", type=int, nargs="*", default=[2, 4, 8, 16, 32, 64, 128, 256])
    parser.add_argument("--rounds", type=int, default=3, help="runs at each number of ranks")
    parser.add_argument("--ior", help="the ior to run (default: the one on PATH)")
    parser.add_argument("--mpiexec", default="mpiexec")
    parser.add_argument(
        "--quick", action="store_true", help="2, 4 and 8 ranks once: to see that it works, not to quote"
    )
    parser.add_argument("--machine", help="name of this machine in the results (default: from its CPU)")
    parser.add_argument(
        "--page", type=Path, metavar="RESULTS", help="measure nothing; put a many.json into docs/scale.md"
    )
    parser.add_argument("--out", type=Path, help="where the results go (default: bench/results/<date>-<machine>)")
    given = parser.parse_args()
    if given.quick:
        given.ranks, given.rounds = [2, 4, 8], 1
    return given


def environment() -> dict[str, str]:
    """More ranks than processors; whoever runs this may be root in a container."""
    return {
        **os.environ,
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        # IOR waits inside MPI: without this it would be measured at its worst.
        "OMPI_MCA_mpi_yield_when_idle": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "PYTHONPATH": str(PACKAGE),
    }


def ours(mpiexec: str, ranks: int, place: Path) -> dict[str, Any]:
    """Measures one run: seconds to the first phase and in all, and the figures of its trials in nanoseconds."""
    (place / "many.toml").write_text(CAMPAIGN % ranks)
    run = Path(tempfile.mkdtemp(dir=place))
    command = [mpiexec, "-n", str(ranks), sys.executable, "-m", "tonnage.cli", "run", "many.toml"]
    began_ns, began = time.time_ns(), time.monotonic()
    said = said_by([*command, "--out", str(run), "--no-report"], place)
    took = time.monotonic() - began
    if said.returncode:
        raise RuntimeError(f"tonnage with {ranks} ranks ended with {said.returncode}:\n{said.stderr}")
    lines = [json.loads(line) for line in (run / "trials.jsonl").read_text().splitlines()]
    first_ns = datetime.datetime.fromisoformat(lines[0]["started"].replace("Z", "+00:00")).timestamp() * 1e9
    met = [line["ensemble"] for line in lines]
    starts = [datetime.datetime.fromisoformat(line["started"].replace("Z", "+00:00")).timestamp() for line in lines]
    around = [
        round((after - before) * 1e9) - line["elapsed_ns"]
        for before, after, line in zip(starts, starts[1:], lines, strict=False)
    ]
    return {
        "start_s": (first_ns - began_ns) / 1e9,
        "all_s": took,
        "trial_ns": around,
        **{key: [one[key] for one in met] for key in ("barrier_ns", "skew_ns", "gather_ns")},
    }


def theirs(mpiexec: str, ior: str, ranks: int, place: Path) -> dict[str, Any]:
    """One run of IOR on its DUMMY backend, with one write of a transfer a repetition: seconds to its first line of
    results and in all, and what a repetition costs around that write, in nanoseconds."""
    words = ["-a", "DUMMY", "-w", "-t", "64k", "-b", "64k", "-i", str(TRIALS)]
    began = time.monotonic()
    said = said_by([mpiexec, "-n", str(ranks), ior, *words, "-o", "f"], place)
    took = time.monotonic() - began
    if said.returncode:
        raise RuntimeError(f"IOR with {ranks} ranks ended with {said.returncode}:\n{said.stderr}")
    # A phase of it is barriers, reductions and a call that does nothing: `total(s)`, the tenth column, is their cost.
    rows = [line.split() for line in said.stdout.splitlines()]
    phases = [row for row in rows if len(row) == 11 and row[0] == "write"]
    return {"all_s": took, "trial_ns": [round(float(row[9]) * 1e9) for row in phases]}


def fit(ranks: Sequence[int], values: Sequence[float]) -> tuple[float, float]:
    """Fits value = a + b·log2(ranks) by least squares."""
    steps = [math.log2(count) for count in ranks]
    mean_x, mean_y = statistics.fmean(steps), statistics.fmean(values)
    spread = sum((x - mean_x) ** 2 for x in steps) or 1.0
    slope = sum((x - mean_x) * (y - mean_y) for x, y in zip(steps, values, strict=True)) / spread
    return mean_y - slope * mean_x, slope


def row(ranks: int, runs: Sequence[dict[str, Any]], peers: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Medians over all trials of all runs."""
    found: dict[str, Any] = {"ranks": ranks}
    found |= {key: statistics.median(run[key] for run in runs) for key in ("start_s", "all_s")}
    for key in ("trial_ns", "barrier_ns", "skew_ns", "gather_ns"):
        found[key] = statistics.median(value for run in runs for value in run[key])
    if peers:
        found["ior_all_s"] = statistics.median(run["all_s"] for run in peers)
        found["ior_trial_ns"] = statistics.median(value for run in peers for value in run["trial_ns"])
    return found


def markdown(rows: Sequence[dict[str, Any]], facts: dict[str, Any]) -> str:
    """A table, and the fits over log2(ranks)."""
    lines = [
        f"# Many processes on one machine: {facts['cpu_model']}, {facts['cpu_count']} processors",
        "",
        "Medians. Start: from `mpiexec` to the first phase. Barrier: of those that take part, on the first process.",
        "Collection: from the last task's end until all shares were merged. Around a trial: all that is not its phase.",
        "IOR: a repetition on its DUMMY backend, one call a task, with barriers and reductions; start and end in all.",
        "",
        "| ranks | start | all | barrier | skew, bound | collection | around a trial | IOR, all | IOR, a repetition |",
        "|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for one in rows:
        peer = [
            f"{one['ior_all_s']:.1f} s" if "ior_all_s" in one else "–",
            f"{one['ior_trial_ns'] / 1e6:.2f} ms" if "ior_all_s" in one else "–",
        ]
        ms = [f"{one[key] / 1e6:.2f} ms" for key in ("barrier_ns", "skew_ns", "gather_ns", "trial_ns")]
        cells = [str(one["ranks"]), f"{one['start_s']:.1f} s", f"{one['all_s']:.1f} s", *ms, *peer]
        lines.append(f"| {' | '.join(cells)} |")
    if len(rows) > 2:
        ranks = [one["ranks"] for one in rows]
        lines += [
            "",
            f"Of the form a + b·log2(ranks), extended to {EXTENDED[0]:,} and {EXTENDED[1]:,} ranks (a model):",
            "",
        ]
        for key, name in (("barrier_ns", "barrier"), ("gather_ns", "collection")):
            base, slope = fit(ranks, [one[key] / 1e6 for one in rows])
            far = ", ".join(f"{base + slope * math.log2(count):.1f} ms" for count in EXTENDED)
            lines.append(f"- {name}: {base:.2f} ms + {slope:.2f} ms · log2(ranks); {far}")
    return "\n".join(lines) + "\n"


def on_page(record: dict[str, Any], measured: str) -> str:
    """What ``docs/scale.md`` shows of a record: both programs under one launcher, with the date of its directory."""
    facts = record["host"]
    head = ["processes", "until the first phase", "whole run, 9 trials", "IOR, whole run of 9"]
    head += ["barrier", "collection", "around a trial", "IOR, a repetition"]
    lines = [
        f"{measured}, {facts['cpu_model']}, {facts['cpu_count']} processors, {record['mpi']}. Medians.",
        "IOR is on its DUMMY backend: a repetition is its barriers and reductions around calls that do nothing.",
        "",
        f"| {' | '.join(head)} |",
        f"|{'--:|' * len(head)}",
    ]
    for one in record["rows"]:
        theirs_all = f"{one['ior_all_s']:.1f} s" if "ior_all_s" in one else "–"
        theirs_trial = f"{one['ior_trial_ns'] / 1e6:.2f} ms" if "ior_all_s" in one else "–"
        ms = [f"{one[key] / 1e6:.1f} ms" for key in ("barrier_ns", "gather_ns", "trial_ns")]
        cells = [str(one["ranks"]), f"{one['start_s']:.1f} s", f"{one['all_s']:.1f} s", theirs_all, *ms, theirs_trial]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def put_on_page(results: Path) -> None:
    """Replaces the table in ``docs/scale.md``."""
    measured = "-".join(results.resolve().parent.name.split("-")[:3])
    before, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(before + BEGIN + on_page(json.loads(results.read_text()), measured) + END + rest.partition(END)[2])


def main() -> None:
    given = arguments()
    if given.page:
        put_on_page(given.page)
        return
    # As installed: hundreds of processes that each compile the package first would measure the compiler.
    compileall.compile_dir(str(PACKAGE), quiet=1)
    os.environ.update(environment())
    mpiexec = shutil.which(given.mpiexec)
    if mpiexec is None:
        sys.exit(f"{given.mpiexec} is not installed")
    ior = shutil.which(given.ior or "ior")
    rows, raw = [], []
    with cleaned_up_on_signals(), tempfile.TemporaryDirectory(prefix="tonnage-many-") as name:
        for ranks in given.ranks:
            runs, peers = [], []
            for _ in range(given.rounds):
                runs.append(ours(mpiexec, ranks, Path(name)))
                peers += [theirs(mpiexec, ior, ranks, Path(name))] if ior else []
            rows.append(row(ranks, runs, peers))
            raw.append({"ranks": ranks, "tonnage": runs, "ior": peers})
            print(json.dumps(rows[-1]), flush=True)
    facts = host_facts()
    text = markdown(rows, facts)
    print(text)
    if given.quick:
        return
    machine = given.machine or machine_name(facts)
    out = given.out or HERE / "results" / f"{datetime.date.today()}-{machine}"
    out.mkdir(parents=True, exist_ok=True)
    mpi = subprocess.run([mpiexec, "--version"], capture_output=True, text=True, check=False).stdout.splitlines()[0]
    record = {"host": facts, "mpi": mpi, "load": os.getloadavg(), "rows": rows, "runs": raw}
    (out / "many.json").write_text(json.dumps(record, indent=1) + "\n")
    (out / "many.md").write_text(text)


if __name__ == "__main__":
    main()
