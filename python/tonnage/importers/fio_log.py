"""fio's logs: ``NAME_bw.1.log`` and its like, a line ``time ms, value, direction, block bytes, …``.

A line is one operation, or (``log_avg_msec``) a mean over the time since the line before. Only bandwidth and single
latencies give the number of bytes moved: means of latencies and of operations a second do not.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import PurePath

from tonnage.importers.imported_phases import ImportedFile, Latency, Note, OneTasksFile, Phase, few, latency
from tonnage.importers.rounded_numbers import KIB, whole
from tonnage.importers.trace import LARGEST, content
from tonnage.records.line_types import SettingValues

_NAME = re.compile(r"(?P<stem>.*)_(?P<what>bw|iops|lat|clat|slat)(?:\.(?P<job>[0-9]{1,6}))?\.log\Z")
_OTHER_JOBS = Note(
    "side-by-side",
    "logs of several jobs do not say when each ran: unless `stonewall` parted them they ran at the same time, "
    "and none of them has a rate of the storage alone",
)
_WAYS = ("read", "write", "trim")
_MS = 10**6
_BIN_NS = 100 * _MS
_LATENCY_COLUMNS = 5
"""Versions whose lines have fewer wrote microseconds or nanoseconds, and the log does not say which."""


@dataclass(frozen=True, slots=True)
class _Entry:
    line: int
    end_ns: int
    value: int
    block: int


def read(data: bytes, name: str) -> ImportedFile:
    """Reads the trials of a log, by its name and its lines. Never raises: ``problems`` names each line that it cannot
    read."""
    match = _NAME.match(PurePath(name).name)
    if match is None:
        problem = "line 1: the name is not that of a log of fio, as NAME_bw.1.log or NAME_lat.log"
        return ImportedFile(problems=(problem,))
    lines, torn = content(data)
    ways: dict[str, list[_Entry]] = {}
    problems: list[str] = []
    columns = 0
    if not lines:
        problems.append("line 1: the log is empty")
    for number, line in enumerate(lines, 1):
        cells = [whole(cell) for cell in line.split(",")]
        bad = len(cells) < 4 or any(cell is None for cell in cells[:4]) or (cells[2] or 0) >= len(_WAYS)
        if bad or (torn and number == len(lines)):
            problems.append(
                f"line {number}: {'is cut off' if torn and number == len(lines) else 'is no entry'}; left out"
            )
            continue
        columns = max(columns, len(cells))
        end, value, direction, block = (cell or 0 for cell in cells[:4])
        ways.setdefault(_WAYS[direction], []).append(_Entry(number, end * _MS, value, block))
    measurement = f"{PurePath(name).parent}/{match['stem']}"
    one_of = OneTasksFile(measurement, match["job"], _OTHER_JOBS) if match["job"] else None
    phases = []
    for way, entries in ways.items():
        phase = _phase(match, one_of, way, entries, columns) if way != "trim" else "trims are no workload here"
        if isinstance(phase, str):
            problems.append(f"line {entries[0].line}: {phase}; left out")
        else:
            phases.append(phase)
    return ImportedFile(phases=tuple(phases), problems=few(problems), tool="fio")


def _phase(
    match: re.Match[str], one_of: OneTasksFile | None, way: str, entries: Sequence[_Entry], columns: int
) -> Phase | str:
    what = match["what"]
    single = all(entry.block for entry in entries)
    if not single and what != "bw":
        return f"these are means over time, and means of {what} do not say how much was moved; import the bw log"
    if any(after.end_ns < before.end_ns for before, after in pairwise(entries)):
        return "its times run backwards: it is several jobs in one file"
    if entries[-1].end_ns >= LARGEST or max(entry.value for entry in entries) > 2**50:
        return "its figures are out of all bounds"
    moved = _single(entries) if single else _averaged(entries)
    lasted, total = max(entries[-1].end_ns, _MS), sum(each[2] for each in moved)
    if not 0 < total < LARGEST:
        return "it moved nothing"
    sizes = {entry.block for entry in entries}
    setting: SettingValues = {
        "kind": "stream",
        "op": way,
        "tasks": 1,
        "transfer_size": sizes.pop() if single and len(sizes) == 1 else None,
        "log": match["stem"],
        "job": match["job"],
        # Logs of latencies and of rates of one job are of the same calls, and no repetitions of each other.
        "logged": what if single else None,
    }
    return Phase(
        phase=way,
        setting=setting,
        elapsed_ns=lasted,
        bytes=total,
        operations=len(entries) if single else 0,
        line=entries[0].line,
        one_of=one_of,
        series=tuple(each for each in moved if each[1] > each[0]),
        latency=_latency(entries) if single and what in ("lat", "clat") and columns >= _LATENCY_COLUMNS else None,
    )


def _single(entries: Sequence[_Entry]) -> list[tuple[int, int, int]]:
    """Bytes in each tenth of a second."""
    bins: dict[int, int] = {}
    for entry in entries:
        bins[entry.end_ns // _BIN_NS] = bins.get(entry.end_ns // _BIN_NS, 0) + entry.block
    return [(place * _BIN_NS, (place + 1) * _BIN_NS, moved) for place, moved in bins.items()]


def _averaged(entries: Sequence[_Entry]) -> list[tuple[int, int, int]]:
    """Each mean times the time it is of."""
    rows, last = [], 0
    for entry in entries:
        rows.append((last, entry.end_ns, entry.value * KIB * (entry.end_ns - last) // 10**9))
        last = entry.end_ns
    return rows


def _latency(entries: Sequence[_Entry]) -> Latency:
    ordered = sorted(entry.value for entry in entries)
    count = len(ordered)

    def quantile(per_mille: int) -> int:
        return ordered[max(0, -(-count * per_mille // 1000) - 1)]

    quantiles: dict[str, int | None] = {
        key: quantile(share) for key, share in {"p50_ns": 500, "p90_ns": 900, "p99_ns": 990, "p999_ns": 999}.items()
    }
    return latency(count, minimum=ordered[0], mean=sum(ordered) // count, maximum=ordered[-1], quantiles=quantiles)
