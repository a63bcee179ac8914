"""A thousand submissions in a burst over twelve servers of unequal load, through a real Slurm.

``python bench/placement_burst.py [--quick]``. Times are of one process that is up: the decision, and what a submission
takes beyond the scheduler's own command, which is run in between. See ``bench/README.md``.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median, quantiles
from typing import Any

# The checkout's own package, wherever the interpreter comes from, and its lab.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lab"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

from run import host_facts, machine_name
from slurm import Host, slurm
from tonnage.placement.plan import Plan
from tonnage.placement.submit import submit
from tonnage.placement.submit_request import SubmitRequest

HERE = Path(__file__).resolve().parent
SERVERS = 12
DECISION_P99_S, OURS_S, OVER_SHARE = 0.050, 0.020, 1.10
HELD = "Slurm started none of the jobs meanwhile."
STARTING = "Slurm started the jobs meanwhile, on the same processors."
EVERY = 10
"""The scheduler's command alone is timed once in so many submissions."""


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Submit a thousand jobs at once to twelve servers.")
    parser.add_argument("--jobs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1, help="of the servers' lines and loads")
    parser.add_argument("--quick", action="store_true", help="100 jobs; writes nothing")
    parser.add_argument(
        "--held", action="store_true", help="Slurm starts none of them meanwhile: what deciding takes by itself"
    )
    parser.add_argument("--machine", help="name of this machine in the results (default: from its CPU)")
    parser.add_argument("--out", type=Path, default=HERE / "results", help="where the results' directory is made")
    return parser.parse_args()


def site_file(place: Path, lines: dict[str, int]) -> None:
    """Writes twelve servers that hold the same data, each with a host of its name beside it."""
    servers = [
        f'[[server]]\nname = "{name}"\nholds = ["{place}"]\nhosts = ["{name}"]\nline = {{ tasks = {line} }}\n'
        for name, line in lines.items()
    ]
    (place / "tonnage.toml").write_text('scheduler = "slurm"\n' + "\n".join(servers), encoding="utf-8")


def submit_request(host: str | None = None) -> SubmitRequest:
    return SubmitRequest(argv=("sleep", "600"), key=os.urandom(8).hex(), output="/dev/null", path=host)


def burst(jobs: int, chance: random.Random, *, held: bool = False) -> dict[str, Any]:
    """Where each job went, and the times of each submission in seconds."""
    lines = {f"rcss{number:02}": chance.choice((4, 8, 16, 32)) for number in range(1, SERVERS + 1)}
    busy = {name: chance.randrange(line) for name, line in lines.items()}
    site_file(Path.cwd(), lines)
    for name, tasks in busy.items():
        # What runs there already: known to the scheduler alone, by the server that Tonnage wrote into its comment.
        for _ in range(tasks):
            subprocess.run(
                ["sbatch", f"--nodelist={name}", f"--comment=tonnage:{os.urandom(8).hex()}:{name}",
                 "--output=/dev/null", "--wrap=sleep 600"], check=True, capture_output=True,
            )  # fmt: skip
    if held:
        subprocess.run(["scontrol", "update", "partitionname=storage", "state=down"], check=True)
    got = dict.fromkeys(lines, 0)
    decided: list[float] = []
    whole: list[float] = []
    alone: list[float] = []

    def tell(plan: Plan) -> None:
        decided.append(time.perf_counter() - began)
        got[str(plan.decision.server)] += 1

    for number in range(jobs):
        began = time.perf_counter()
        submit(submit_request(), key_given=False, tell=tell)
        whole.append(time.perf_counter() - began)
        if number % EVERY == 0:
            began = time.perf_counter()
            subprocess.run(["sbatch", "--hold", "--output=/dev/null", "--wrap=true"], check=True, capture_output=True)
            alone.append(time.perf_counter() - began)
    total = jobs + sum(busy.values())
    share = {name: total * line / sum(lines.values()) - busy[name] for name, line in lines.items()}
    return {
        "lines": lines, "busy": busy, "got": got, "share": share,
        "decision_s": decided, "submit_s": whole, "sbatch_s": alone,
    }  # fmt: skip


def page(found: dict[str, Any]) -> str:
    """Returns the figures beside their goals."""
    decision_p99_s = quantiles(found["decision_s"], n=100)[98]
    alone_s = median(found["sbatch_s"])
    ours_s = median(found["submit_s"]) - alone_s
    most = max(found["got"][name] / found["share"][name] for name in found["got"])
    decision = f"{1e3 * decision_p99_s:.1f} ms (median {1e3 * median(found['decision_s']):.1f})"
    beyond = f"{1e3 * ours_s:.1f} ms (sbatch {1e3 * alone_s:.1f})"
    rows = [
        ("decision, p99", f"≤ {1e3 * DECISION_P99_S:.0f} ms", decision, decision_p99_s <= DECISION_P99_S),
        ("submission beyond sbatch alone, medians", f"≤ {1e3 * OURS_S:.0f} ms", beyond, ours_s <= OURS_S),
        ("most on a server ÷ its share", f"≤ {OVER_SHARE:g}", f"{most:.3f}", most <= OVER_SHARE),
    ]
    about = (
        f"Load average before {found['load'][0]:.2f}. {HELD if found['held'] else STARTING} A share is what fills all "
        "servers alike, up to or beyond their load lines, with what ran there before."
    )
    lines = [
        f"# A burst of {len(found['submit_s'])} submissions over {SERVERS} servers",
        "",
        about,
        "",
        "| what | goal | measured | |",
        "|---|---|---|---|",
        *(f"| {what} | {goal} | {value} | {'pass' if holds else 'miss'} |" for what, goal, value, holds in rows),
        "",
        "| server | load line | ran before | got | share |",
        "|---|---|---|---|---|",
        *(
            f"| {name} | {found['lines'][name]} | {found['busy'][name]} | {found['got'][name]} | "
            f"{found['share'][name]:.1f} |"
            for name in found["got"]
        ),
        "",
    ]
    return "\n".join(lines)


def main() -> int:
    asked = arguments()
    jobs = 100 if asked.quick else asked.jobs
    chance = random.Random(asked.seed)
    load = os.getloadavg()
    hosts = [Host(name=f"rcss{number:02}", slots=256) for number in range(1, SERVERS + 1)]
    with tempfile.TemporaryDirectory(prefix="tonnage-burst-") as work:
        os.environ["XDG_STATE_HOME"] = work
        os.environ["XDG_CONFIG_HOME"] = work
        os.chdir(work)
        with slurm(hosts, {"storage": [host.name for host in hosts]}) as cluster:
            os.environ["SLURM_CONF"] = str(cluster.conf)
            found = burst(jobs, chance, held=asked.held)
        os.chdir("/")
    found |= {"held": asked.held, "load": load, "host": host_facts(), "seed": asked.seed}
    text = page(found)
    print(text)
    if not asked.quick:
        place = asked.out / f"{datetime.date.today():%Y-%m-%d}-{asked.machine or machine_name(host_facts())}"
        place.mkdir(parents=True, exist_ok=True)
        name = f"placement_burst{'_held' * asked.held}"
        (place / f"{name}.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        (place / f"{name}.md").write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
