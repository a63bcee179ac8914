"""Runs ``tonnage company`` on simulated storages, as a user does, and holds its ratios against a simulation of its own.

That one knows the meaning of the model's keys and shares no code with the simulator: an operation of cost c (seconds of
the device at its plateau) that begins as one of N in flight takes N·c ÷ share(N), times a log-normal factor. Some tasks
always have an operation in flight; company begins operations in turn at fixed instants, each task one at a time.

A program of its own, so that the calibration can use every core: ``company_runs.py PART PARTS < cells.json`` prints one
JSON line a run.
"""

from __future__ import annotations

import contextlib
import heapq
import io
import json
import math
import random
import tempfile
from pathlib import Path
from statistics import fmean
from typing import Any

from probe_programs import print_rows
from tonnage.cli import main as tonnage

TASKS, COMPANY_TASKS = 8, 32
LEAD_S, JITTER = 0.25, 0.1
TRIALS = 60
"""Simulated here, on each side of a ratio of p99, as long as the command's."""
LONG_TRIALS, LONG_S = 3, 20.0
"""Of a ratio of throughput, which is that of a job: the time in which the queue of company fills is nothing there."""
PLATEAU, NAMES = 1e9, 20_000
COSTS = {"metadata-storm": 2.6 / NAMES, "stream-read": (1 << 20) / PLATEAU, "stream-write": (1 << 20) / PLATEAU}
"""Seconds of the device."""


def share(knee: int, in_flight: int) -> float:
    """Of the plateau, by the hinge of the model."""
    return min(1.0, 0.95 * in_flight / (knee - 0.5))


def trial(
    chance: random.Random, knee: int, cost_s: float, beside: tuple[float, float] | None, seconds: float,
    tasks: int = TASKS,
) -> tuple[float, float]:  # fmt: skip
    """Operations per second and p99 of the ``tasks`` that are measured; ``beside``: cost and rate of company."""
    in_flight, due = 0, list[tuple[float, int, int]]()
    waits: list[float] = []
    begun: dict[int, float] = {}
    turns = [0] * COMPANY_TASKS

    def begin(now: float, task: int, cost: float) -> None:
        nonlocal in_flight
        in_flight += 1
        begun[task] = now
        factor = math.exp(chance.gauss(-(JITTER**2) / 2, JITTER))
        heapq.heappush(due, (now + in_flight * cost / share(knee, in_flight) * factor, 1, task))

    def start_of(task: int) -> float:
        turn = turns[task - tasks] * COMPANY_TASKS + task - tasks
        return turn / beside[1] if beside else 0.0

    if beside is not None:
        for task in range(tasks, tasks + COMPANY_TASKS):
            heapq.heappush(due, (start_of(task), 0, task))
    starts = [(LEAD_S, 0, task) for task in range(tasks)]
    for one in starts:
        heapq.heappush(due, one)
    end, last = LEAD_S + seconds, LEAD_S
    # All tasks that are measured are in flight before any of their operations takes its time.
    waiting = tasks
    while due:
        now, ends, task = heapq.heappop(due)
        if task < tasks and not ends:
            waiting -= 1
            in_flight += 1
            if waiting == 0:
                in_flight -= tasks
                held = in_flight + tasks
                for own in range(tasks):
                    begun[own] = now
                    factor = math.exp(chance.gauss(-(JITTER**2) / 2, JITTER))
                    heapq.heappush(due, (now + held * cost_s / share(knee, held) * factor, 1, own))
                in_flight = held
            continue
        if ends:
            in_flight -= 1
            if task < tasks:
                waits.append(now - begun[task])
                last = now
                if now < end:
                    begin(now, task, cost_s)
                elif all(at[2] >= tasks for at in due):
                    break
            else:
                heapq.heappush(due, (max(now, start_of(task)), 0, task))
        elif beside is not None:
            turns[task - tasks] += 1
            begin(now, task, beside[0])
    waits.sort()
    return len(waits) / (last - LEAD_S), waits[max(math.ceil(0.99 * len(waits)) - 1, 0)]


def truth(cell: dict[str, Any], measured: str, company: str, offered: float, seconds: float) -> tuple[float, float]:
    """Throughput and p99 beside ÷ alone: geometric means over trials."""
    ratios = []
    for which, trials, length_s in ((0, LONG_TRIALS, LONG_S), (1, TRIALS, seconds)):
        found = []
        for beside in (None, (COSTS[company], offered)):
            chance = random.Random(f"{measured} {company} {beside is None}")
            several = (trial(chance, cell["knee"], COSTS[measured], beside, length_s) for _ in range(trials))
            found.append(fmean(math.log(one[which]) for one in several))
        ratios.append(math.exp(found[1] - found[0]))
    return ratios[0], ratios[1]


def run(cell: dict[str, Any], seed: int) -> dict[str, Any]:
    """One run: of each cell of its matrix both truths and both intervals."""
    target = f"sim:knee={cell['knee']},plateau=1GB/s,names={NAMES},noise={cell['noise']}{cell['more']}"
    with tempfile.TemporaryDirectory() as directory:
        out, said = Path(directory) / "run", io.StringIO()
        words = ["company", target, *cell["workloads"], "--share", cell["share"], "--budget", cell["budget"]]
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(io.StringIO()):
            code = tonnage([*words, "--seed", str(seed), "--json", "--no-report", "--out", str(out)])
        assert code == 0, said.getvalue()
        with (out / "trials.jsonl").open() as file:
            lines = [line for line in map(json.loads, file) if line["purpose"] == "measure"]
    costs = []
    for one in json.loads(said.getvalue())["company"]:
        own = [line for line in lines if line["setting"]["workload"] == one["workload"]]
        beside = [line["company"] for line in own if line["setting"].get("beside") == one["beside"]]
        seconds = own[0]["setting"]["time_limit_ns"] / 1e9
        offered = fmean(company["offered_operations_per_s"] for company in beside)
        rate, p99 = truth(cell, one["workload"], one["beside"].partition("@")[0], offered, seconds)
        told = {
            "workload": one["workload"],
            "beside": one["beside"],
            "reached": one["reached"],
            "blocks": one["blocks"],
        }
        costs.append({**told, "rate": {"truth": rate, **one["rate"]}, "p99": {"truth": p99, **one["p99"]}})
    return {"costs": costs}


if __name__ == "__main__":
    print_rows(run)
