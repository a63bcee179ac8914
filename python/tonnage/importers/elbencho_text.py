"""What elbencho prints for people: a block for each phase, with what the first and the last thread to finish have.

How many threads ran, in which blocks, stands only in the command line, which must be among the lines above.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tonnage.importers.elbencho import phase_of
from tonnage.importers.imported_phases import ImportedFile, Phase, arguments_of, few
from tonnage.importers.rounded_numbers import letters
from tonnage.importers.trace import content

_HEADER = re.compile(r"OPERATION +RESULT TYPE +FIRST DONE +LAST DONE\s*\Z")
_FIRST_LINE = re.compile(r"([A-Z][A-Z0-9_]*) +(Elapsed time *:.*)\Z")
_RESULT = re.compile(r" +(\S.*?) *: +(?:\S+ +)?(\S+)\s*\Z")
_LATENCY = re.compile(r" +(\S.*?) latency *: \[ *min=(\S+) avg=(\S+) max=(\S+) *\]")
_COMMAND = re.compile(r"(?:[$#+>] *)?((?:\S*/)?elbencho +-.*)\Z")
_ELAPSED = re.compile(r"(?:([0-9]{1,6})h)?(?:([0-9]{1,2})m)?(?:([0-9]{1,2})(?:\.([0-9]{3}))?s)?\Z")
_LATENCY_UNITS = {"us": 1, "ms": 1000, "s": 1_000_000}
_ENTRIES = ("Files", "Dirs", "Objects", "Buckets")
_VALUED = {
    "-t": "threads", "--threads": "threads", "-b": "block size", "--block": "block size", "-s": "file size",
    "--size": "file size", "-n": "dirs", "--dirs": "dirs", "-N": "files", "--files": "files", "--iodepth": "IO depth",
    "--hosts": "hosts", "--label": "label",
}  # fmt: skip
"""Options with a value → column of the CSV."""
_FLAGS = {"--direct": "direct IO", "--rand": "random"}
_DEFAULTS = {"threads": "1", "hosts": "1", "block size": str(1 << 20), "IO depth": "1", "direct IO": "0", "random": "0"}
_SIZES = ("block size", "file size")
_COUNTS = ("threads", "dirs", "files", "IO depth")


@dataclass(slots=True)
class _Reader:
    phases: list[Phase] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    command: str | None = None
    asked: dict[str, str] | None = None
    """By the command line, in the columns of the CSV."""
    row: dict[str, str] | None = None
    """Of the phase that is being read."""
    at: int = 0
    blocks: int = 0


def read(data: bytes, _: str) -> ImportedFile:
    """Reads an output. Never raises: ``problems`` names the line of each part that it cannot read."""
    lines, torn = content(data)
    reader = _Reader()
    for number, line in enumerate(lines, 1):
        if torn and number == len(lines):
            break
        _line(reader, line, number)
    if reader.row is not None:
        reader.problems.append(f"line {reader.at}: the output breaks off in this phase; left out")
    if not reader.blocks and not reader.problems:
        reader.problems.append("line 1: it has no result of elbencho")
    return ImportedFile(
        phases=tuple(reader.phases), problems=few(reader.problems), tool="elbencho", command=reader.command
    )


def _line(reader: _Reader, line: str, number: int) -> None:
    if found := _COMMAND.match(line):
        reader.command, reader.asked = found[1], _asked(found[1])
    elif found := _FIRST_LINE.match(line):
        _end(reader)
        reader.row, reader.at = {"operation": found[1]}, number
        reader.blocks += 1
        _result(reader.row, f" {found[2]}")
    elif line.startswith("---") or _HEADER.match(line):
        _end(reader)
    elif reader.row is not None:
        _result(reader.row, line)


def _end(reader: _Reader) -> None:
    """The phase that has been read, if there is one, is whole."""
    row, reader.row = reader.row, None
    if row is None:
        return
    if reader.asked is None:
        why = "the text does not say how many threads ran"
        reader.problems.append(f"line {reader.at}: {why}; hint: put elbencho's command line above it; left out")
        return
    phase = phase_of({**reader.asked, **row}, reader.at)
    if isinstance(phase, str):
        reader.problems.append(f"line {reader.at}: {phase}; left out")
    elif phase is not None:
        reader.phases.append(phase)


def _result(row: dict[str, str], line: str) -> None:
    """A line of a block, in the columns of the CSV."""
    if found := _LATENCY.match(line):
        name = "IO" if found[1] == "IO" else "Ent" if found[1] in _ENTRIES else None
        if name is not None:
            row |= {f"{name} lat us [{way}]": _us(found[2 + place]) for place, way in enumerate(("min", "avg", "max"))}
        return
    found = _RESULT.match(line)
    if found is None:
        return
    what, last = found[1], found[2]
    kind, _, rest = what.partition(" ")
    if what == "Elapsed time":
        row["time ms [last]"] = _ms(last)
    elif what in ("IOPS", "Throughput MiB/s", "Total MiB"):
        row[{"IOPS": "IOPS", "Throughput MiB/s": "MiB/s", "Total MiB": "MiB"}[what] + " [last]"] = last
    elif kind in _ENTRIES and rest == "total":
        row |= {"entries [last]": last, "path type": "dir"}
    elif kind.removesuffix("/s") in _ENTRIES and not rest:
        row |= {"entries/s [last]": last, "path type": "dir"}


def _ms(text: str) -> str:
    """Milliseconds of ``330ms``, ``2.002s``, ``1m2.003s``; in hours it has whole seconds."""
    if text.endswith("ms"):
        return text.removesuffix("ms")
    found = _ELAPSED.match(text)
    if found is None or found[3] is None:
        return ""
    seconds = int(found[1] or 0) * 3600 + int(found[2] or 0) * 60 + int(found[3])
    return f"{seconds}e3" if found[4] is None else str(seconds * 1000 + int(found[4]))


def _us(text: str) -> str:
    """Whole microseconds of ``297us``, ``1.21ms``, ``12.3s``."""
    for unit, factor in _LATENCY_UNITS.items():
        digits = text.removesuffix(unit)
        if digits != text and re.fullmatch(r"[0-9]{1,15}(\.[0-9]{1,3})?", digits, re.ASCII):
            return str(round(float(digits) * factor))
    return ""


def _asked(command: str) -> dict[str, str]:
    """What a command line asks for, in the columns of the CSV."""
    row, words = {**_DEFAULTS, "command": command}, list(arguments_of(command)[1:])
    row["paths"] = str(sum("/" in word and not word.startswith("-") for word in words) or 1)
    while words:
        word = words.pop(0)
        name, equal, value = word.partition("=")
        if name in _FLAGS:
            row[_FLAGS[name]] = "1"
        elif name in _VALUED:
            row[_VALUED[name]] = value if equal else words.pop(0) if words else ""
        elif word[:2] in _VALUED and not word.startswith("--"):
            row[_VALUED[word[:2]]] = word[2:]
    row["hosts"] = str(len(row["hosts"].split(","))) if row["hosts"] != "1" else "1"
    for name in (*_SIZES, *_COUNTS):
        if name in row:
            size = letters(row[name])
            row[name] = "" if size is None else str(size)
    return row
