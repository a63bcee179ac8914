"""What placement's policies make of a month of a million jobs on a model of a large site.

``python bench/placement_scale.py [--quick]``. Each seed draws another site and other jobs; every policy has the same
ones. The decisions are those of ``tonnage submit``, by the same functions. See ``bench/README.md``.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

# The checkout's own package, wherever the interpreter comes from.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

from placement_scale_page import page, write_page
from placement_site import POLICIES, Race, draw_jobs, draw_site
from placement_site.decision import ASKED_AT_S, timed
from placement_site.figures import day_of, drawn_servers
from placement_site.outcome import outcome_of
from placement_site.policies import Near
from run import host_facts, machine_name

HERE = Path(__file__).resolve().parent
NAME = "placement_scale"
TIMED = "near, caps"
"""The policy of which decisions are timed: what ``tonnage submit`` does."""
QUICK = {"jobs": 4000, "hosts": 400, "servers": 8, "seeds": 1, "decisions": 20}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Compare placement's policies on a model of a large site.")
    parser.add_argument("--jobs", type=int, default=1_000_000)
    parser.add_argument("--hosts", type=int, default=10_000)
    parser.add_argument("--servers", type=int, default=200)
    parser.add_argument(
        "--load", type=float, nargs="+", default=[0.4, 0.2],
        help="share of all servers' plateaus that the jobs ask for over the month; all but the first have one seed",
    )  # fmt: skip
    parser.add_argument("--busy", type=float, default=0.6, help="share of all hosts' time that undisturbed jobs take")
    parser.add_argument("--seeds", type=int, default=3, help="how many draws of servers and jobs")
    parser.add_argument("--decisions", type=int, default=500, help="how many decisions are timed")
    parser.add_argument("--quick", action="store_true", help="a small site; writes nothing, unless --out says where")
    parser.add_argument("--page", type=Path, metavar="JSON", help="only tell earlier results again, beside them")
    parser.add_argument("--machine", help="name of this machine in the results (default: from its CPU)")
    parser.add_argument("--out", type=Path, help=f"where the results' directory is made (default: {HERE / 'results'})")
    given = parser.parse_args()
    if given.quick:
        vars(given).update(QUICK)
    if min(given.jobs, given.hosts, given.servers, given.seeds, given.decisions) < 1:
        parser.error("numbers must be at least 1")
    if not all(0 < share < 1 for share in (given.busy, *given.load)):
        parser.error("--load and --busy are shares between 0 and 1")
    return given


def main() -> int:
    asked = arguments()
    if asked.page is not None:
        write_page_and_table(json.loads(asked.page.read_text(encoding="utf-8")), asked.page.parent)
        return 0
    results = measure_all(asked)
    if asked.quick and asked.out is None:
        print(page(results))
        return 0
    name = asked.machine or machine_name(host_facts())
    place = (asked.out or HERE / "results") / f"{results['date']}-{name}"
    place.mkdir(parents=True, exist_ok=True)
    (place / f"{NAME}.json").write_text(json.dumps(results) + "\n", encoding="utf-8")
    write_page_and_table(results, place)
    return 0


def write_page_and_table(results: dict[str, Any], place: Path) -> None:
    """Writes the table, and the page with pictures."""
    text = page(results)
    (place / f"{NAME}.md").write_text(text, encoding="utf-8")
    print(text)
    print(write_page(results, place / f"{NAME}.html"), file=sys.stderr)


def measure_all(asked: argparse.Namespace) -> dict[str, Any]:
    """Runs every race, and the decision at that size."""
    facts = {name: getattr(asked, name) for name in ("jobs", "hosts", "servers", "load", "busy", "seeds")}
    found: dict[str, Any] = {
        "date": f"{datetime.date.today():%Y-%m-%d}",
        "host": host_facts(),
        "asked": facts,
        "outcomes": [],
        "others": [],
    }
    for seed in range(1, asked.seeds + 1):
        races(asked, seed, asked.load[0], found, found["outcomes"])
    for load in asked.load[1:]:
        races(asked, 1, load, found, found["others"])
    drawn = drawn_servers(found["outcomes"])
    found["day"] = {name: {str(server): day[server] for server in drawn} for name, day in found["day"].items()}
    found["load_after"] = os.getloadavg()[0]
    return found


def races(
    asked: argparse.Namespace, seed: int, load: float, found: dict[str, Any], outcomes: list[dict[str, Any]]
) -> None:
    """Every policy on one draw; of the very first draw also what only one is needed of."""
    world = draw_site(servers=asked.servers, hosts=asked.hosts, seed=seed)
    jobs = draw_jobs(world, asked.jobs, seed=seed, load=load, busy=asked.busy)
    first = not found["outcomes"]
    if first:
        found["world"] = {
            "beside": world.beside,
            "link_bytes_per_s": world.link_bytes_per_s,
            "submissions": len(jobs.submissions),
            "laws": [
                {**asdict(law), "line": law.line()} for law in {one.law.name: one.law for one in world.servers}.values()
            ],
            "lines": [server.line for server in world.servers],
            "plateaus": [round(server.plateau_bytes_per_s) for server in world.servers],
        }
        found["day"] = {}
    for name, make in POLICIES.items():
        began_s = time.monotonic()
        policy = make(world, jobs, seed)
        race = Race(world, jobs, policy)
        if first and name == TIMED and isinstance(policy, Near):
            race.run(ASKED_AT_S)
            aside_s = time.monotonic()
            found["decision"] = asdict(timed(race, policy, times=asked.decisions))
            began_s += time.monotonic() - aside_s
        race.run()
        run_s = time.monotonic() - began_s
        outcomes.append(
            {**asdict(outcome_of(race, name, seed, run_s)), "load": load, "load_average": os.getloadavg()[0]}
        )
        if first:
            found["day"][name] = day_of(race.watch)
        print(f"load {load:g}, seed {seed}, {name}: {run_s:.0f} s", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
