"""What placement's policies make of a million jobs on a model of a large site.

``python bench/placement_scale.py [--quick]``. Each seed draws other jobs; every policy has the same ones. The decisions
are those of ``tonnage submit``, by the same functions. See ``bench/README.md``.
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

# The checkout's own package, wherever the interpreter comes from.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

from placement_site import POLICIES, World, draw_jobs, simulate
from run import host_facts, machine_name
from spread import spread

HERE = Path(__file__).resolve().parent
COLUMNS = (
    ("makespan, s", "makespan_s", "{:,.0f}"),
    ("mean wait, s", "mean_wait_s", "{:,.0f}"),
    ("p95 wait, s", "p95_wait_s", "{:,.0f}"),
    ("mean slowdown", "mean_slowdown", "{:,.1f}"),
    ("p95 slowdown", "p95_slowdown", "{:,.1f}"),
    ("beside its data", "near_share", "{:.0%}"),
    ("most on a server", "most_on_server", "{:,.0f}"),
)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Compare placement's policies on a model of a large site.")
    parser.add_argument("--jobs", type=int, default=1_000_000)
    parser.add_argument("--hosts", type=int, default=10_000)
    parser.add_argument("--servers", type=int, default=500)
    parser.add_argument("--load", type=float, default=0.6, help="share of all devices' plateaus that the jobs ask for")
    parser.add_argument("--seeds", type=int, default=3, help="how many draws of jobs")
    parser.add_argument("--quick", action="store_true", help="a hundredth of the jobs; writes nothing")
    parser.add_argument("--machine", help="name of this machine in the results (default: from its CPU)")
    parser.add_argument("--out", type=Path, default=HERE / "results", help="where the results' directory is made")
    return parser.parse_args()


def main() -> int:
    asked = arguments()
    world, jobs = World(servers=asked.servers, hosts=asked.hosts), asked.jobs
    if asked.quick:
        world, jobs = World(servers=20, hosts=400), 20_000
    outcomes: list[dict[str, Any]] = []
    for seed in range(1, asked.seeds + 1):
        drawn = draw_jobs(world, jobs, seed=seed, load=asked.load)
        for policy in POLICIES:
            began = time.monotonic()
            outcome = asdict(simulate(world, drawn, policy, seed=seed))
            outcomes.append(outcome | {"seed": seed, "run_s": time.monotonic() - began})
            print(f"seed {seed}, {policy}: {outcomes[-1]['run_s']:.0f} s", file=sys.stderr, flush=True)
    text = page(asked, world, jobs, outcomes)
    print(text)
    if not asked.quick:
        name = asked.machine or machine_name(host_facts())
        place = asked.out / f"{datetime.date.today():%Y-%m-%d}-{name}"
        place.mkdir(parents=True, exist_ok=True)
        facts = {"host": host_facts(), "world": asdict(world), "load": asked.load, "outcomes": outcomes}
        (place / "placement_scale.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
        (place / "placement_scale.md").write_text(text, encoding="utf-8")
    return 0


def page(asked: argparse.Namespace, world: World, jobs: int, outcomes: list[dict[str, Any]]) -> str:
    """A row a policy: the median of the seeds, with their range."""
    model = (
        f"On the model of `placement_site`, in virtual time: {world.beside} hosts of {world.slots} slots "
        f"beside each server, a load line of {world.line} tasks at {world.single_bytes_per_s / 1e6:g} MB/s each, a "
        f"link of {world.link_bytes_per_s / 1e9:g} GB/s a server, jobs that ask for {asked.load:.0%} of all devices in "
        f"bursts. {asked.seeds} draws of jobs; medians with the range."
    )
    lines = [
        f"# Placement at scale: {jobs:,} jobs, {world.hosts:,} hosts, {world.servers:,} servers",
        "",
        model,
        "",
        f"| policy | {' | '.join(title for title, _, _ in COLUMNS)} | run, s |",
        f"|---|{'---|' * (len(COLUMNS) + 1)}",
    ]
    for policy in POLICIES:
        mine = [outcome for outcome in outcomes if outcome["policy"] == policy]
        cells = [quoted([outcome[key] for outcome in mine], form) for _, key, form in COLUMNS]
        lines.append(f"| {policy} | {' | '.join(cells)} | {quoted([outcome['run_s'] for outcome in mine], '{:.0f}')} |")
    return "\n".join([*lines, ""])


def quoted(values: list[float], form: str) -> str:
    """Median [low, high]; one figure where all look the same."""
    found = spread(values)
    low, high = form.format(found.low), form.format(found.high)
    return low if low == high else f"{form.format(found.median)} [{low}, {high}]"


if __name__ == "__main__":
    sys.exit(main())
