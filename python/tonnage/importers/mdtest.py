"""mdtest's output, of versions 1.9 to 4.1.

mdtest prints a summary over its iterations. What it prints of each with ``-v`` is the rate of all tasks up to 3.3, from
barrier to barrier by the clock of rank 0, and that of rank 0 alone, which is no trial, from 4.0 on, and before it with
``-B``, without barriers. Its maximum, minimum and mean are over the iterations from 4.0 on, and before that over the
iterations and the ranks.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from tonnage.importers.figures import Rounded, elapsed_ns, iterations, letters, rounded, whole
from tonnage.importers.parsed import FROM_SUMMARY, Found, Phase, Said, few, words_of
from tonnage.importers.trace import LARGEST, content
from tonnage.records.line_types import SettingValues

PHASES = {
    "Directory creation": "make-directory", "Directory stat": "stat-directory", "Directory read": "read-directory",
    "Directory rename": "rename-directory", "Directory removal": "remove-directory", "File creation": "create",
    "File stat": "stat", "File read": "read", "File removal": "remove",
}  # fmt: skip
"""Tree creation and removal are rank 0's, and how many directories they are of is not said: they are left out."""
_BANNER = re.compile(r"mdtest-(\S+) was launched with ([0-9]{1,9}) total task\(s\) on ([0-9]{1,9}) node")
_ITEMS = re.compile(r"([0-9]{1,9}) tasks, ([0-9]{1,18}) (?:files|directories|files/directories)\s*\Z")
_SUMMARY = re.compile(r"SUMMARY(?: (rate|time))?(?: \([^)]*\))?:? \(of ([0-9]{1,6}) iterations\)")
_ROW = re.compile(r"\s+(\w+ \w+)\s*:?\s+([0-9.]+)\s+([0-9.]+)\s+([0-9.]+)\s+(\S+)\s*\Z")
_ITERATION = re.compile(r"V-1:.*?\b((?:File|Directory) \w+)\s*:\s+([0-9.]+) sec,\s+([0-9.]+) ops/sec")
_PATH = re.compile(r"Path\s*:\s+(.*?)\s*\Z")


@dataclass(slots=True)
class _Reader:
    version: str | None = None
    command: str = ""
    began: str | None = None
    path: str | None = None
    tasks: int = 0
    items: int = 0
    iterations: int = 0
    in_rates: bool = False
    stonewalled: bool = False
    by_rank: bool = False
    """Whether its summary is over the ranks as well."""
    of_each: bool = False
    """Whether its lines of each iteration are of all tasks."""
    told: set[str] = field(default_factory=set)
    """Phases with lines of each iteration."""
    rows: int = 0
    phases: list[Phase] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def read(data: bytes, _: str) -> Found:
    """What an output says; whatever it holds, it is read or told of by its line."""
    lines, torn = content(data)
    reader = _Reader()
    for number, line in enumerate(lines, 1):
        _line(reader, line, number, torn and number == len(lines))
    if not reader.tasks:
        reader.problems.append("line 1: this is no output of mdtest: no line says how many tasks it was launched with")
    elif not reader.rows:
        reader.problems.append(f"line {len(lines)}: the output ends here, before its summary")
    return Found(
        phases=tuple(reader.phases),
        problems=few(reader.problems),
        tool="mdtest",
        version=reader.version,
        command=reader.command or None,
        began=reader.began,
        path=reader.path,
    )


def _line(reader: _Reader, line: str, number: int, torn: bool) -> None:
    if found := _BANNER.match(line):
        reader.version, reader.tasks = found[1], int(found[2])
        reader.of_each = reader.by_rank = found[1].partition(".")[0] in ("1", "2", "3")
        reader.told, reader.rows, reader.stonewalled = set(), 0, False
    elif line.startswith("Command line used:"):
        reader.command = line.partition(":")[2].strip()
        reader.of_each = reader.of_each and "-B" not in words_of(reader.command)
    elif line.startswith("-- started at"):
        reader.began = line.strip("- ").removeprefix("started at ")
    elif found := _PATH.match(line):
        reader.path = found[1]
    elif found := _ITEMS.match(line):
        reader.items = int(found[2])
    elif "stonewall hit" in line:
        reader.stonewalled = True
    elif found := _SUMMARY.search(line):
        reader.in_rates, reader.iterations = found[1] != "time", int(found[2])
    elif (found := _ITERATION.search(line)) and reader.of_each:
        _iteration(reader, found, number)
    elif reader.in_rates and (found := _ROW.match(line)) and found[1] in PHASES:
        _row(reader, found, number, torn)


def _iteration(reader: _Reader, found: re.Match[str], number: int) -> None:
    rate, seconds = rounded(found[3]), rounded(found[2])
    if found[1] not in PHASES or rate is None or rate.low <= 0 or seconds is None or not reader.items:
        return
    said = Said(line=number, text=f"{found[3]} ops/sec", rate=rate, count=reader.items, seconds=seconds)
    lasted = elapsed_ns(reader.items, seconds, rate)
    if lasted is not None:
        reader.told.add(found[1])
        reader.phases.append(_phase(reader, found[1], lasted, number, said))


def _row(reader: _Reader, found: re.Match[str], number: int, torn: bool) -> None:
    """A line of the summary: what of its iterations follows from it."""
    name = found[1]
    reader.rows += 1
    most, least, mean, spread = (rounded(found[column]) for column in (2, 3, 4, 5))
    if name in reader.told:
        return
    if torn or most is None or least is None or mean is None:
        reader.problems.append(f"line {number}: this line of the summary is not whole; left out")
    elif mean.middle > 0:
        if reader.stonewalled or not reader.items:
            why = "it ended at a stonewall" if reader.stonewalled else "the number of files is missing"
            reader.problems.append(f"line {number}: {name}: how many were done is not said ({why}); left out")
            return
        _from_summary(reader, name, number, most, least, mean, spread)


def _from_summary(
    reader: _Reader, name: str, number: int, most: Rounded, least: Rounded, mean: Rounded, spread: Rounded | None
) -> None:
    if reader.by_rank:
        # One iteration's maximum and minimum are those of the ranks, and the slowest is the last to end.
        values = [least.middle] if reader.iterations == 1 else []
    else:
        values = iterations(reader.iterations, most, least, mean, spread)
    if not values:
        printed = "with -v" + (" and without -B" if "-B" in words_of(reader.command) else "")
        advice = f"{printed} a line of each is printed" if reader.by_rank else "with -i 3 or fewer each follows from it"
        reader.problems.append(
            f"line {number}: {name} has a summary of {reader.iterations} iterations, no line of each for all tasks; "
            f"a mean of rates is no trial, and is left out ({advice})"
        )
    for value in values:
        lasted = max(1, round(reader.items * 10**9 / value)) if value > 0 else None
        if lasted is not None and lasted < LARGEST:
            reader.phases.append(_phase(reader, name, lasted, number, None, derived=len(values) > 1))


def _phase(reader: _Reader, name: str, lasted: int, number: int, said: Said | None, *, derived: bool = False) -> Phase:
    setting = _setting(reader)
    phase = PHASES[name]
    size = {"create": setting["file_size"], "read": setting["read_size"]}.get(phase)
    return Phase(
        phase=phase,
        setting=setting,
        elapsed_ns=lasted,
        bytes=reader.items * (size or 0),
        operations=reader.items,
        line=number,
        said=said,
        notes=(FROM_SUMMARY,) if derived else (),
    )


def _setting(reader: _Reader) -> SettingValues:
    """Factors as those of ``files``, as far as the command line says; what it leaves out is mdtest's default."""
    words = words_of(reader.command)
    known = bool(words)

    def value(flag: str, parse: Callable[[object], int | None], default: int) -> int | None:
        if flag in words and words.index(flag) + 1 < len(words):
            return parse(words[words.index(flag) + 1])
        return default if known else None

    return {
        "kind": "files",
        "tasks": reader.tasks,
        "items": reader.items,
        "file_size": value("-w", letters, 0),
        "read_size": value("-e", letters, 0),
        "depth": value("-z", whole, 0),
        "branch": value("-b", whole, 1),
        "own_directories": "-u" in words if known else None,
        "sync": "fsync" if "-y" in words else None,
        "path": reader.path,
    }
