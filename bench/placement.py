"""The published experiment of placement at small scale: 50 jobs far and wide, near and narrow, near and capped.

``python bench/placement.py [--quick]`` as root. Seven hosts as namespaces with a real Slurm, the data in a real
GlusterFS on a device and behind links of known speed, the load line from a real ``tonnage probe``. Writes what it finds
where ``--out`` says, and nothing without it. See ``bench/README.md``.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import random
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# The checkout's own package, wherever the interpreter comes from, and its lab.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lab"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

from hosts import wait_for
from placement_table import AUTO, FAR, FAR_GZIP, NEAR_GZIP, PLACED_CPU, PLAIN_CPU, markdown, near
from run import host_facts, machine_name
from small_site import SCRATCH, Plan, Site, site
from tonnage.placement.io_demand import demand_of_run
from tonnage.placement.site import Policy

WIDTHS = (1, 2, 4, 8, 16, 50)
DONE = Path("/run/site/done")
PATIENCE_S = 900.0
MIB = 1 << 20
ASKED = (
    "device_bytes_per_s", "link_bytes_per_s", "latency_us", "rounds", "copies", "mib", "large_mib", "compute_copies",
)  # fmt: skip
# A job says that it has ended in memory: neither the storage nor the scheduler is asked while the clock runs.
GZIP = """#!/bin/sh
copy=${TONNAGE_COPY:-$SLURM_ARRAY_TASK_ID}
gzip -1 -c "reads.$copy.fq" >"reads.$copy.fq.gz" && : >"/run/site/done/$copy"
"""
COMPUTE = """#!/bin/sh
copy=${TONNAGE_COPY:-$SLURM_ARRAY_TASK_ID}
gzip -9 -c /run/site/block >/dev/null && : >"/run/site/done/${copy:-alone}"
"""


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="The published experiment of placement at small scale; as root.")
    parser.add_argument("--rounds", type=int, default=6, help="runs of each cell (6 give 95 %%)")
    parser.add_argument("--copies", type=int, default=50)
    parser.add_argument("--mib", type=int, default=16, help="size of each copy's file")
    parser.add_argument("--large-mib", type=int, default=128, help="size of the single large file")
    parser.add_argument("--device-bytes-per-s", type=int, default=60_000_000, help="of the server's device")
    parser.add_argument("--link-bytes-per-s", type=int, default=20_000_000, help="of every host's link, each way")
    parser.add_argument("--latency-us", type=int, default=4000, help="of each read and write at the server")
    parser.add_argument("--compute-copies", type=int, default=24)
    parser.add_argument("--compute-mib", type=int, default=5, help="size of what each computing copy works on")
    parser.add_argument("--probe-budget", default="45s", help="time that the probe may take")
    parser.add_argument("--quick", action="store_true", help="2 rounds of small cells: to see that it works")
    parser.add_argument("--machine", help="name of this machine in the results (default: from its CPU)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the files and of the order of the cells")
    parser.add_argument("--out", type=Path, help="where the results' directory is made (default: nothing is written)")
    given = parser.parse_args()
    if given.quick:
        given.rounds, given.mib, given.large_mib, given.compute_copies = 2, 4, 16, 6
        given.compute_mib, given.probe_budget = 1, "15s"
    return given


@dataclass(frozen=True, slots=True)
class RunTimes:
    """One run of a cell, in seconds."""

    elapsed_s: float
    submit_s: float | None
    """What the submitting command took; None where it is part of the other."""


class Bench:
    """A site that holds the files, and what is run on it."""

    def __init__(self, given: argparse.Namespace, lab: Site) -> None:
        self.given, self.lab = given, lab
        self.done = lab.hosts["head"].path(DONE)
        self.line: dict[str, Any] = {}
        self.io_share = 1.0

    def prepare(self) -> None:
        """The files, the programs, the load line, and how much the computing program waits for storage."""
        given, rng = self.given, random.Random(self.given.seed)
        scratch = self.lab.scratch.at("rcss1")
        for name, text in (("go.sh", GZIP), ("compute.sh", COMPUTE)):
            (scratch / name).write_text(text)
            (scratch / name).chmod(0o755)
        blocks = [reads(rng) for _ in range(16)]
        for number in range(1, given.copies + 1):
            (scratch / f"reads.{number}.fq").write_bytes(b"".join(rng.choices(blocks, k=4 * given.mib)))
        (scratch / "large.fq").write_bytes(b"".join(rng.choices(blocks, k=4 * given.large_mib)))
        (self.lab.hosts.site / "block").write_bytes(b"".join(rng.choices(blocks, k=4 * given.compute_mib)))
        self.done.mkdir()
        self.lab.scratch.bricks[0].device.limit(bytes_per_s=given.device_bytes_per_s)
        self.probe()
        campaign = self.lab.hosts.site / "compute.toml"
        campaign.write_text(
            f'target = "{SCRATCH}"\n[repeat]\ncount = 1\n[workload]\nkind = "command"\ncopies = 2\ntasks = 1\n'
            f'argv = ["{SCRATCH}/compute.sh"]\n'
        )
        self.lab.tonnage("run", "--no-report", "--out", "/run/site/profile", "/run/site/compute.toml", host="node1")
        self.io_share = demand_of_run(self.lab.hosts.site / "profile", Policy()).io_share

    def probe(self) -> None:
        """The load line of reads as large as the mount's own requests, measured beside the data and kept."""
        words = ("--op", "read", "--transfer", "128KiB", "--budget", self.given.probe_budget, "--space", "256MiB")
        self.lab.tonnage(
            "probe", *words, "--no-report", "--out", "/run/site/probe", SCRATCH, host="rcss1", timeout_s=PATIENCE_S
        )
        (kept,) = (self.lab.hosts.site / "lines").glob("*.json")
        self.line = json.loads(kept.read_text())

    def makespan(self, submit: Callable[[], object], copies: int) -> RunTimes:
        """Measures from the receipt to the end of the last job, with nothing in memory before; the submission
        separately."""
        for mark in self.done.iterdir():
            mark.unlink()
        for file in self.lab.scratch.at("rcss1").glob("*.gz"):
            file.unlink()
        self.lab.scratch.forget()
        began_s = time.time()
        submit()
        received_s = time.time()
        wait_for(lambda: len(list(self.done.iterdir())) >= copies, "every job ends well", patience_s=PATIENCE_S)
        elapsed_s = max(mark.stat().st_mtime for mark in self.done.iterdir()) - received_s
        self.lab.wait_idle(PATIENCE_S)
        return RunTimes(elapsed_s, received_s - began_s)

    def array(
        self, width: int, *where: str, script: str = "./go.sh", copies: int | None = None
    ) -> Callable[[], object]:
        """Makes a call that runs an array of Slurm's by hand, so many at once."""
        every = f"--array=1-{copies or self.given.copies}%{width}"
        return lambda: self.lab.run("sbatch", every, "-o", "/dev/null", *where, script, directory=SCRATCH)

    def placed(self, *words: str | Path, copies: int | None = None) -> Callable[[], object]:
        """By ``tonnage submit``, which decides where and how many at once."""
        count = str(copies or self.given.copies)
        return lambda: self.lab.tonnage("submit", "--copies", count, "-o", "/dev/null", *words)

    def cells(self) -> dict[str, Callable[[], RunTimes]]:
        """What is measured, by name."""
        copies, few = self.given.copies, self.given.compute_copies
        beside = ("-p", "storage", "-w", "rcss1")
        compute = "./compute.sh"
        every: dict[str, tuple[Callable[[], object], int]] = {
            FAR: (self.array(copies, "-p", "compute"), copies),
            **{near(width): (self.array(width, *beside), copies) for width in WIDTHS},
            AUTO: (self.placed("--cap", "auto", "./go.sh"), copies),
            PLAIN_CPU: (self.array(few, "-p", "compute", script=compute, copies=few), few),
            PLACED_CPU: (self.placed("--cap", "auto", "--profile", "/run/site/profile", compute, copies=few), few),
        }
        jobs = {name: (lambda one=one: self.makespan(*one)) for name, one in every.items()}  # type: ignore[misc]
        return {FAR_GZIP: lambda: self.single(near=False), NEAR_GZIP: lambda: self.single(near=True), **jobs}

    def single(self, *, near: bool) -> RunTimes:
        """Runs one program over one large file, with the terminal waiting for it: from the command's start to its
        end."""
        program = ("gzip", "-1", "-k", "-f", "large.fq")
        words: Sequence[str] = ("srun", "-Q", "-p", "compute", "-w", "node1", *program)
        if near:
            words = (sys.executable, "-m", "tonnage.cli", "submit", "-I", *program)
        self.lab.scratch.forget()
        began_s = time.monotonic()
        self.lab.run(*words, directory=SCRATCH, timeout_s=PATIENCE_S)
        return RunTimes(time.monotonic() - began_s, None)


def reads(rng: random.Random) -> bytes:
    """256 KiB of a sequencer's reads: names, 100 bases, qualities."""
    bases = bytes.maketrans(bytes(range(256)), b"ACGT" * 64)
    noise = rng.randbytes(1024 * 100).translate(bases)
    quality = b"F" * 100
    lines = [b"@SIM:%d\n%s\n+\n%s\n" % (n, noise[100 * n : 100 * n + 100], quality) for n in range(1024)]
    return b"".join(lines).ljust(256 << 10, b"\n")[: 256 << 10]


def measure(given: argparse.Namespace, lab: Site) -> dict[str, Any]:
    """All rounds, each cell once in each, in an order drawn anew."""
    bench = Bench(given, lab)
    bench.prepare()
    print(f"load line {bench.line['tasks']} [{bench.line['low']}, {bench.line['high']}]", file=sys.stderr, flush=True)
    cells, order = bench.cells(), random.Random(given.seed)
    found: dict[str, list[RunTimes]] = {name: [] for name in cells}
    for number in range(1, given.rounds + 1):
        began_s = time.monotonic()
        for name in order.sample(list(cells), len(cells)):
            found[name].append(cells[name]())
            print(f"round {number}: {name}: {found[name][-1].elapsed_s:.2f} s", file=sys.stderr, flush=True)
        print(f"round {number} of {given.rounds}: {time.monotonic() - began_s:.0f} s", file=sys.stderr, flush=True)
    return {
        "line": bench.line,
        "compute_io_share": bench.io_share,
        "elapsed_s": {name: [one.elapsed_s for one in every] for name, every in found.items()},
        "submit_s": {name: [one.submit_s for one in every] for name, every in found.items()},
    }


def main() -> int:
    given = arguments()
    host = host_facts()
    plan = Plan(
        nodes=4,
        node_slots=-(-given.copies // 4),
        server_slots=given.copies,
        link_bytes_per_s=given.link_bytes_per_s,
        device_bytes_per_s=given.device_bytes_per_s,
        limited=False,
        latency_us=given.latency_us,
        volume_bytes=2 * (given.copies * given.mib + given.large_mib) * MIB + (1 << 30),
    )
    results: dict[str, Any] = {
        "date": datetime.date.today().isoformat(),
        "machine": given.machine or machine_name(host),
        "host": host,
        "asked": {key: getattr(given, key) for key in ASKED},
    }
    with site(plan) as lab:
        results |= measure(given, lab)
    results["host"]["load_after"] = os.getloadavg()[0]
    text = markdown(results)
    if given.out is not None and not given.quick:
        out = given.out / f"{results['date']}-{results['machine']}"
        out.mkdir(parents=True, exist_ok=True)
        (out / "placement.json").write_text(json.dumps(results, indent=1) + "\n")
        (out / "placement.md").write_text(text)
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
