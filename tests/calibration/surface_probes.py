"""Runs ``tonnage probe --surface`` on simulated storages, as a user does, and holds the answers against the models' own
load lines, which are computed here from the meaning of their keys.

A program of its own, so that the calibration can use every core: ``surface_probes.py PART PARTS < cells.json`` prints
one JSON line a probe.
"""

from __future__ import annotations

import json
import random
import tempfile
from typing import Any

from memory_directory import in_memory
from probe_programs import print_rows, printed

MAX_TASKS = 32


def model_of(cell: dict[str, Any], seed: int) -> dict[str, Any]:
    """Keys of a model, drawn so that the load lines of its sizes are spread over the tasks that may be used."""
    chance = random.Random(f"{cell['kind']} {seed}")
    call_s = 10 ** chance.uniform(-4.3, -2.7)
    speed = 10 ** chance.uniform(7.5, 9.3)
    found = {
        "call": f"{round(call_s * 1e9)}ns",
        "task-speed": f"{round(speed)}B/s",
        "plateau": f"{round(speed * chance.uniform(1.3, 30))}B/s",
        "operations": round(chance.uniform(1.3, 30) / call_s),
    }
    if cell["kind"] == "smooth":
        found["shape"] = "smooth"
    if cell["kind"] == "stripe":
        found |= {
            "stripe": f"{1 << chance.randrange(17, 23)}",
            "stripe-gain": chance.choice((0.3, 0.5, 2, 4)),
        }
    return found


def truth(model: dict[str, Any], transfer_size: int) -> int:
    """The smallest number of tasks within 5 % of the most that up to ``MAX_TASKS`` reach."""
    call_s, speed = int(model["call"][:-2]) / 1e9, int(model["task-speed"][:-3])
    plateau = int(model["plateau"][:-3])
    if "stripe" in model and transfer_size >= int(model["stripe"]):
        plateau = int(plateau * model["stripe-gain"])
    plateau = min(plateau, model["operations"] * transfer_size)
    alone = transfer_size / (call_s + transfer_size / speed)

    def rate(tasks: int) -> float:
        asked = tasks * alone
        return (asked**-4 + float(plateau) ** -4) ** -0.25 if model.get("shape") == "smooth" else min(asked, plateau)

    most = max(map(rate, range(1, MAX_TASKS + 1)))
    return next(tasks for tasks in range(1, MAX_TASKS + 1) if rate(tasks) >= 0.95 * most)


def probe(cell: dict[str, Any], seed: int) -> dict[str, Any]:
    """One probe: of each size the truth, its interval, and whether it was claimed."""
    model = model_of(cell, seed)
    target = (
        "sim:" + ",".join(f"{key}={value}" for key, value in model.items()) + f",noise={cell['noise']}{cell['more']}"
    )
    with tempfile.TemporaryDirectory(dir=in_memory()) as directory:
        argv = ["probe", target, "--surface", "--op", "write", "--seed", str(seed), "--json", "--no-report"]
        argv += ["--max-tasks", str(MAX_TASKS), "--budget", cell["budget"], "--out", f"{directory}/run"]
        (surface,) = json.loads(printed(argv))["surfaces"]
    sizes = [
        {
            "truth": truth(model, one["transfer_size"]),
            "low": one["tasks_low"],
            "high": one["tasks_high"],
            "reached": one["reached"],
        }
        for one in surface["sizes"]
    ]
    return {"trials": surface["trials"], "sizes": sizes, "target": target}


if __name__ == "__main__":
    print_rows(probe)
