"""What the files of a run directory are called (``docs/record-format.md``)."""

from __future__ import annotations

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
