"""iozone's table (one process, also ``-a``): a row for each size of file and of record, a column for each test.

Figures are KiB in a second, cut off to whole ones: all bytes of the file over the time of the test, in which ``-e``
puts the fsync and ``-c`` the close. Columns have no separators, and those of tests that did not run are blank.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from tonnage.importers.imported_phases import ImportedFile, Phase, arguments_of, few, instant
from tonnage.importers.rounded_numbers import KIB, elapsed_ns, rounded, whole
from tonnage.importers.trace import LARGEST, content

_TESTS = (
    ("write", "write", "sequential"), ("rewrite", "write", "sequential"), ("read", "read", "sequential"),
    ("reread", "read", "sequential"), ("random-read", "read", "random"), ("random-write", "write", "random"),
    ("backward-read", "read", "backward"), ("record-rewrite", "write", "one-record"), ("stride-read", "read", "stride"),
    ("fwrite", "write", "sequential"), ("frewrite", "write", "sequential"), ("fread", "read", "sequential"),
    ("freread", "read", "sequential"),
)  # fmt: skip
"""Of the columns in their order: name, what it does, and where."""
_HEADER = re.compile(r" +kB +reclen +write +rewrite +read +reread +read +write +read +rewrite +read +fwrite")
_NO_MATTER_VALUES = frozenset({"-s", "-r", "-n", "-g", "-q", "-y", "-i", "-f", "-b"})
"""With a word of their own, or a value behind the letter."""
_NO_MATTER = _NO_MATTER_VALUES | {"-a", "-A", "-e", "-I", "-w", "-R", "-M"}
_UNIT = re.compile(r"Output is in (.*?)\.?\s*\Z")
_VERSION = re.compile(r"\s*Version \$Revision: ([0-9.]+)")
_SIZES = (16, 24)
"""Where the columns of the two sizes end."""
_WIDTHS = (9, 9, 9, 9, 9, 9, 9, 10, 10, 9, 9, 9, 9)
"""Of the tests' columns, in each of which a figure stands at the right."""


@dataclass(slots=True)
class _Reader:
    phases: list[Phase] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    version: str | None = None
    command: str | None = None
    began: str | None = None
    unit: str | None = None
    fsync: bool = False
    direct: bool = False
    options: str | None = None
    table: bool = False
    ended: bool = False


def read(data: bytes, _: str) -> ImportedFile:
    """Reads an output. Never raises: ``problems`` names the line of each part that it cannot read."""
    lines, torn = content(data)
    reader = _Reader()
    for number, line in enumerate(lines, 1):
        _line(reader, line, number, torn and number == len(lines))
    if not reader.table and not reader.problems:
        reader.problems.append("line 1: this is no output of iozone: it has no table of results")
    elif not reader.ended:
        reader.problems.append(f"line {len(lines)}: the output breaks off here, before its end; what it holds is kept")
    return ImportedFile(
        phases=tuple(reader.phases),
        problems=few(reader.problems),
        tool="iozone",
        version=reader.version,
        command=reader.command,
        began=reader.began if instant(reader.began) else None,
    )


def _line(reader: _Reader, line: str, number: int, torn: bool) -> None:
    key, colon, value = line.strip().partition(": ")
    if found := _VERSION.match(line):
        if reader.table and not reader.ended:
            reader.problems.append(f"line {number}: another output begins before the end of the one above it")
        reader.version, reader.unit = reader.version or found[1], None
        reader.fsync = reader.direct = reader.table = reader.ended = False
        reader.options = None
    elif colon and key == "Command line used":
        reader.command, words = reader.command or value, arguments_of(value)
        reader.fsync, reader.direct, reader.options = "-e" in words, "-I" in words, _others(words[1:])
    elif colon and key == "Run began":
        reader.began = reader.began or value.strip()
    elif "Children see throughput" in line:
        why = "says of several processes how fast each was, and not how much all moved in what time"
        reader.problems.append(f"line {number}: the throughput mode {why}; left out")
    elif found := _UNIT.search(line):
        reader.unit = found[1]
    elif _HEADER.match(line):
        reader.table = True
    elif line.startswith("iozone test complete"):
        reader.ended = True
    elif reader.table and line.strip() and not reader.ended:
        _row(reader, line, number, torn)


def _others(words: Sequence[str]) -> str | None:
    """The options that no other factor has, and that are not about which tests there are, where, or what is printed."""
    found, rest = [], list(words)
    while rest:
        word = rest.pop(0)
        if word[:2] in _NO_MATTER:
            if word in _NO_MATTER_VALUES and rest:
                rest.pop(0)
            continue
        found.append(word)
    return " ".join(found) or None


def _row(reader: _Reader, line: str, number: int, torn: bool) -> None:
    first, second = _SIZES
    kib, record = whole(line[:first]), whole(line[first:second])
    if kib is None or record is None or torn:
        reader.problems.append(f"line {number}: this row {'is cut off' if torn else 'is none of the table'}; left out")
        return
    if reader.unit not in (None, "kBytes/sec"):
        why = f"are {reader.unit}, which do not say how much was moved in what time"
        reader.problems.append(f"line {number}: figures {why}; left out")
        return
    begin = second
    for test, width in zip(_TESTS, _WIDTHS, strict=True):
        cell = line[begin : begin + width]
        begin += width
        if not cell.strip():
            continue
        phase = _phase(reader, test, kib * KIB, record * KIB, cell, number)
        if phase is None:
            reader.problems.append(f"line {number}: {test[0]} {cell.strip()!r} is no rate; left out")
        else:
            reader.phases.append(phase)


def _phase(
    reader: _Reader, test: tuple[str, str, str], moved: int, record: int, cell: str, number: int
) -> Phase | None:
    name, op, access = test
    rate = rounded(cell) if whole(cell) and not cell[-1].isspace() else None
    lasted = elapsed_ns(moved, None, rate.times(KIB)) if rate else None
    if lasted is None or not 0 < record <= moved < LARGEST:
        return None
    return Phase(
        phase=op,
        setting={
            "kind": "stream",
            "op": op,
            "tasks": 1,
            "transfer_size": record,
            "block_size": moved,
            "access": access,
            "test": name,
            "direct": reader.direct,
            "options": reader.options,
        },
        elapsed_ns=lasted,
        bytes=moved,
        operations=moved // record,
        line=number,
        durability=("fsync" if reader.fsync else "none") if op == "write" else None,
        direct=reader.direct,
    )
