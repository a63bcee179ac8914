"""S3: Tonnage against clients that people use, on a service of its own, in the same rounds.

``versitygw test bench`` is a benchmark on AWS's SDK for Go, which sends from memory and throws away what it reads, as
Tonnage does; ``rclone`` copies from and to a tmpfs. The first two say what they moved in what time; of rclone
it is the time of the whole command, less that of one that does nothing.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from round_medians import spread
from run import host_facts, machine_name
from stage_table import text, verdict

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lab"))
from s3_service import KEY, REGION, S3, SECRET, gateway, s3

MIB = 1 << 20
LIMIT_S = 600.0
OURS, SDK, RCLONE = "Tonnage", "AWS SDK for Go", "rclone"
_RUN = re.compile(r"run (?:upload|download): (\d+) in (\S+)")
_UNITS_S = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}


@dataclass(frozen=True)
class Cell:
    """Objects of one size, so many at once, each in parts of which so many are in flight."""

    title: str
    objects: int
    object_bytes: int
    part_bytes: int
    depth: int


CELLS = (
    Cell("4 objects of 256 MiB, parts of 8 MiB, 4 in flight each", 4, 256 * MIB, 8 * MIB, 4),
    Cell("1 object of 512 MiB, parts of 16 MiB, 8 in flight", 1, 512 * MIB, 16 * MIB, 8),
    Cell("16 objects of 4 MiB at once", 16, 4 * MIB, 8 * MIB, 1),
)


@dataclass
class Bench:
    """What the contenders share."""

    service: S3
    work: Path
    ram: Path
    nothing_s: dict[str, float] = field(default_factory=dict)

    def run(self, argv: list[str]) -> tuple[str, float]:
        """Runs a command; returns what it printed, and the seconds it took."""
        environment = {name: value for name, value in os.environ.items() if name != "AWS_CA_BUNDLE"}
        began = time.perf_counter()
        done = subprocess.run(
            argv,
            env=environment | self.service.environment,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"{argv[0]}: {(done.stdout + done.stderr)[-400:]}")
        return done.stdout + done.stderr, time.perf_counter() - began

    def tonnage(self, cell: Cell) -> dict[str, float]:
        """Bytes a second of writes and reads."""
        file = self.work / "campaign.toml"
        transfer = min(cell.part_bytes, cell.object_bytes)
        file.write_text(
            f'target = "s3://bench?endpoint={self.service.endpoint}"\n[repeat]\ncount = 1\n[workload]\n'
            f'op = ["write", "read"]\ntasks = {cell.objects}\nqueue_depth = {cell.depth}\n'
            f"transfer_size = {transfer}\nblock_size = {cell.object_bytes}\n"
        )
        with tempfile.TemporaryDirectory(dir=self.work) as directory:
            out = Path(directory) / "run"
            self.run([sys.executable, "-m", "tonnage.cli", "run", str(file), "--no-report", "--out", str(out)])
            lines = [json.loads(line) for line in (out / "trials.jsonl").read_text().splitlines()]
        measured = [line for line in lines if line["purpose"] == "measure"]
        return {line["phase"]: line["bytes"] * 1e9 / line["elapsed_ns"] for line in measured}

    def sdk(self, cell: Cell) -> dict[str, float]:
        """Runs the same by ``versitygw test bench``."""
        head = [gateway(), "test", "--access", KEY, "--secret", SECRET, "--endpoint", self.service.endpoint, "bench"]
        sizes = ["--files", str(cell.objects), "--objsize", str(cell.object_bytes), "--partSize", str(cell.part_bytes)]
        rest = [*sizes, "--concurrency", str(cell.depth), "--bucket", "bench", "--prefix", "sdk", "--checksumDis"]
        found = {}
        for phase, word in (("write", "--upload"), ("read", "--download")):
            said = _RUN.search(self.run([*head, word, *rest])[0])
            if said is None:
                raise RuntimeError("versitygw test bench says no total")
            found[phase] = int(said[1]) / _seconds(said[2])
        self.empty("sdk*")
        return found

    def rclone(self, cell: Cell) -> dict[str, float]:
        """Runs the same by ``rclone copy``."""
        with tempfile.TemporaryDirectory(dir=self.ram) as source, tempfile.TemporaryDirectory(dir=self.ram) as back:
            return self._copy(cell, Path(source), Path(back))

    def _nothing_s(self, *argv: str) -> float:
        """What a command that does nothing takes, at its best."""
        if argv[0] not in self.nothing_s:
            self.nothing_s[argv[0]] = min(self.run(list(argv))[1] for _ in range(5))
        return self.nothing_s[argv[0]]

    def _copy(self, cell: Cell, source: Path, back: Path) -> dict[str, float]:
        for number in range(cell.objects):
            with (source / f"object-{number}").open("wb") as file:
                file.write(random.randbytes(MIB) * (cell.object_bytes // MIB))
        place = (
            f":s3,provider=Other,env_auth=true,region={REGION},endpoint='{self.service.endpoint}',"
            f"chunk_size={cell.part_bytes}B,upload_cutoff={cell.part_bytes}B,upload_concurrency={cell.depth},"
            "disable_checksum=true,no_check_bucket=true:bench/rclone"
        )
        options = ["--config=/dev/null", f"--transfers={cell.objects}", "--ignore-checksum", "--no-check-dest"]
        options += [f"--multi-thread-streams={cell.depth}", "--multi-thread-cutoff=64M"]
        nothing_s = self._nothing_s("rclone", "version")
        found = {}
        for phase, one, other in (("write", str(source), place), ("read", place, str(back))):
            elapsed_s = self.run(["rclone", "copy", one, other, *options])[1] - nothing_s
            found[phase] = cell.objects * cell.object_bytes / elapsed_s
        self.empty("rclone/*")
        return found

    def empty(self, pattern: str) -> None:
        """Takes a contender's objects away, behind the service's back."""
        for path in (self.service.directory / "bench").glob(pattern):
            path.unlink()


def _seconds(said: str) -> float:
    """``1m2.5s`` as Go prints durations."""
    return sum(float(number) * _UNITS_S[unit] for number, unit in re.findall(r"([0-9.]+)(h|ms|m|µs|ns|s)", said))


def measure(bench: Bench, rounds: int, only: str) -> list[dict[str, Any]]:
    """Measures, for each cell and phase, the bytes a second of each contender, one a round."""
    contenders: dict[str, Callable[[Cell], dict[str, float]]] = {OURS: bench.tonnage, SDK: bench.sdk}
    if shutil.which("rclone"):
        contenders[RCLONE] = bench.rclone
    kept = []
    for cell in [cell for cell in CELLS if only in cell.title]:
        found: dict[str, list[dict[str, float]]] = {name: [] for name in contenders}
        for number in range(rounds + 1):
            for name in random.sample(sorted(contenders), len(contenders)):
                rates = contenders[name](cell)
                if number:  # one of each before: connections, memory, directories
                    found[name].append(rates)
        for phase in ("write", "read"):
            of_phase = {name: [rates[phase] for rates in of_name] for name, of_name in found.items()}
            kept.append({"cell": cell.title, "phase": phase, "bytes_per_s": of_phase})
    return kept


def markdown(results: dict[str, Any]) -> str:
    """Returns a row for each cell, phase and peer."""
    facts = results["host"]
    lines = [
        f"# Objects of an S3 service beside its clients: {facts['cpu_model']}, {facts['cpu_count']} processors",
        "",
        f"versitygw on a tmpfs of this machine. {results['rounds']} rounds. Medians with an order-statistic interval;",
        "ratios are of two runs of the same round. MB = 10^6 bytes.",
        "",
        f"| cell | phase | {OURS}, MB/s | against | its MB/s | ratio | goal ≥ 1 |",
        "|---|---|---|---|---|---|---|",
    ]
    for found in results["cells"]:
        place, ours = f"| {found['cell']} | {found['phase']}", found["bytes_per_s"][OURS]
        for name, theirs in found["bytes_per_s"].items():
            if name != OURS:
                ratio = spread([a / b for a, b in zip(ours, theirs, strict=True)])
                sides = f"{text(spread(ours), 0, 1e6)} | {name} | {text(spread(theirs), 0, 1e6)}"
                lines.append(f"{place} | {sides} | {text(ratio)} | {verdict(ratio, 1.0)} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Prints the table, and keeps it where ``--out`` says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", default="", help="cells whose title contains this")
    parser.add_argument("--ram", type=Path, default=Path("/dev/shm"), help="where the service keeps objects: a tmpfs")
    parser.add_argument("--machine", help="name of this machine in the results (default: from its CPU)")
    parser.add_argument("--out", type=Path, help="where the results' directory is made; nothing is written without it")
    given = parser.parse_args()
    host = host_facts()
    with tempfile.TemporaryDirectory(dir=given.ram) as ram, tempfile.TemporaryDirectory() as work:
        buckets = Path(ram) / "buckets"
        buckets.mkdir()
        with s3(buckets) as service:
            service.bucket("bench")
            cells = measure(Bench(service, Path(work), Path(ram)), given.rounds, given.only)
    results = {"date": datetime.date.today().isoformat(), "host": host, "rounds": given.rounds, "cells": cells}
    print(told := markdown(results))
    if given.out is not None:
        place = given.out / f"{results['date']}-{given.machine or machine_name(host)}"
        place.mkdir(parents=True, exist_ok=True)
        (place / "s3.json").write_text(json.dumps(results, indent=1) + "\n")
        (place / "s3.md").write_text(told)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
