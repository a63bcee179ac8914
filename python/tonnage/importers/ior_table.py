"""IOR's table of results, as text or as CSV, and the settings above it; where there is no table its summary: means over
the iterations, and so no trial, but of three iterations at most these follow from it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from tonnage.importers.imported_phases import FROM_SUMMARY, ImportedFile, Phase, few
from tonnage.importers.ior_test import Test, phase_of
from tonnage.importers.rounded_numbers import MIB, Rounded, exact, iterations, rounded, whole
from tonnage.records.line_types import Json


@dataclass(frozen=True, slots=True)
class _SummaryRow:
    """One operation of the summary; rates in MiB/s."""

    line: int
    op: str
    most: Rounded
    least: Rounded
    mean: Rounded
    spread: Rounded | None
    repetitions: int
    tasks: int
    block: int
    transfer_size: int
    moved: int
    """By one iteration."""


def with_warnings(phases: Sequence[Phase], lines: Sequence[str]) -> tuple[Phase, ...]:
    """What IOR warned of is an error of the trial: a read before its result, a check of what was written after it."""
    found = list(phases)
    for number, line in enumerate(lines, 1):
        if "WARNING" not in line or not (wrong := _WRONG.search(line)):
            continue
        op = wrong[2] or "write"
        before = [place for place, phase in enumerate(found) if phase.phase == op and phase.line < number]
        after = [place for place, phase in enumerate(found) if phase.phase == op and phase.line > number]
        places = before[-1:] if wrong[2] == "write" else after[:1]
        for place in places:
            found[place] = replace(found[place], reason=f"IOR said: {wrong[1]}")
    return tuple(found)


def _summary_columns(header: str) -> list[str]:
    """Names of the columns, those of 2.10 (``Max (MiB)``, ``Std Dev``) as later versions have them; none where the
    line is no header of a summary."""
    names = re.sub(r" \((\w+)\)", r"(\1)", header).replace("Std Dev", "StdDev").split()
    return names if "Max(MiB)" in names else []


def _summary_row(names: Sequence[str], cells: Sequence[str], line: int, test: Test) -> _SummaryRow | None:
    """A row below the header ``names``, with what only the settings of the ``test`` say; None where it is not whole."""
    if len(cells) < len(names) - 1:
        return None
    table = dict(zip(names, cells, strict=False))
    most, least, mean = (rounded(table.get(f"{name}(MiB)", "")) for name in ("Max", "Min", "Mean"))
    known = (test.repetitions, test.tasks, test.block, test.transfer_size)
    numbers = [
        whole(table[name]) if name in table else said
        for name, said in zip(("reps", "#Tasks", "blksiz", "xsize"), known, strict=True)
    ]
    moved = exact(table.get("aggs(MiB)", ""), MIB) or whole(table.get("aggsize", ""))
    if "blksiz" not in names:
        moved = test.of_all_iterations()
    repetitions, tasks, block, transfer_size = numbers
    if (
        most is None
        or least is None
        or mean is None
        or not (repetitions and tasks and block and transfer_size and moved)
    ):
        return None
    # Two columns are called StdDev; the first is that of the rates.
    spread = rounded(cells[list(names).index("StdDev")]) if "StdDev" in names else None
    return _SummaryRow(line, cells[0], most, least, mean, spread, repetitions, tasks, block, transfer_size, moved)


def _summary_phases(row: _SummaryRow, test: Test) -> tuple[list[Phase], list[str]]:
    """The trials that follow from a summary without a table, or what must be said of it."""
    test.block, test.transfer_size = row.block, row.transfer_size
    values = iterations(row.repetitions, row.most, row.least, row.mean, row.spread)
    if not values:
        only = f"{row.op} has a summary of {row.repetitions} iterations and no line of each"
        return [], [f"line {row.line}: {only}; a mean of rates is no trial, and is left out"]
    return [
        Phase(
            phase=row.op,
            setting=test.setting(row.op, row.tasks),
            elapsed_ns=max(1, round(row.moved * 10**9 / (value * MIB))),
            bytes=row.moved,
            operations=row.moved // row.transfer_size,
            line=row.line,
            durability=test.durability if row.op == "write" else "none",
            direct=test.direct,
            notes=(FROM_SUMMARY,) if len(values) > 1 else (),
            unplaced=test.unplaced,
        )
        for value in values
    ], []


def unusable(said: Json) -> list[str]:
    """Of a JSON without results: whether it has a summary."""
    return ["line 1: it has a summary only; a mean of rates is no trial"] if said.get("summary") else []


_KEY = re.compile(r"[A-Za-z][A-Za-z #]*\Z")
VERSION = re.compile(r"IOR-(\S+): MPI Coordinated Test")
MOVED = re.compile(r"WARNING: Using actual aggregate bytes moved\s*= ([0-9]+)")
_RATE = re.compile(r"bw\(([^)]*)\)")
_LONGEST = 200
"""Characters of a line of the file that a message repeats."""
_HINTS = re.compile(r"\s*hints (?:passed to|returned from) .*\{\s*\Z")
_HINT = re.compile(r"\s+([A-Za-z][A-Za-z0-9_]{0,60}) = (.*?)\s*\Z")
_ERROR = re.compile(r"(?:ior )?ERROR: ")
_NO_SYNC = re.compile(r"WARNING: fsync\(\) not supported in selected backend")
_WRONG = re.compile(r"WARNING: (Incorrect data on (write|read) \([0-9]+ errors? found\)|fsync\([^)]*\) failed)")
_NEW_TEST = re.compile(r"(TestID\s+:|Test \d+ started:)")
_OPERATIONS = ("write", "read")


@dataclass(slots=True)
class _Reader:
    """What was read so far."""

    phases: list[Phase] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    test: Test = field(default_factory=Test)
    columns: list[str] = field(default_factory=list)
    tabled: bool = False
    """Whether any of its outputs has a table."""
    unit: str = ""
    comma: bool = False
    ended: bool = True
    finished: bool = False
    """Whether the last line of the present output was there."""
    broken_into: bool = False
    """Whether an output began within another one."""
    rows: dict[str, int] = field(default_factory=dict)
    """Results of each kind of operation in the present output, …"""
    of_test: dict[str, int] = field(default_factory=dict)
    """… and in the present test."""
    refused: set[str] = field(default_factory=set)
    """Operations of the present output with a result that says nothing that can be: its summary says no more."""
    torn: bool = False
    summary: list[str] = field(default_factory=list)
    summarised: bool = False
    in_options: bool = False
    hints: bool = False
    """Whether lines are hints of MPI."""
    version: str | None = None
    said: dict[str, str] = field(default_factory=dict)


def read(lines: list[str], torn: bool) -> ImportedFile:
    """What the lines say; ``torn``: the last one has no end."""
    reader = _Reader()
    for number, line in enumerate(lines, 1):
        if reader.broken_into and _is_of_an_ended_output(reader, line):
            mixed = f"line {number}: outputs of several runs of IOR are mixed; hint: import the output of each alone"
            return ImportedFile(problems=(mixed,))
        last_torn = reader.torn = torn and number == len(lines)
        if not _heading(reader, line, number):
            _row(reader, line, number, last_torn)
    if not reader.ended and not _whole(reader):
        reader.problems.append(f"line {len(lines)}: the output breaks off here, before its end; what it holds is kept")
    if not reader.tabled and not reader.summarised:
        reader.problems.insert(0, _without_table(lines))
    return ImportedFile(
        phases=with_warnings(reader.phases, lines),
        problems=few(reader.problems),
        tool="IOR",
        version=reader.version,
        command=reader.said.get("Command line") or reader.said.get("Command line used"),
        began=reader.said.get("Began") or reader.said.get("Run began"),
        host=(reader.said.get("Machine") or "").partition(" ")[2].split(" ")[0] or None,
        path=reader.said.get("test filename"),
    )


def _heading(reader: _Reader, line: str, number: int) -> bool:
    """Whether the line was one of those that are no result."""
    if not (told := line.strip()):
        return True
    if line.startswith("IOR-") and (found := VERSION.match(line)):
        _end_of_output(reader, number)
        reader.version, reader.ended, reader.finished = reader.version or found[1], False, False
        reader.test, reader.rows, reader.summary, reader.columns = Test(number=reader.test.number + 1), {}, [], []
        reader.of_test, reader.refused = {}, set()
    elif line.startswith(("access ", "access,")) and (unit := _RATE.search(line)):
        reader.comma = line.startswith("access,")
        reader.columns = [_plain(name) for name in _cells(reader, line)]
        reader.unit, reader.summary, reader.tabled = unit[1], [], True
        reader.in_options = reader.hints = False
    elif told == "Summary:" or (line.startswith("Test") and _NEW_TEST.match(line)):
        _new_test(reader, told == "Summary:")
    elif told in ("Options:", "Results:"):
        reader.in_options = told == "Options:"
    elif (told.endswith("{") and _HINTS.match(line)) or (reader.hints and told == "}"):
        reader.hints = told != "}"
    elif reader.hints and (found := _HINT.match(line)):
        reader.test.more[f"hint_{found[1]}"] = found[2]
    elif "WARNING" in line and _warning(reader, line):
        pass
    elif _ERROR.match(line):
        # Of any rank, and so also between other lines.
        reader.problems.append(f"line {number}: IOR ended a test with an error: {line[:_LONGEST].strip()}")
    elif line.startswith("Operation ") and (names := _summary_columns(line)):
        reader.summary = names
    elif line.startswith(("Finished", "Max Write:", "Max Read:")):
        reader.ended = True
        reader.finished = line.startswith("Finished")
    elif not reader.summary and not line.startswith("WARNING") and (pair := _pair(line)):
        return _setting(reader, *pair)
    else:
        return False
    return True


def _warning(reader: _Reader, line: str) -> bool:
    """Whether it was one that says something of the test."""
    if _NO_SYNC.match(line):
        reader.test.no_fsync = True
    elif "WARNING: cannot use O_DIRECT" in line:
        reader.test.no_direct = True
    elif found := MOVED.match(line):
        reader.test.moved = whole(found[1])
        reader.test.short += 1
    else:
        return False
    return True


def _end_of_output(reader: _Reader, number: int) -> None:
    """Another output follows in the same file."""
    if not reader.ended and not _whole(reader):
        reader.problems.append(f"line {number}: another output begins before the end of the one above it")
        reader.broken_into = True


def _is_of_an_ended_output(reader: _Reader, line: str) -> bool:
    """Whether a line of results, or the last line, stands behind the last line of the present output."""
    return reader.finished and line.startswith((*_OPERATIONS, "Finished"))


def _whole(reader: _Reader) -> bool:
    """Whether all iterations are there: inside of other programs, as IO500, IOR prints nothing after them."""
    expected = reader.test.expected
    return bool(expected) and not reader.torn and all(reader.of_test.get(op) == count for op, count in expected.items())


def _new_test(reader: _Reader, in_options: bool) -> None:
    """Of the present output: another one of its script, or the only one."""
    last, reader.summary = reader.test, []
    reader.in_options, reader.of_test = in_options, {}
    # Versions 2 and 3 say `Test 0 started` and `Summary:` of the same test.
    reader.test = Test(number=last.number + bool(last.api), host=last.host)
    reader.test.called(last.command)


def _pair(line: str) -> tuple[str, str] | None:
    """``key : value`` or ``key = value``, each without its blanks."""
    key, sign, value = line.partition(":")
    if not sign or "=" in key:
        key, sign, value = line.partition("=")
    key = key.strip()
    return (key, value.strip()) if sign and value[:1].isspace() and _KEY.match(key) else None


def _setting(reader: _Reader, key: str, value: str) -> bool:
    if key in ("Began", "Run began", "Machine", "Command line", "Command line used", "test filename"):
        reader.said.setdefault(key, value)
    if key in ("Command line", "Command line used"):
        reader.test.called(value)
    elif key == "Machine":
        reader.test.host = value.partition(" ")[2].split(" ")[0] or None
    elif not reader.test.option(key, value) and reader.in_options:
        reader.test.other(key, value)
    return True


def _row(reader: _Reader, line: str, number: int, torn: bool) -> None:
    """Reads a row: a result, a line of the summary, or something else."""
    if not line.lstrip().startswith(_OPERATIONS):
        return
    cells = _cells(reader, line)
    if cells[0] not in _OPERATIONS:
        return
    if reader.summary:
        _summary(reader, cells, number, torn)
        return
    if not reader.columns:
        return
    if len(cells) != len(reader.columns) or torn:
        why = "is cut off" if torn else f"has {len(cells)} columns and not {len(reader.columns)}"
        reader.problems.append(f"line {number}: this result {why}; left out")
        return
    phase = phase_of(reader.test, dict(zip(reader.columns, cells, strict=True)), reader.unit, number)
    if isinstance(phase, str):
        reader.problems.append(f"line {number}: this result {phase}; left out")
        reader.refused.add(cells[0])
        return
    for rows in (reader.rows, reader.of_test):
        rows[phase.phase] = rows.get(phase.phase, 0) + 1
    reader.phases.append(phase)


def _summary(reader: _Reader, cells: list[str], number: int, torn: bool) -> None:
    """Of an operation whose iterations stand above it, a summary says nothing more."""
    reader.summarised = True
    if reader.rows.get(cells[0]) or cells[0] in reader.refused:
        return
    row = None if torn else _summary_row(reader.summary, cells, number, reader.test)
    if row is None:
        reader.problems.append(f"line {number}: this line of the summary is not whole; left out")
        return
    phases, told = _summary_phases(row, reader.test)
    reader.phases += phases
    reader.problems += told


def _without_table(lines: list[str]) -> str:
    """Why there is nothing to read."""
    for number, line in enumerate(lines, 1):
        if line.startswith("ior ERROR"):
            return f"line {number}: IOR ended before its first result: {line[:_LONGEST]}"
    if any("summaryFormat=CSV" in line for line in lines):
        return "line 1: this version of IOR printed no results as CSV; hint: import its text or its JSON"
    return "line 1: this is no output of IOR: it has no table of results"


def _cells(reader: _Reader, line: str) -> list[str]:
    return [cell.strip() for cell in line.split(",")] if reader.comma else line.split()


def _plain(name: str) -> str:
    """``open(s)`` and ``xfer(KiB)`` without their units."""
    return name.partition("(")[0]
