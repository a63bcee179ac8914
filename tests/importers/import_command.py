"""Runs of the command for the tests of imports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tonnage.cli import main
from tonnage.records import Run

RECORDED = Path(__file__).parent / "recorded"


def take(kind: str, out: Path, *files: Path) -> Run:
    """What ``tonnage import`` makes of the files."""
    assert main(["import", kind, *map(str, files), "--out", str(out), "--no-report"]) == 0
    return Run.open(out)


def rates(run: Run, phase: str) -> list[int]:
    return [line["bandwidth_bytes_per_s"] for line in run.trials() if line["phase"] == phase]


def summary(run: Run) -> dict[str, Any]:
    """What the command said with ``--json``, as the run keeps it."""
    said: dict[str, Any] = run.manifest["summary"]
    return said


def codes(run: Run) -> set[str]:
    return {finding["code"] for finding in summary(run)["findings"]}


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines(keepends=True)
