"""What the files of a run directory are called (``docs/record-format.md``), and which of them a record has."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from tonnage.records.line_types import CopyLine, Json, TaskLine, TrialLine

FORMAT = "tonnage-run"
FORMAT_VERSION = 1
MANIFEST = "manifest.json"
TRIALS, TASKS, EVENTS = "trials.jsonl", "tasks.jsonl", "events.jsonl"
COPIES, OUTPUT = "copies.jsonl", "output"
ORIGINALS = "originals"
WORKFLOW = "workflow.jsonl"
DEVICES = "devices.jsonl"
OBJECTS = "objects.jsonl"
FILES, CHAIN, SUMS = "files.sha256", "chain.jsonl", "SHA256SUMS"
LINES = (TRIALS, TASKS, EVENTS, COPIES, WORKFLOW, DEVICES, OBJECTS)
"""Files of lines, the first of which says which records count."""
APPENDED = (*LINES, FILES)
"""Files that are only appended to, record by record."""
SUFFIXES = {"series": "parquet", "heat": "parquet", "latency": "hlog", "operations": "parquet"}
"""Directories with a file a record."""
DIRECTORIES = tuple(SUFFIXES)
ODD_BYTES = "backslashreplace"
"""A name may be no UTF-8: what Python has for such a byte stands in the file as JSON escapes it, and reads back."""


def promised(
    manifest: Json,
    line: TrialLine,
    tasks: Iterable[TaskLine],
    copies: Iterable[CopyLine],
) -> Iterator[str]:
    """Names, relative to the run, of the files that the record of these lines has."""
    record = line["record"]
    if manifest.get("imported") or line["phase"] == "stage" or not list(tasks):
        return  # what the engine did not run has no intervals and no operations of its own
    yield _in("series", record)
    if line["phase"] == "network":
        return  # iperf3 times no operations
    yield _in("latency", record)
    yield _in("heat", record)
    if (manifest.get("campaign") or {}).get("keep_operations"):
        yield _in("operations", record)
    if line["phase"] == "command" and line["setting"].get("keep_output"):
        started = (copy for copy in copies if not copy.get("error"))
        yield from (f"{OUTPUT}/{record}/{copy['copy']}.{end}" for copy in started for end in ("out", "err"))


def missing(run: Path, names: Iterable[str]) -> str | None:
    """The first of these files of a run that is not there."""
    return next((name for name in names if not os.path.lexists(run / name)), None)


def _in(room: str, record: str) -> str:
    return f"{room}/{record}.{SUFFIXES[room]}"
