"""Nextflow's ``timeline.html``: when each task was handed over, began and ended; neither bytes nor how it ended.

A row has up to three bars: waiting, the task's own time, and over but not noticed yet.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from tonnage.importers.imported_phases import ImportedFile
from tonnage.importers.nextflow_run import run_of
from tonnage.importers.trace import LARGEST, Trace, TracedTask

_DATA = re.compile(r"window\.data\s*=\s*(?=\{)")
_ESCAPED = re.compile(r"\\([\\'])")
"""Names are written as JavaScript, which escapes an apostrophe; JSON has no such escape."""
_MS = 10**6


def read(data: bytes, _: str) -> ImportedFile:
    """Reads a timeline. Never raises: ``problems`` says what cannot be read."""
    trace = _trace(data.decode("utf-8", "replace"))
    return run_of(trace, counts_failures=False) if trace.tasks else ImportedFile(problems=trace.problems)


def _trace(text: str) -> Trace:
    found = _DATA.search(text)
    if found is None:
        why = "this is no timeline of Nextflow: it has no window.data"
        return Trace((), (f"line 1: {why}; hint: nextflow run … -with-timeline writes one",))
    line = text.count("\n", 0, found.end()) + 1
    body = _ESCAPED.sub(lambda sign: "'" if sign[1] == "'" else sign[0], text[found.end() :])
    try:
        rows = json.JSONDecoder().raw_decode(body)[0]["processes"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return Trace((), (f"line {line}: its data is damaged or cut off; nothing of it is kept",))
    tasks, problems = [], []
    for number, row in enumerate(rows if isinstance(rows, list) else (), 1):
        task = _task(row)
        if task is None:
            problems.append(f"line {line}: task {number} of its data cannot be understood; left out")
        else:
            tasks.append(task)
    if not tasks and not problems:
        problems.append(f"line {line}: its data has no task")
    return Trace(tuple(tasks), tuple(problems))


def _task(row: object) -> TracedTask | None:
    if not isinstance(row, Mapping) or not isinstance(row.get("label"), str) or not isinstance(row.get("times"), list):
        return None
    bars = [_bar(one) for one in row["times"]]
    known = [bar for bar in bars if bar is not None]
    if len(known) < len(bars) or any(after[0] < before[1] for before, after in pairwise(known)):
        return None
    name, ran = row["label"], known[1] if len(known) > 1 else None
    ended = known[-1][1] if ran else None
    return TracedTask(
        name=name,
        process=name.partition(" (")[0],
        status="cached" if row.get("cached") is True else "ended" if ran else "unfinished",
        submit_ns=known[0][0] if known else None,
        start_ns=known[0][1] if known else None,
        end_ns=ended,
        complete_ns=ended,
        run_ns=ran[1] - ran[0] if ran else None,
    )


def _bar(one: Any) -> tuple[int, int] | None:
    """Its two ends in nanoseconds since 1970."""
    if not isinstance(one, Mapping):
        return None
    start, end = one.get("starting_time"), one.get("ending_time")
    if type(start) is not int or type(end) is not int or not 0 <= start <= end < LARGEST // _MS:
        return None
    return start * _MS, end * _MS
