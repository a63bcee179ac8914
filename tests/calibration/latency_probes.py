"""Runs ``tonnage probe`` with a latency objective on simulated storages, as a user does, and holds the answers against
the models' own percentiles.

A program of its own, so that the calibration can use every core: ``latency_probes.py PART PARTS < cells.json`` prints
one JSON line a probe, of every PARTS-th cell: the truth takes longer than the probes, and is one for all of a cell's
seeds. The truth of a number of tasks, or of an offered rate, is the percentile of one trial of 20 virtual seconds (of
rates 5) of the same model without noise between trials: the median over trials where the noise has median 1.
"""

from __future__ import annotations

import json
import math
import os
import random
import sys
import tempfile
from functools import lru_cache
from typing import Any

from tonnage import _native

from .memory_directory import in_memory
from .probe_programs import printed
from .simulate import run_phase

MAX_TASKS = 32
TRUTH_SECONDS, RATE_SECONDS = 20.0, 5.0
"""Of tasks, and of rates, of which many are tried."""
NOISES = ("noise", "noise-growth", "tails", "correlation", "outliers", "outlier-speed")
"""Keys of a model that change from trial to trial, and are left out of the truth."""
CLEAR = 0.01
"""An objective is this far (logarithm) from the latency of any number of tasks: which side of it a latency is on cannot
be known where the two are equal."""


@lru_cache(maxsize=4096)
def truth_ns(model: str, percentile: str, tasks: int, rate: int | None = None) -> int:
    """The percentile of a long trial without noise between trials."""
    from tonnage.campaign.target import parse_target

    quiet = ",".join(key for key in model.split(",") if key.partition("=")[0] not in NOISES)
    (spec,) = parse_target(f"sim:{quiet}").models
    geometry = {"transfer_size": 1 << 20, "block_size": 1 << 30, "layout": "file-per-task", "access": "sequential"}
    phase = {
        "record": "0000-write",
        "tasks": {"first": 0, "here": tasks, "total": tasks},
        "limit": {"time_ns": int((RATE_SECONDS if rate else TRUTH_SECONDS) * 1e9), "wrap": True},
        "seed": 1,
        "work": {"kind": "stream", "op": "write", "geometry": geometry, "durability": "none", "cache": "keep"},
    }
    if rate is not None:
        phase["pace"] = {"bytes_per_s": rate}
    result = run_phase(_native.Target(json.dumps({"kind": "sim", "seed": 0, **spec})), phase)
    found: int = result["latency"][percentile]
    return found


def objective_ns(model: str, percentile: str, seed: int) -> int:
    """One that some number of tasks meets, clear of all of them."""
    chance = random.Random(f"{model} {percentile} {seed}")
    known = [truth_ns(model, percentile, tasks) for tasks in range(1, MAX_TASKS + 1)]
    while True:
        objective = round(chance.choice(known) * math.exp(chance.uniform(-0.1, 0.1)))
        if all(abs(math.log(value / objective)) > CLEAR for value in known):
            return objective


def probe(model: str, seed: int, *options: str) -> dict[str, Any]:
    """The load line of ``--json``."""
    with tempfile.TemporaryDirectory(dir=in_memory()) as directory:
        argv = ["probe", f"sim:{model}", "--op", "write", "--seed", str(seed), "--json", "--no-report"]
        argv += ["--max-tasks", str(MAX_TASKS), "--out", f"{directory}/run", *options]
        (line,) = json.loads(printed(argv))["load_lines"]
        return dict(line)


def of_tasks(model: str, percentile: str, seed: int) -> dict[str, Any]:
    """One probe, and whether its interval holds the truth: the largest number of tasks up to which all meet the
    objective, and the largest that does at all."""
    objective = objective_ns(model, percentile, seed)
    met = [truth_ns(model, percentile, tasks) <= objective for tasks in range(1, MAX_TASKS + 1)]
    below = met.index(False) if False in met else MAX_TASKS
    largest = max((n for n, meets in enumerate(met, 1) if meets), default=0)
    (found,) = probe(model, seed, f"--{percentile.removesuffix('_ns')}", f"{objective}ns")["latency_lines"]
    high = found["high"] if found["high"] is not None else MAX_TASKS
    return {
        "model": model,
        "percentile": percentile,
        "shown": found["shown"],
        "truth": [below, largest],
        "covers": found["low"] <= below and largest <= high,
        "answer": [found["low"], found["largest"], high],
        "width": (high + 1) / max(found["low"], 1),
        "trials": found["trials"],
        "why": found["why"],
    }


def of_rates(model: str, percentile: str, seed: int) -> dict[str, Any]:
    """The same of offered rates, at the number of tasks that the probe chose. The truth is bisected to 1 %."""
    chance = random.Random(f"{model} {percentile} {seed}")
    objective = round(truth_ns(model, percentile, 1) * chance.choice((1.3, 1.6, 2.0, 3.0)))
    options = (f"--{percentile.removesuffix('_ns')}", f"{objective}ns", "--open-loop")
    line = probe(model, seed, *options)
    (found,) = line["latency_lines"]
    low, high = 2e7, 4e9
    while high / low > 1.01:
        middle = math.sqrt(low * high)
        meets = truth_ns(model, percentile, found["tasks"], round(middle)) <= objective
        low, high = (middle, high) if meets else (low, middle)
    most = found["high"] if found["high"] is not None else math.inf
    return {
        "model": model,
        "percentile": percentile,
        "shown": found["shown"],
        "truth": [low, high],
        "covers": found["low"] <= high and low <= most,
        "answer": [found["low"], found["largest"], found["high"]],
        "width": most / max(found["low"], 1),
        "trials": found["trials"],
        "why": found["why"],
    }


def main() -> None:
    os.environ["XDG_STATE_HOME"] = tempfile.gettempdir()
    part, parts = int(sys.argv[1]), int(sys.argv[2])
    for cell in json.load(sys.stdin)[part::parts]:
        for seed in range(cell["seeds"]):
            of = of_rates if cell["open_loop"] else of_tasks
            row = of(cell["model"], cell["percentile"], seed)
            print(json.dumps({**row, "open_loop": cell["open_loop"]}), flush=True)


if __name__ == "__main__":
    main()
