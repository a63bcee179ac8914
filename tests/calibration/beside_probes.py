"""Runs ``tonnage probe --beside`` on simulated storages, as a user does, and holds its load line against that of the
other simulation (``company_runs.py``) in trials of ``LONG_S``.

A program of its own, so that the calibration can use every core: ``beside_probes.py PART PARTS < cells.json`` prints
one JSON line a probe.
"""

from __future__ import annotations

import json
import sys
import tempfile
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from company_runs import COSTS, factors, trial
from memory_directory import in_memory
from probe_programs import print_rows, printed
from tonnage.analysis.load_line.estimate import WITHIN

MOST, LONG_S = 32, 20.0
MIB = 1 << 20


@cache
def truth(knee: int, offered: int) -> tuple[int, float]:
    """The smallest number of tasks within 5 % of the plateau, and that, in bytes per second."""
    cost_s = COSTS["stream-read"]
    drawn = factors(f"{knee} {offered}")
    rates = [trial(drawn, knee, cost_s, (cost_s, float(offered)), LONG_S, n)[0] for n in range(1, MOST + 1)]
    return next(n for n, rate in enumerate(rates, 1) if rate >= WITHIN * max(rates)), MIB * max(rates)


def probe(cell: dict[str, Any], seed: int) -> dict[str, Any]:
    """One probe: the truth, both intervals, and whether a line was claimed."""
    target = f"sim:knee={cell['knee']},plateau=1GB/s,noise={cell['noise']}{cell['more']}"
    with tempfile.TemporaryDirectory(dir=in_memory()) as directory:
        out = Path(directory) / "run"
        words = ["probe", target, "--op", "read", "--beside", f"stream-write@{cell['share']}"]
        words += ["--budget", cell["budget"], "--seed", str(seed), "--json", "--no-report", "--no-keep"]
        summary = json.loads(printed([*words, "--out", str(out)]))
        with (out / "trials.jsonl").open() as file:
            companies = [line["company"] for line in map(json.loads, file) if line.get("company")]
    offered = round(fmean(company["offered_operations_per_s"] for company in companies), -1)
    tasks, plateau = truth(cell["knee"], int(offered))
    (line,) = summary["load_lines"]
    keys = ("reached", "tasks", "tasks_low", "tasks_high", "plateau_low", "plateau_high")
    return {"truth": tasks, "true_plateau": plateau, **{key: line[key] for key in keys}}


if __name__ == "__main__":
    print_rows(probe)
