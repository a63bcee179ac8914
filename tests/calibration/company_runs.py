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
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any

from memory_directory import in_memory
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


def factors(seed: str) -> Iterator[float]:
    """What the times of operations are multiplied by: log-normal, of mean 1. Written out, for millions are drawn: pairs
    of normal numbers as ``random.gauss`` makes them (Box and Muller 1958)."""
    uniform = random.Random(seed).random
    while True:
        angle = uniform() * math.tau
        radius = math.sqrt(-2 * math.log(1 - uniform()))
        yield math.exp(-(JITTER**2) / 2 + math.cos(angle) * radius * JITTER)
        yield math.exp(-(JITTER**2) / 2 + math.sin(angle) * radius * JITTER)


def trial(
    drawn: Iterator[float], knee: int, cost_s: float, beside: tuple[float, float] | None, seconds: float,
    tasks: int = TASKS,
) -> tuple[float, float]:  # fmt: skip
    """Operations per second and p99 of the ``tasks`` that are measured; ``beside``: cost and rate of company."""
    in_flight, due = 0, list[tuple[float, int, int]]()
    waits: list[float] = []
    begun = [0.0] * tasks
    turns = [0] * COMPANY_TASKS
    company_s, rate = beside or (0.0, math.inf)
    # How long an operation takes that begins as one of so many in flight, without its factor.
    own_s, other_s = (
        [0.0, *(n * cost / share(knee, n) for n in range(1, tasks + COMPANY_TASKS + 1))] for cost in (cost_s, company_s)
    )

    def start_of(task: int) -> float:
        return (turns[task - tasks] * COMPANY_TASKS + task - tasks) / rate

    if beside is not None:
        for task in range(tasks, tasks + COMPANY_TASKS):
            heapq.heappush(due, (start_of(task), 0, task))
    for task in range(tasks):
        heapq.heappush(due, (LEAD_S, 0, task))
    end, last = LEAD_S + seconds, LEAD_S
    # All tasks that are measured are in flight before any of their operations takes its time.
    waiting = tasks
    while due:
        now, ends, task = due[0]
        if task < tasks and ends:
            waits.append(now - begun[task])
            last = now
            if now < end:
                begun[task] = now
                heapq.heapreplace(due, (now + own_s[in_flight] * next(drawn), 1, task))
                continue
            in_flight -= 1
            heapq.heappop(due)
            if all(at[2] >= tasks for at in due):
                break
        elif task < tasks:
            heapq.heappop(due)
            waiting -= 1
            in_flight += 1
            if waiting == 0:
                begun = [now] * tasks
                for own in range(tasks):
                    heapq.heappush(due, (now + own_s[in_flight] * next(drawn), 1, own))
        elif ends:
            in_flight -= 1
            heapq.heapreplace(due, (max(now, start_of(task)), 0, task))
        else:
            turns[task - tasks] += 1
            in_flight += 1
            heapq.heapreplace(due, (now + other_s[in_flight] * next(drawn), 1, task))
    waits.sort()
    return len(waits) / (last - LEAD_S), waits[max(math.ceil(0.99 * len(waits)) - 1, 0)]


def truth(cell: dict[str, Any], measured: str, company: str, offered: float, seconds: float) -> tuple[float, float]:
    """Throughput and p99 beside ÷ alone: geometric means over trials."""
    ratios = []
    for which, trials, length_s in ((0, LONG_TRIALS, LONG_S), (1, TRIALS, seconds)):
        alone, beside = (
            logarithm(cell["knee"], measured, company, rate, (which, trials, length_s)) for rate in (None, offered)
        )
        ratios.append(math.exp(beside - alone))
    return ratios[0], ratios[1]


@cache
def logarithm(knee: int, measured: str, company: str, offered: float | None, of: tuple[int, int, float]) -> float:
    """Mean logarithm of throughput (0) or p99 (1) over so many trials of such a length, alone or beside company that is
    offered this rate. Alone it is the same for all seeds."""
    which, trials, length_s = of
    drawn = factors(f"{measured} {company} {offered is None}")
    beside = None if offered is None else (COSTS[company], offered)
    several = (trial(drawn, knee, COSTS[measured], beside, length_s) for _ in range(trials))
    return fmean(math.log(one[which]) for one in several)


def run(cell: dict[str, Any], seed: int) -> dict[str, Any]:
    """One run: of each cell of its matrix both truths and both intervals."""
    target = f"sim:knee={cell['knee']},plateau=1GB/s,names={NAMES},noise={cell['noise']}{cell['more']}"
    with tempfile.TemporaryDirectory(dir=in_memory()) as directory:
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
