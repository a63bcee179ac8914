"""mdtest's output, of versions 1.9 to 4.1.

mdtest prints a summary over its iterations. What it prints of each with ``-v`` is the rate of all tasks up to 3.3, from
barrier to barrier by the clock of rank 0, and that of rank 0 alone, which is no trial, from 4.0 on, and before it with
``-B``, without barriers. Its maximum, minimum and mean are over the iterations from 4.0 on, and before that over the
iterations and the ranks.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tonnage.importers.imported_phases import ImportedFile, Phase, few
from tonnage.importers.mdtest_output import PHASES, Output, Row, failed
from tonnage.importers.rounded_numbers import whole
from tonnage.importers.trace import content

_BANNER = re.compile(r"mdtest-(\S+) was launched with ([0-9]{1,9}) total task\(s\) on ([0-9]{1,9}) node")
_ITEMS = re.compile(r"([0-9]{1,9}) tasks, ([0-9]{1,18}) (?:files|directories|files/directories)\s*\Z")
_SUMMARY = re.compile(r"SUMMARY(?: (rate|time))?(?: \([^)]*\))?:? \(of ([0-9]{1,6}) iterations\)")
_ROW = re.compile(r"\s+(\w+ \w+)\s*:?\s+([0-9.]+)\s+([0-9.]+)\s+([0-9.]+)\s+(\S+)\s*\Z")
_ITERATION = re.compile(r"V-1:.*?\b((?:File|Directory) \w+)\s*:\s+([0-9.]+) sec,\s+([0-9.]+) ops/sec")
_PATH = re.compile(r"Path\s*:\s+(.*?)\s*\Z")
_HIT = re.compile(r"(?:V-\d+: )?.*[Ss]tonewall hit min: ([0-9]{1,18}) max: ([0-9]{1,18}) avg: ")
_STATUS = re.compile(r".*Read stonewall status; items: ([0-9]{1,18})\s*\Z")


@dataclass(slots=True)
class _Reader:
    outputs: list[Output] = field(default_factory=list)
    now: Output = field(default_factory=Output)
    table: str = ""
    """``rate`` or ``time``: what the lines of the summary are of."""
    rows: int = 0
    began: str | None = None


def read(data: bytes, _: str) -> ImportedFile:
    """Reads an output. Never raises: ``problems`` names the line of each part that it cannot read."""
    lines, torn = content(data)
    reader = _Reader()
    for number, line in enumerate(lines, 1):
        _line(reader, line, number, torn and number == len(lines))
    phases: list[Phase] = []
    problems: list[str] = []
    for output in reader.outputs:
        output.conclude()
        phases += output.phases
        problems += output.problems
    if not reader.outputs:
        problems.append("line 1: this is no output of mdtest: no line says how many tasks it was launched with")
    elif not reader.rows:
        problems.append(f"line {len(lines)}: the output ends here, before its summary")
    elif not phases and not problems:
        problems.append(f"line {len(lines)}: all of its rates are 0.000: nothing was done")
    first = reader.outputs[0] if reader.outputs else reader.now
    return ImportedFile(
        phases=tuple(phases),
        problems=few(problems),
        tool="mdtest",
        version=first.version,
        command=first.command or None,
        began=reader.began,
        path=first.path,
    )


def _line(reader: _Reader, line: str, number: int, torn: bool) -> None:
    now = reader.now
    if found := _BANNER.match(line):
        by_rank = found[1].partition(".")[0] in ("1", "2", "3")
        reader.now = Output(
            len(reader.outputs) + 1, found[1], int(found[2]), int(found[3]), by_rank=by_rank, of_each=by_rank
        )
        reader.outputs.append(reader.now)
        reader.rows, reader.table = 0, ""
    elif line.startswith("Command line used:"):
        now.called(line.partition(":")[2].strip())
    elif line.startswith("-- started at"):
        reader.began = reader.began or line.strip("- ").removeprefix("started at ")
    elif found := _PATH.match(line):
        now.path = found[1]
    elif found := _ITEMS.match(line):
        now.items = int(found[2])
    elif found := _HIT.match(line):
        now.hits.append(whole(found[2]) or 0)
    elif found := _STATUS.match(line):
        now.status = whole(found[1])
    elif tests := failed(line):
        now.failures.update(tests)
    elif found := _SUMMARY.search(line):
        reader.table, now.iterations = found[1] or "rate", int(found[2])
    elif (found := _ITERATION.search(line)) and now.of_each:
        now.iteration(found[1], found[2], found[3], number)
    elif reader.table and (found := _ROW.match(line)) and found[1] in PHASES:
        if reader.table == "rate":
            reader.rows += 1
            now.rows.append(Row(found[1], number, torn, found[2], found[3], found[4], found[5]))
        elif not torn:
            now.times[found[1]] = found[4]
