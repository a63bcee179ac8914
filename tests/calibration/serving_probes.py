"""Runs ``tonnage run`` with ``[users]`` on simulated storages, and holds the answers against another model of users
(``serving_model.py``).

A program of its own, so that the calibration can use every core: ``serving_probes.py PART PARTS < cells.json`` prints
one JSON line a probe.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from probe_programs import print_rows, summary_of_campaign
from serving_model import Conversations, most_served

MOST = 64


def drawn(cell: dict[str, Any], seed: int) -> tuple[Conversations, float, int, float]:
    """Users, the device's plateau and knee, and the objective: between 3 and 40 users fill the device."""
    chance = random.Random(f"{cell['name']} {seed}")
    talk = Conversations(
        turns=chance.choice((4, 8, 16)),
        turn_bytes=float(4096 * round(10 ** chance.uniform(1, 3))),
        think_s=chance.uniform(0.1, 1.0),
    )
    users, knee = chance.uniform(3, 40), chance.choice((1, 2, 4))
    plateau = users * (talk.turns + 1) / 2 * talk.turn_bytes / talk.think_s
    # So long the longest turn takes of one who is alone, and some times that.
    alone_s = talk.turns * talk.turn_bytes / rate_of(plateau, knee)(1)
    return talk, plateau, knee, alone_s * chance.uniform(1.3, 4)


def rate_of(plateau: float, knee: int) -> Any:
    """The law of ``sim:knee=…``: 95 % of the plateau midway between the knee and the number before it."""
    return lambda there: plateau * min(1.0, 0.95 * there / (knee - 0.5)) if there else 0.0


def probe(cell: dict[str, Any], seed: int) -> dict[str, Any]:
    """One probe: the truth, the interval, and whether it was claimed."""
    talk, plateau, knee, objective_s = drawn(cell, seed)
    budget_s = cell["budgets"] * 40 * talk.think_s
    trial_s = max(40 * talk.think_s, 1, budget_s / 24)
    truth = most_served(talk, objective_s, rate_of(plateau, knee), MOST, cell["jitter"], trial_s)
    target = f"sim:knee={knee},plateau={round(plateau)}B/s,noise={cell['noise']},jitter={cell['jitter']}{cell['more']}"
    text = f"""
target = "{target}"
seed = {seed}
[workload]
kind = "kv-cache"
token_size = {round(talk.turn_bytes)}
turn_tokens = 1
context = {talk.turns}
think = "{round(talk.think_s * 1e9)}ns"
[users]
p95 = "{round(objective_s * 1e9)}ns"
most = {MOST}
budget = "{round(budget_s * 1e9)}ns"
"""
    (served,) = summary_of_campaign(text)["kv_cache"]
    answer = served["answer"]
    kept = {key: answer[key] for key in ("low", "high", "users", "shown", "trials", "limit")}
    return {"truth": truth, **kept, "target": target}


if __name__ == "__main__":
    print_rows(probe)
