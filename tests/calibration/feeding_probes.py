"""Runs ``tonnage run`` with ``[accelerators]`` on simulated storages, and holds the answers against another model of
accelerators (``feeding_model.py``).

A program of its own, so that the calibration can use every core: ``feeding_probes.py PART PARTS < cells.json`` prints
one JSON line a probe.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from feeding_model import Loader, most_fed
from probe_programs import print_rows, summary_of_campaign

MOST = 64
GB = 1e9


def drawn(cell: dict[str, Any], seed: int) -> tuple[Loader, float, int, float, int]:
    """A loader, the device's plateau and knee, the objective, and how many accelerators it feeds."""
    chance = random.Random(f"{cell['name']} {seed}")
    mean = 10 ** chance.uniform(5.3, 8)
    loader = Loader(
        readers=chance.choice((2, 4, 8)),
        batch=chance.choice((1, 4, 16)),
        prefetch=chance.choice((2, 4)),
        compute_s=10 ** chance.uniform(-1.3, -0.3),
        sample_bytes=float(round(mean)),
        spread_bytes=float(round(mean * cell["spread"])),
    )
    objective = chance.choice((0.7, 0.9, 0.95))
    wanted = chance.uniform(0.4, 40)
    knee = chance.choice((1, 4, 16))
    plateau = wanted * objective * loader.batch * loader.sample_bytes / loader.compute_s
    return loader, plateau, knee, objective, MOST


def rate_of(plateau: float, knee: int) -> Any:
    """The law of ``sim:knee=…``: 95 % of the plateau midway between the knee and the number before it."""
    return lambda reads: plateau * min(1.0, 0.95 * reads / (knee - 0.5)) if reads else 0.0


def probe(cell: dict[str, Any], seed: int) -> dict[str, Any]:
    """One probe: the truth, the interval, and whether it was claimed."""
    loader, plateau, knee, objective, most = drawn(cell, seed)
    truth = most_fed(loader, objective, rate_of(plateau, knee), most, cell["jitter"])
    target = f"sim:knee={knee},plateau={round(plateau)}B/s,noise={cell['noise']},jitter={cell['jitter']}{cell['more']}"
    text = f"""
target = "{target}"
seed = {seed}
[workload]
kind = "training"
sample_size = {round(loader.sample_bytes)}
sample_spread = {round(loader.spread_bytes)}
batch = {loader.batch}
readers = {loader.readers}
prefetch = {loader.prefetch}
compute = "{round(loader.compute_s * 1e9)}ns"
dataset = {round(loader.sample_bytes * 5000)}
[accelerators]
utilisation = {objective}
most = {most}
budget = "{cell["budget"]}"
"""
    (trained,) = summary_of_campaign(text)["training"]
    answer = trained["answer"]
    kept = {key: answer[key] for key in ("low", "high", "accelerators", "shown", "trials", "limit")}
    return {"truth": truth, **kept, "target": target}


if __name__ == "__main__":
    print_rows(probe)
