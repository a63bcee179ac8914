"""IOR's file of single operations (``-O savePerOpDataCSV=NAME``): ``NAME-REPETITION-RANK.csv``, a line ``time,runtime,
tp`` each: when it began and how long it took, in seconds, and its bytes over that.

IOR makes the file anew for each phase, so that it has the last one, and does not say whether that wrote or read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import PurePath

from tonnage.importers.imported_phases import ImportedFile, Latency, Note, OneTasksFile, Phase, few, latency
from tonnage.importers.rounded_numbers import Rounded, rounded
from tonnage.importers.trace import LARGEST, content

HEADER = "time,runtime,tp"
_NAME = re.compile(r"(?P<stem>.*)-(?P<repetition>[0-9]{1,9})-(?P<rank>[0-9]{5,9})\.csv\Z")
_OTHER_RANKS = Note("side-by-side", "other ranks ran at the same time: none of them has a rate of the storage alone")
_BIN_NS = 10**8
_SECOND_NS = 10**9


@dataclass(frozen=True, slots=True)
class _Entry:
    start_ns: int
    end_ns: int
    size: Rounded
    """Bytes, as far as rate and time say them."""


def read(data: bytes, name: str) -> ImportedFile:
    """Reads the trial of one rank's file. Never raises: ``problems`` names each line that it cannot read."""
    lines, torn = content(data)
    if not lines or lines[0].strip() != HEADER:
        return ImportedFile(problems=(f"line 1: this is no file of IOR's operations: its first line is not {HEADER}",))
    entries: list[_Entry] = []
    problems: list[str] = []
    for number, line in enumerate(lines[1:], 2):
        entry = None if torn and number == len(lines) else _entry(line)
        if entry is None:
            why = "is cut off" if torn and number == len(lines) else "is no operation"
            problems.append(f"line {number}: {why}; left out")
        else:
            entries.append(entry)
    phase = _phase(entries, name) if entries else "the file has no operation"
    if isinstance(phase, str):
        return ImportedFile(problems=few([*problems, f"line 1: {phase}"]))
    return ImportedFile(phases=(phase,), problems=few(problems), tool="IOR")


def _entry(line: str) -> _Entry | None:
    cells = [rounded(cell) for cell in line.split(",")]
    if len(cells) != 3:
        return None
    start, lasted, rate = cells
    if start is None or lasted is None or rate is None or max(start.high, lasted.high) * _SECOND_NS >= LARGEST:
        return None
    start_ns, span_ns = round(start.middle * _SECOND_NS), max(1, round(lasted.middle * _SECOND_NS))
    size = Rounded.between(lasted.low * rate.low, lasted.high * rate.high)
    return _Entry(start_ns, start_ns + span_ns, size) if size.low > 0 else None


def _phase(entries: Sequence[_Entry], name: str) -> Phase | str:
    if any(after.start_ns < before.start_ns for before, after in pairwise(entries)):
        return "its times run backwards: it is several files in one"
    size = _size(entries)
    if size is None:
        return "rates and times of its operations give no one size"
    if size * len(entries) >= LARGEST:
        return "its figures are out of all bounds"
    bins: dict[int, int] = {}
    for entry in entries:
        bins[entry.end_ns // _BIN_NS] = bins.get(entry.end_ns // _BIN_NS, 0) + size
    file = _NAME.match(PurePath(name).name)
    return Phase(
        phase="transfer",
        setting={
            "kind": "stream",
            "op": None,
            "tasks": 1,
            "transfer_size": size,
            "log": file["stem"] if file else None,
            "rank": int(file["rank"]) if file else None,
        },
        elapsed_ns=max(entry.end_ns for entry in entries),
        bytes=size * len(entries),
        operations=len(entries),
        line=2,
        one_of=OneTasksFile(f"{PurePath(name).parent}/{file['stem']}-{file['repetition']}", file["rank"], _OTHER_RANKS)
        if file
        else None,
        latency=_latency(sorted(entry.end_ns - entry.start_ns for entry in entries)),
        series=tuple((at * _BIN_NS, (at + 1) * _BIN_NS, moved) for at, moved in sorted(bins.items())),
    )


def _size(entries: Sequence[_Entry]) -> int | None:
    """The size of each operation: of the whole numbers that agree with all lines, the one with most factors of two."""
    low, high = max(entry.size.low for entry in entries), min(entry.size.high for entry in entries)
    least, most = -int(-low // 1), int(high)
    if not 0 < least <= most:
        return None
    step = 1 << (most.bit_length() - 1)
    while most // step * step < least:
        step >>= 1
    return most // step * step


def _latency(ordered: Sequence[int]) -> Latency:
    count = len(ordered)
    quantiles: dict[str, int | None] = {
        key: ordered[max(0, -(-count * share // 1000) - 1)]
        for key, share in {"p50_ns": 500, "p90_ns": 900, "p99_ns": 990, "p999_ns": 999}.items()
    }
    return latency(count, minimum=ordered[0], mean=sum(ordered) // count, maximum=ordered[-1], quantiles=quantiles)
