"""``jobs.jsonl``: what became of the jobs that carried out a run. Only who submits them writes it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tonnage.records.writer import append_line, truncate_torn_line

JOBS = "jobs.jsonl"


def append_job(run: Path, line: Mapping[str, Any]) -> None:
    """Appends a line; it is on the disk when this returns."""
    append_line(run / JOBS, line)


def job_lines(run: Path) -> list[dict[str, Any]]:
    """All whole lines, in the order written; none where nothing was submitted."""
    try:
        data = (run / JOBS).read_bytes()
    except FileNotFoundError:
        return []
    return [json.loads(line) for line in data.split(b"\n")[:-1] if line]


def mend_jobs(run: Path) -> None:
    """Takes away half a line that a killed writer left. Under the lock of who follows the run."""
    truncate_torn_line(run / JOBS)
