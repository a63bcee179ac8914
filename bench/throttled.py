"""Truth on real devices: what ``tonnage probe`` says of loop devices whose speed the kernel was told.

``python bench/throttled.py [--rounds N] [--out DIR]`` as root. In each round every device is probed by the command with
its default budget, all at once: their limits are their own, and nearly all of that time is waiting. A figure is right
where it is within 2 % of the limit and its interval holds the limit.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
# The checkout's own package and lab, wherever the interpreter comes from.
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "lab")]

from throttled import throttled  # noqa: E402  (the lab has no package)

TOLERANCE = 0.02
MOST_TASKS = "8"


@dataclass(frozen=True, slots=True)
class Device:
    """A limit of bytes or of operations a second, for reads and for writes each."""

    name: str
    bytes_per_s: int = 0
    operations_per_s: int = 0

    @property
    def options(self) -> list[str]:
        if self.bytes_per_s:
            return []
        return ["--transfer", "4k", "--access", "random", "--direct", "yes"]

    @property
    def true_bytes_per_s(self) -> int:
        return self.bytes_per_s or 4096 * self.operations_per_s


DEVICES = (
    Device("40 MB/s", bytes_per_s=40_000_000),
    Device("200 MB/s", bytes_per_s=200_000_000),
    Device("1000 operations/s", operations_per_s=1_000),
    Device("5000 operations/s", operations_per_s=5_000),
)


def probe(device: Device, path: Path, seed: int, out: Path) -> list[dict[str, Any]]:
    """What one command says of writes and of reads."""
    command = [sys.executable, "-m", "tonnage.cli", "probe", str(path), "--max-tasks", MOST_TASKS, "--seed", str(seed)]
    more = [*device.options, "--json", "--no-report", "--no-keep", "--out", str(out)]
    done = subprocess.run([*command, *more], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{device.name}: {done.stderr[-500:]}")
    lines: list[dict[str, Any]] = json.loads(done.stdout)["load_lines"]
    true = device.true_bytes_per_s
    return [
        {
            "device": device.name,
            "op": line["op"],
            "seed": seed,
            "shown": line["reached"],
            "why": line["why"],
            **(
                {
                    "error": line["plateau_bytes_per_s"] / true - 1,
                    "covers": line["plateau_low"] <= true <= line["plateau_high"],
                    "width": (line["plateau_high"] - line["plateau_low"]) / 2 / true,
                }
                if line["reached"]
                else {}
            ),
        }
        for line in lines
    ]


def markdown(results: dict[str, Any]) -> str:
    lines = [
        f"# Probes of throttled devices: {results['host']}",
        "",
        f"`python bench/throttled.py --rounds {results['rounds']}`, {results['date']}. `tonnage probe DIR --max-tasks",
        f"{MOST_TASKS}` with its default budget on XFS on a loop device, all devices at once. Right: within 2 % of the",
        "limit, and the interval holds it.",
        "",
        "| device | | probes | shown | right | median error | largest | median half-width |",
        "|---|---|--:|--:|--:|--:|--:|--:|",
    ]
    for device in DEVICES:
        for op in ("write", "read"):
            rows = [row for row in results["probes"] if (row["device"], row["op"]) == (device.name, op)]
            shown = [row for row in rows if row["shown"]]
            right = [row for row in shown if abs(row["error"]) <= TOLERANCE and row["covers"]]
            said = f"| {device.name} | {op} | {len(rows)} | {len(shown)} | {len(right)} |"
            if shown:
                errors = [row["error"] for row in shown]
                width = median(row["width"] for row in shown)
                said += f" {median(errors):+.1%} | {max(errors, key=abs):+.1%} | {width:.1%} |"
            else:
                said += " | | |"
            lines.append(said)
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description="Probe devices of known speed; as root.")
    parser.add_argument("--rounds", type=int, default=20, help="probes of each device, a minute each")
    parser.add_argument("--out", type=Path, help="directory for the results (default: print only)")
    asked = parser.parse_args()
    from tonnage.machine.host_facts import host_facts

    facts = host_facts()
    found: list[dict[str, Any]] = []
    with contextlib.ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        labs = [
            stack.enter_context(throttled(bytes_per_s=one.bytes_per_s, operations_per_s=one.operations_per_s))
            for one in DEVICES
        ]
        for seed in range(asked.rounds):
            with ThreadPoolExecutor(len(DEVICES)) as pool:
                runs = [
                    pool.submit(probe, device, lab.path, seed, place / f"{seed}-{number}")
                    for number, (device, lab) in enumerate(zip(DEVICES, labs, strict=True))
                ]
                found += [row for run in runs for row in run.result()]
            print(f"round {seed + 1} of {asked.rounds}", file=sys.stderr, flush=True)
    results = {
        "host": f"{facts['cpu_model']}, {facts['cpu_count']} processors",
        "rounds": asked.rounds,
        "date": datetime.now(tz=timezone.utc).date().isoformat(),
        "probes": found,
    }
    text = markdown(results)
    print(text, end="")
    if asked.out is not None:
        asked.out.mkdir(parents=True, exist_ok=True)
        (asked.out / "throttled.md").write_text(text, encoding="utf-8")
        (asked.out / "throttled.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
