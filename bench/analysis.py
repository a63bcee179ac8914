"""How long a probe thinks: between two trials, which is no time of the user's storage, and after the last.

``python bench/analysis.py [--rounds N] [--out DIR] [--quick]``. Whole probes (``tonnage probe sim:…``, both ways)
with up to 32 and 256 tasks run in this process; the call that decides on the next trial is timed where the run loop
makes it, and the analysis of the run where the command makes it. Time of the processor: other work counts little.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from round_medians import Spread, spread

# The checkout's own package, wherever the interpreter comes from.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

BETWEEN_MS, AFTER_MS = 50.0, 300.0
MODELS = ("knee=6,noise=0.2%", "knee=6,noise=2%", "knee=12,shape=smooth,noise=5%", "outliers=40%,outlier-speed=0.7")
"""Each with a search of its own kind: a quiet one, a usual one, one that its budget ends, and two speeds."""


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="The analysis of a probe, between its trials and after them.")
    parser.add_argument("--rounds", type=int, default=5, help="probes of each model and each --max-tasks")
    parser.add_argument("--out", type=Path, help="directory for the results (default: print only)")
    parser.add_argument("--quick", action="store_true", help="one round")
    return parser.parse_args()


class Clock:
    """Wraps a function so that the processor's time of each call is kept, in milliseconds."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self.took_ms: list[float] = []

    def __call__(self, *values: Any, **more: Any) -> Any:
        began = time.process_time()
        try:
            return self._function(*values, **more)
        finally:
            self.took_ms.append(1e3 * (time.process_time() - began))


def probe(model: str, max_tasks: int, seed: int, out: Path) -> tuple[list[float], float]:
    """Measures the milliseconds of each decision of one probe, and of its analysis after the last trial."""
    from tonnage import analysis
    from tonnage.campaign.probe import Probe
    from tonnage.cli import main

    decide, analyse = Clock(Probe.next), Clock(analysis.analyse)
    before = Probe.next, analysis.analyse
    # A plain function is bound to the probe that it is called on; the clock is not one.
    Probe.next = lambda self, lines, spent_ns: decide(self, lines, spent_ns)  # type: ignore[method-assign]
    analysis.analyse = analyse
    try:
        asked = ["probe", f"sim:{model}", "--seed", str(seed), "--max-tasks", str(max_tasks), "--out", str(out)]
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            code = main([*asked, "--no-report", "--no-keep"])
    finally:
        Probe.next, analysis.analyse = before  # type: ignore[method-assign]
    if code or len(analyse.took_ms) != 1:
        raise SystemExit(f"sim:{model} ended with {code}, and was analysed {len(analyse.took_ms)} times")
    return decide.took_ms, analyse.took_ms[0]


def measure(max_tasks: int, rounds: int) -> dict[str, Any]:
    between, after = [], []
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as place:
        for seed in range(rounds):
            for number, model in enumerate(MODELS):
                decisions, analysis = probe(model, max_tasks, seed, Path(place, f"{seed}-{number}"))
                between += decisions
                after.append(analysis)
    return {"max_tasks": max_tasks, "probes": len(after), "between_ms": between, "after_ms": after}


def row(what: str, of: dict[str, Any], key: str, goal: float) -> str:
    found: Spread = spread(of[key])
    most = max(of[key])
    said = f"{found.median:.1f} [{found.low:.1f}, {found.high:.1f}]"
    return (
        f"| {what}, up to {of['max_tasks']} tasks | {len(of[key])} | {said} | {most:.1f} | < {goal:.0f} | "
        f"{'pass' if most < goal else 'miss'} |"
    )


def markdown(results: dict[str, Any]) -> str:
    host = results["host"]
    lines = [
        f"# The analysis of a probe: {host['cpu_model']}, {host['cpu_count']} processors",
        "",
        f"`python bench/analysis.py --rounds {results['rounds']}`, {results['date']}. Milliseconds of processor time:",
        "median with an order-statistic interval, and the most of all, which is held against the goal.",
        "",
        "| what | times | median | most | goal | |",
        "|---|--:|--:|--:|--:|---|",
    ]
    for of in results["cells"]:
        lines.append(row("between two trials", of, "between_ms", BETWEEN_MS))
        lines.append(row("after the last trial", of, "after_ms", AFTER_MS))
    return "\n".join(lines) + "\n"


def main() -> None:
    asked = arguments()
    from tonnage.machine.host_facts import host_facts

    facts = host_facts()
    rounds = 1 if asked.quick else asked.rounds
    # What is imported once is not counted.
    measure(8, 1)
    results = {
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d"),
        "host": {key: facts[key] for key in ("cpu_model", "cpu_count", "memory_bytes")}
        | {"kernel": platform.release()},
        "rounds": rounds,
        "cells": [measure(max_tasks, rounds) for max_tasks in (32, 256)],
    }
    print(markdown(results), end="")
    if asked.out and not asked.quick:
        asked.out.mkdir(parents=True, exist_ok=True)
        (asked.out / "analysis.md").write_text(markdown(results), encoding="utf-8")
        (asked.out / "analysis.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
