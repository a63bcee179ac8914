"""elbencho's ``--livecsv``: a row each second or so, of what a phase has done since it began.

The last row of a phase is up to one interval before its end, and is as far as the file says anything of it.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tonnage.importers.elbencho import NAMES, UNTIMED, started_at
from tonnage.importers.imported_phases import ImportedFile, Note, Phase, few
from tonnage.importers.rounded_numbers import whole
from tonnage.importers.trace import LARGEST, content

_COLUMNS = ("ISO Date", "Phase", "RuntimeMS", "Rank", "MixType", "DoneBytes", "Entries", "Active")
_CUT = Note("cut-short", "elbencho's live CSV has no row of a phase's end; figures are those of its last row")


@dataclass(frozen=True, slots=True)
class _Row:
    """All workers together."""

    line: int
    when: str
    phase: str
    mix: str
    label: str
    ms: int
    bytes: int
    entries: int
    active: int


def read(data: bytes, _: str) -> ImportedFile:
    """Reads a file. Never raises: ``problems`` names the line of each part that it cannot read."""
    lines, torn = content(data)
    problems: list[str] = []
    rows = list(_rows(lines[:-1] if torn else lines, problems))
    phases = []
    for group in _phases(rows):
        phase = _phase(group)
        if isinstance(phase, str):
            problems.append(f"line {group[0].line}: {phase}; left out")
        elif phase is not None:
            phases.append(phase)
    if not rows and not problems:
        problems.append("line 1: it has no row of a phase, which were all shorter than the interval of its rows")
    return ImportedFile(phases=tuple(phases), problems=few(problems), tool="elbencho")


def _rows(lines: Sequence[str], problems: list[str]) -> Iterator[_Row]:
    names: list[str] = []
    for number, line in enumerate(lines, 1):
        cells = next(csv.reader([line]), [])
        if "RuntimeMS" in cells:
            names = cells
            if missing := [name for name in _COLUMNS if name not in names]:
                problems.append(f"line {number}: it has no column {missing[0]}")
                names = []
            continue
        row = dict(zip(names, cells, strict=False))
        if not names or row.get("Rank", "Total") != "Total":
            continue
        counts = [whole(row.get(name, "")) for name in ("RuntimeMS", "DoneBytes", "Entries", "Active")]
        if len(cells) < len(names) - 1 or any(count is None for count in counts):
            problems.append(f"line {number}: this row is not whole; left out")
            continue
        ms, moved, entries, active = (count or 0 for count in counts)
        yield _Row(
            number, row["ISO Date"], row["Phase"], row["MixType"], row.get("Label", ""), ms, moved, entries, active
        )


def _phases(rows: Sequence[_Row]) -> Iterator[list[_Row]]:
    """Rows of one phase, whose time runs on."""
    group: list[_Row] = []
    for row in rows:
        if group and (row.phase != group[-1].phase or row.ms < group[-1].ms):
            yield group
            group = []
        group.append(row)
    if group:
        yield group


def _phase(rows: Sequence[_Row]) -> Phase | str | None:
    first, last = rows[0], rows[-1]
    tasks = max(row.active for row in rows)
    if last.phase in UNTIMED:
        return None
    if any(row.mix for row in rows) or (last.phase not in NAMES and last.phase not in ("WRITE", "READ")):
        return f"{last.phase} is no phase that is read here"
    files = bool(last.entries)
    done = last.entries if files else last.bytes
    if not done or not last.ms or not tasks or last.bytes >= LARGEST:
        return f"{last.phase} says nothing of what was done"
    name = NAMES.get(last.phase) or ({"WRITE": "create", "READ": "read"}[last.phase] if files else last.phase.lower())
    marks = [(0, 0), *((row.ms * 10**6, row.bytes) for row in rows)]
    return Phase(
        phase=name,
        setting={
            "kind": "files" if files else "stream",
            "tasks": tasks,
            "label": last.label or None,
            **({} if files else {"op": name}),
        },
        elapsed_ns=last.ms * 10**6,
        bytes=last.bytes,
        operations=last.entries,
        line=last.line,
        started=started_at(first.when, before_ms=first.ms),
        durability="none",
        notes=(_CUT,),
        series=tuple((a, b, max(d - c, 0)) for (a, c), (b, d) in pairwise(marks) if b > a),
    )
