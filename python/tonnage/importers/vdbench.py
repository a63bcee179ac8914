"""What vdbench printed of raw I/O (its stdout, ``summary.html`` or ``logfile.html``): a table for each run definition.

A trial is the row ``avg_2-N``, which leaves out the first interval and a warm-up. It has rates only. How many threads
there were stands in a parameter file: as many tasks as operations were ever in flight on average, rounded up.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from statistics import median

from tonnage.importers.imported_phases import OF_A_MIX, ImportedFile, Latency, Note, Phase, Unplaced, few, latency
from tonnage.importers.rounded_numbers import no_time, rounded, whole
from tonnage.importers.trace import LARGEST, content
from tonnage.records.line_types import SettingValues

_START = re.compile(r"[0-9:.]+ Starting RD=([^;\s]+);(.*)\Z")
_ROW = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2}\.[0-9]{3}) +(?:avg_([0-9]+)-)?([0-9]+) +([0-9].*)\Z")
_VERSION = re.compile(r"Vdbench distribution: (\S+)")
_FILES = re.compile(r".*\bReqstdOps\b")
_COLUMNS = {
    9: ("rate", "mib", "size", "share", "mean", "max"),
    12: ("rate", "mib", "size", "share", "mean", "read mean", "write mean", "max", "", "depth"),
    13: ("rate", "mib", "size", "share", "mean", "read mean", "write mean", "read max", "write max", "", "depth"),
}
"""By how many figures a row has, of the versions of vdbench: the first of them."""
_THREADS = re.compile(r"\bthreads=([0-9]{1,6})\b")
_DAY_S = 86_400
_ESTIMATED = Note("bytes-estimated", "vdbench prints rates, not how many bytes or operations there were")


@dataclass(slots=True)
class _Run:
    """A run definition."""

    name: str
    about: str
    seen_s: list[float] = field(default_factory=list)
    """When each interval ended, by the time of day."""
    depth: float = 0.0
    """The most that were waiting on average, of all rows."""


def read(data: bytes, _: str) -> ImportedFile:
    """Reads an output. Never raises: ``problems`` names the line of each part that it cannot read."""
    lines, torn = content(data)
    version: str | None = None
    run: _Run | None = None
    phases: list[Phase] = []
    problems: list[str] = []
    for number, printed in enumerate(lines[: -1 if torn else None], 1):
        line = re.sub(r"<[^>]{0,200}>", "", printed).strip()
        if found := _VERSION.match(line):
            version = version or found[1]
        elif found := _START.match(line):
            run = _Run(found[1], found[2])
        elif _FILES.match(line):
            problems.append(f"line {number}: a workload of vdbench's files is not read, only raw I/O; left out")
            run = None
        elif run is not None and (found := _ROW.match(line)):
            trials = _row(run, found, number)
            if isinstance(trials, str):
                problems.append(f"line {number}: {run.name} {trials}; left out")
            else:
                phases += trials
    if not phases and not problems:
        problems.append("line 1: it has no averages of a run of vdbench")
    return ImportedFile(phases=tuple(phases), problems=few(problems), tool="vdbench", version=version)


def _row(run: _Run, found: re.Match[str], number: int) -> Sequence[Phase] | str:
    """The trials of a row of averages, none of an interval; or why they cannot be any."""
    figures = found[6].split()
    columns = _COLUMNS.get(len(figures))
    if columns is None:
        return "has a row with other columns than vdbench's"
    row = dict(zip(columns, figures, strict=False))
    if depth := rounded(row.get("depth", "")):
        run.depth = max(run.depth, float(depth.middle))
    if found[4] is None:
        run.seen_s.append(int(found[1]) * 3600 + int(found[2]) * 60 + float(found[3]))
        return ()
    intervals = int(found[5]) - int(found[4]) + 1
    if run.name.startswith("SD_format") or intervals < 1 or no_time(row["rate"]) or rounded(row["rate"]) is None:
        return ()
    seconds = _seconds(run, intervals, int(found[5]))
    return "does not say how long an interval was" if seconds is None else _trials(run, row, seconds, number)


def _seconds(run: _Run, intervals: int, last: int) -> Fraction | None:
    """Of so many intervals, by when their rows were printed, or else by what was asked for."""
    steps = [(after - before) % _DAY_S for before, after in zip(run.seen_s, run.seen_s[1:], strict=False)]
    if steps:
        return round(median(steps)) * Fraction(intervals) or None
    asked = re.search(r"elapsed=([0-9]{1,9})", run.about)
    return Fraction(int(asked[1]) * intervals, last) if asked and last else None


def _trials(run: _Run, row: Mapping[str, str], seconds: Fraction, number: int) -> Sequence[Phase] | str:
    size, share = whole(row["size"]), rounded(row["share"])
    reads = Fraction(row["share"]) / 100 if share else Fraction(2)
    if not size or reads > 1:
        return "has a row that is not whole"
    phases = []
    for op, part in (("read", reads), ("write", 1 - reads)):
        done = round(Fraction(row["rate"]) * part * seconds)
        lasted = round(seconds * 10**9)
        if part and done and done * size < LARGEST and lasted < LARGEST:
            phases.append(
                Phase(
                    phase=op,
                    setting=_setting(run, row, op, size, mixed=part != 1),
                    elapsed_ns=lasted,
                    bytes=done * size,
                    operations=done,
                    line=number,
                    latency=_latency(row, op, done, mixed=part != 1),
                    unplaced=_unplaced(run),
                    notes=(_ESTIMATED, *([OF_A_MIX] if part != 1 else [])),
                )
            )
    return phases


def _setting(run: _Run, row: Mapping[str, str], op: str, size: int, *, mixed: bool) -> SettingValues:
    threads = _THREADS.search(run.about)
    loops = run.about.partition("For loops: ")[2].strip(" .")
    return {
        "kind": "stream",
        "op": op,
        "tasks": int(threads[1]) if threads else max(1, math.ceil(run.depth)),
        "transfer_size": size,
        "run": run.name,
        "options": None if loops == "None" else loops or None,
        **({"read_share": row["share"]} if mixed else {}),
    }


def _unplaced(run: _Run) -> Unplaced:
    missing = ("access",) if _THREADS.search(run.about) else ("threads", "access")
    why = f"{' and '.join(missing)} stand in vdbench's parameter file, which its output does not show"
    return Unplaced(f"{run.name};{run.about}", missing, why)


def _latency(row: Mapping[str, str], op: str, count: int, *, mixed: bool) -> Latency | None:
    """In milliseconds; of a mix only what stands there of its reads and its writes."""
    mean, most = (row.get(f"{op} {what}") or (None if mixed else row.get(what)) for what in ("mean", "max"))
    times = [None if (found := rounded(text)) is None else round(found.middle * 10**6) for text in (mean, most)]
    return latency(count, minimum=None, mean=times[0], maximum=times[1]) if any(times) else None
