"""Nextflow's ``trace.txt``: any columns, numbers raw or as people read them; and what its tasks left behind.

Nextflow notes when it submitted a task, and when it *found* the task running and ended, which is when it next looked:
every 5 s with a scheduler. When a task really began and ended, its own files say, ``.command.begin`` and ``.exitcode``;
they are looked at where the trace names the directory (column ``workdir``) and it is still there.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

from tonnage.importers.trace import LARGEST, MOST_BYTES, Trace, TracedTask, Unreadable, content, number, size, whole

NONE = "-"
_STATUS = {"COMPLETED": "ok", "CACHED": "cached", "FAILED": "failed", "ABORTED": "aborted"}
_UNIT_NS = {"d": 86400 * 10**9, "h": 3600 * 10**9, "m": 60 * 10**9, "s": 10**9, "ms": 10**6}
_PART = re.compile(r"([0-9][0-9.,]*)\s*(ms|[dhms])(?:\s+|$)", re.ASCII)
_SLACK_NS = 2 * 10**9
"""How far the clock that dates a task's files may be from the engine's."""
_MOST_PROBLEMS = 20
_MOST_LINKS = 10_000


def read(path: Path) -> Trace:
    """The tasks of a trace file. OSError where it cannot be read."""
    with path.open("rb") as file:
        trace, directories = parse(file.read(MOST_BYTES))
    return _looked_at(trace, directories)


def parse(data: bytes) -> tuple[Trace, list[str | None]]:
    """The tasks of a trace as it stands, and the directory of each, where it says."""
    lines, torn = content(data)
    problems: list[str] = []
    if not lines or not lines[0].strip():
        return Trace((), ("line 1: the trace is empty: it has no line of column names",)), []
    columns = [name.strip() for name in lines[0].split("\t")]
    if "name" not in columns and "task_id" not in columns and "process" not in columns:
        why = "these are no columns of a Nextflow trace: none is name, task_id or process"
        return Trace((), (f"line 1: {why}; hint: nextflow run … -with-trace writes one",)), []
    tasks: list[TracedTask] = []
    directories: list[str | None] = []
    for count, line in enumerate(lines[1:], 2):
        if not line.strip():
            continue
        values = line.split("\t")
        if len(values) != len(columns):
            cut = torn and count == len(lines)
            why = "it was cut off" if cut else f"it has {len(values)} columns and not {len(columns)}"
            problems.append(f"line {count}: {why}; what it holds is kept" if cut else f"line {count}: {why}; left out")
            if not cut:
                continue
        elif torn and count == len(lines):
            problems.append(f"line {count}: it was cut off; what it holds is kept")
        row = {name: value.strip() for name, value in zip(columns, values, strict=False)}
        tasks.append(_task(row, count, problems))
        directories.append(row.get("workdir") if row.get("workdir") not in (None, "", NONE) else None)
    return Trace(tuple(tasks), _few(problems)), directories


def _few(problems: Sequence[str]) -> tuple[str, ...]:
    rest = len(problems) - _MOST_PROBLEMS
    return (*problems[:_MOST_PROBLEMS], *([f"and {rest} more like these"] if rest > 0 else []))


def _task(row: Mapping[str, str], line: int, problems: list[str]) -> TracedTask:
    def value(name: str, parse: Callable[[str], Any]) -> Any:
        text = row.get(name, NONE)
        if text in (NONE, "", "null"):
            return None
        try:
            return parse(text)
        except Unreadable as error:
            problems.append(f"line {line}: {name} {text[:40]!r} {error}")
            return None

    process = row.get("process") or row.get("name", "").partition(" (")[0] or f"task {row.get('task_id', line)}"
    run_ns, share = value("realtime", _duration), value("%cpu", _share)
    used = None if share is None or run_ns is None else share * run_ns
    cpu = None if used is None or used >= LARGEST else int(used)  # each may be in bounds, and the two not
    submit, start, complete = (value(name, _instant) for name in ("submit", "start", "complete"))
    # The usual columns have neither start nor complete: a task then began as late as it can have.
    lasted = value("duration", _duration)
    if complete is None and submit is not None and lasted is not None:
        complete = submit + lasted
    if start is None and complete is not None and run_ns is not None:
        start = max(complete - run_ns, submit or 0)
    return TracedTask(
        name=row.get("name") or process,
        process=process,
        status=_STATUS.get(row.get("status", ""), "unfinished"),
        host=value("hostname", str),
        attempt=value("attempt", _count) or 1,
        exit_code=value("exit", _count),
        submit_ns=submit,
        start_ns=start,
        end_ns=complete,
        complete_ns=complete,
        run_ns=run_ns,
        cpu_ns=cpu,
        max_resident_bytes=value("peak_rss", size) or None,  # 0: it ended before the first sample
        read_call_bytes=value("rchar", size),
        write_call_bytes=value("wchar", size),
        device_read_bytes=value("read_bytes", size),
        device_write_bytes=value("write_bytes", size),
    )


def _count(text: str) -> int:
    return whole(number(text))


def _share(text: str) -> Fraction:
    return number(text.removesuffix("%")) / 100


def _instant(text: str) -> int:
    """Milliseconds since 1970, or a date and time of this machine's zone; nanoseconds since 1970."""
    if text.isascii() and text.isdigit():
        return whole(number(text) * 10**6)
    try:
        moment = datetime.fromisoformat(text.replace(",", ".").removesuffix("Z"))
        seconds = int(moment.replace(microsecond=0).timestamp())
    except (ValueError, OverflowError, OSError):
        raise Unreadable("is not a date and time") from None
    return whole(Fraction(seconds * 10**9 + moment.microsecond * 1000))


def _duration(text: str) -> int:
    """``585``, ``585ms``, ``1.2s``, ``1m 20s``, ``2d 3h``; nanoseconds. A bare number is milliseconds."""
    if text.isascii() and text.isdigit():
        return whole(number(text) * 10**6)
    total, place = Fraction(0), 0
    while place < len(text):
        part = _PART.match(text, place)
        if part is None:
            raise Unreadable("is not a duration")
        total += number(part[1]) * _UNIT_NS[part[2]]
        place = part.end()
    return whole(total)


def _looked_at(trace: Trace, directories: Sequence[str | None]) -> Trace:
    """With what the tasks' own directories say."""
    known = {directory: position for position, directory in enumerate(directories) if directory}
    tasks = [
        task if directory is None or task.status == "cached" else _with_files(task, Path(directory), known)
        for task, directory in zip(trace.tasks, directories, strict=True)
    ]
    return Trace(tuple(tasks), trace.problems)


def _with_files(task: TracedTask, directory: Path, known: Mapping[str, int]) -> TracedTask:
    try:
        begun = (directory / ".command.begin").stat().st_mtime_ns
        ended = (directory / ".exitcode").stat().st_mtime_ns
    except (OSError, ValueError):
        begun = ended = -1
    after = _inputs(directory, known)
    task = replace(task, after=after) if after is not None else task
    # A clock far from the engine's would move a task to where it was not.
    first = task.submit_ns if task.submit_ns is not None else task.start_ns
    last = task.complete_ns
    if first is None or last is None or not first - _SLACK_NS <= begun <= ended <= last + _SLACK_NS:
        return task
    return replace(task, start_ns=max(begun, first), end_ns=max(min(ended, last), begun, first), times_from="task")


def _inputs(directory: Path, known: Mapping[str, int]) -> tuple[int, ...] | None:
    """The tasks whose directories its links lead into: Nextflow stages inputs as links."""
    found = set()
    try:
        with os.scandir(directory) as entries:
            for _, entry in zip(range(_MOST_LINKS), entries, strict=False):
                if entry.is_symlink():
                    place = Path(entry.path).readlink()
                    found |= {known[str(parent)] for parent in place.parents if str(parent) in known}
    except (OSError, ValueError):
        return None
    return tuple(sorted(found))
