"""sob's lines, of which an MB is 2^20 bytes: ``Wrote 10240.000 MB in 212.000 s for 48.302 MB/s, 1 files``.

A file may have a command line above them (``sob -rw -b 8m -s 10g``) and the lines of several hosts, each below a
heading ``* On host: compute1``. Hosts that are printed together ran at the same time, without a barrier: they are the
tasks of one trial, of which the rate is all bytes over the longest time, and never the sum of their rates.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from tonnage.importers.imported_phases import ImportedFile, Note, Phase, StatedRate, Task, arguments_of, few
from tonnage.importers.rounded_numbers import MIB, elapsed_ns, letters, no_time, rounded, whole
from tonnage.importers.trace import LARGEST, content
from tonnage.records.line_types import SettingValues
from tonnage.units import rate_text

_LINE = re.compile(
    r"\s*(Wrote|Write|Read|Random read)\s+([0-9.]+) MB in (-?[0-9.]+) s(?:econds)? for ([0-9.]+) MB/s"
    r"(?:, ([0-9]{1,9}) files)?\s*\Z",
    re.IGNORECASE,
)
_HOST = re.compile(r"[\s*#>-]*On (?:host|node)\s*:?\s*[`*\"']*([\w.-]{1,253})", re.IGNORECASE)
_COMMAND = re.compile(r"[\s*#>$%`]*(?:(?:\S*/)?sob)(\s+-.*?)[`\s]*\Z")
_WAYS = ("write", "read", "random read")
_APART = 0.05
"""Of the rate together: by so much a sum of rates is another figure."""


@dataclass(slots=True)
class _Line:
    way: str
    number: int
    moved: int
    lasted_ns: int
    files: int | None
    stated_rate: StatedRate
    host: str | None


@dataclass(slots=True)
class _Test:
    """One command, on one host or on several at once."""

    command: str = ""
    line: int = 1
    hosts: list[str] = field(default_factory=list)
    lines: list[_Line] = field(default_factory=list)

    @property
    def options(self) -> dict[str, str]:
        found: dict[str, str] = {}
        words = list(arguments_of(self.command))
        while words:
            word = words.pop(0)
            for place, letter in enumerate(word[1:], 1) if word.startswith("-") else ():
                if letter in "bsnoR":
                    found[letter] = word[place + 1 :] or (words.pop(0) if words else "")
                    break
                found[letter] = ""
        return found


def read(data: bytes, _: str) -> ImportedFile:
    """Reads the trials of all lines. Never raises: ``problems`` names each line that it cannot read."""
    lines, torn = content(data)
    tests, problems = _tests(lines, torn)
    phases: list[Phase] = []
    for test in tests:
        phases += _phases(test)
        problems += _missing(test)
    if not phases and not problems:
        problems.append("line 1: it has no line of sob")
    commands = {test.command for test in tests if test.lines}
    command = f"sob {commands.pop()}" if len(commands) == 1 else None
    return ImportedFile(
        phases=tuple(phases), problems=few(problems), tool="sob", command=command if command != "sob " else None
    )


def _tests(lines: Sequence[str], torn: bool) -> tuple[list[_Test], list[str]]:
    tests = [_Test()]
    problems: list[str] = []
    for number, line in enumerate(lines, 1):
        test = tests[-1]
        if found := _LINE.match(line):
            read_line = _line(found, number, test.hosts[-1] if test.hosts else None)
            if isinstance(read_line, _Line):
                test.lines.append(read_line)
            else:
                problems.append(f"line {number}: this line of sob {read_line}; left out")
        elif " MB/s" in line or " MB in " in line:
            why = "is cut off" if torn and number == len(lines) else "is not whole"
            problems.append(f"line {number}: this line of sob {why}; left out")
        elif found := _HOST.match(line):
            if found[1] in test.hosts:
                tests.append(test := _Test(test.command, number))
            test.hosts.append(found[1])
        elif found := _COMMAND.match(line):
            _called(tests, found[1].strip(), number)
    return tests, problems


def _called(tests: list[_Test], command: str, number: int) -> None:
    """A command line: of another test, or the same one on the next host."""
    test = tests[-1]
    if not test.lines and (not test.command or test.command == command):
        test.command, test.line = command, number
    elif command != test.command or not test.hosts:
        # A host's heading may stand above its command.
        own = test.hosts[-1:] if test.hosts and all(line.host != test.hosts[-1] for line in test.lines) else []
        test.hosts = test.hosts[: len(test.hosts) - len(own)]
        tests.append(_Test(command, number, own))


def _line(found: re.Match[str], number: int, host: str | None) -> _Line | str:
    """What it says, or what is wrong with it."""
    if no_time(found[3]):
        return f"has a rate of {found[4]} MB/s beside a time of {found[3]} s"
    size, seconds, rate = (rounded(found[column]) for column in (2, 3, 4))
    if size is None or seconds is None or rate is None:
        return "is not whole"
    # Three decimals of an MB: files are whole blocks, so that the middle is nearest.
    moved = round(size.middle * MIB)
    rate = rate.times(MIB)
    lasted = elapsed_ns(moved, seconds, rate)
    if lasted is None or not 0 < moved < LARGEST:
        return "is not whole"
    way = {"wrote": "write"}.get(found[1].lower(), found[1].lower())
    said = StatedRate(line=number, text=f"{found[4]} MB/s, MB of 2^20", rate=rate, count=moved, seconds=seconds)
    return _Line(way, number, moved, lasted, int(found[5]) if found[5] else None, said, host)


def _phases(test: _Test) -> list[Phase]:
    """Of hosts that ran at once one trial of each operation; without hosts, each line is one."""
    if len(test.hosts) < 2:
        return [_phase(test, [line]) for line in test.lines]
    # A host that did something twice did so in two trials.
    rounds: dict[tuple[str, int], list[_Line]] = {}
    for line in test.lines:
        before = sum(one.host == line.host and one.way == line.way and one.number < line.number for one in test.lines)
        rounds.setdefault((line.way, before), []).append(line)
    return [_phase(test, lines) for lines in rounds.values()]


def _phase(test: _Test, lines: Sequence[_Line]) -> Phase:
    first = lines[0]
    op = "write" if first.way == "write" else "read"
    lasted, moved = max(line.lasted_ns for line in lines), sum(line.moved for line in lines)
    tasks = tuple(Task(end_ns=line.lasted_ns, bytes=line.moved, operations=0, host=line.host) for line in lines)
    return Phase(
        phase=op,
        setting=_setting(test, lines, op),
        elapsed_ns=lasted,
        bytes=moved,
        operations=0,
        line=first.number,
        tasks=tasks if len(lines) > 1 or first.host else (),
        durability="none",
        stated_rate=first.stated_rate if len(lines) == 1 else None,
        notes=_sum(lines, moved, lasted),
    )


def _sum(lines: Sequence[_Line], moved: int, lasted_ns: int) -> tuple[Note, ...]:
    """What their rates would add up to, where that is another figure."""
    together = Fraction(moved * 10**9, lasted_ns)
    added = sum((Fraction(line.moved * 10**9, line.lasted_ns) for line in lines), Fraction(0))
    if len(lines) < 2 or added <= together * Fraction(1 + _APART):
        return ()
    sentence = (
        f"the {len(lines)} hosts' rates add up to {rate_text(float(added))}, and all bytes over the longest time are "
        f"{rate_text(float(together))}: they began without a barrier, and whoever was done left the rest to the others"
    )
    return (Note("summed-rates", sentence),)


def _setting(test: _Test, lines: Sequence[_Line], op: str) -> SettingValues:
    options, files = test.options, {line.files for line in lines}
    moved = {line.moved for line in lines}
    return {
        "kind": "stream",
        "op": op,
        "tasks": len(lines),
        "transfer_size": letters(options.get("b", "")),
        "access": "random" if lines[0].way.startswith("random") else "sequential",
        "files": files.pop() if len(files) == 1 else None,
        "file_size": letters(options.get("s", "")),
        "in_directory": whole(options.get("o", "")),
        "random_reads": whole(options.get("R", "")) if op == "read" else None,
        "bytes": moved.pop() if len(moved) == 1 else None,
        "hosts": " ".join(sorted(line.host or "" for line in lines)) or None,
    }


def _missing(test: _Test) -> list[str]:
    """Problems for tests of the command line that have no line of results."""
    options = test.options
    asked = [way for way, letter in zip(_WAYS, "wrR", strict=True) if letter in options]
    found = []
    hosts: Sequence[str | None] = test.hosts or [None]
    for host in hosts:
        done = {line.way for line in test.lines if line.host == host}
        lacking = [way for way in asked if way not in done]
        if lacking:
            place = f" on {host}" if host else ""
            what = " and ".join(f"{way}s (-{'wrR'[_WAYS.index(way)]})" for way in lacking)
            found.append(f"line {test.line}: sob was asked for {what}{place}, and has no line of it")
    return found
