"""mdtest's output, line by line (4.1)."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

from tonnage.compat.mdtest.request import Request
from tonnage.compat.mdtest.results import TESTS, TREE, Results, deviation
from tonnage.compat.measure import NUMBER, OPERATIONS, operation_tables
from tonnage.errors import RequestError
from tonnage.outputs import Output, lines, refuse_one_for_two
from tonnage.printable_text import one_line
from tonnage.records.line_types import TrialLine

VERSION = "4.1.0+dev"
"""The version whose output this is."""
_OF_DIRECTORIES = 5
"""So many of the tests are about directories, the first ones."""


def now() -> str:
    """Returns the local time as ``11/20/2026 15:10:04``."""
    return datetime.now().strftime("%m/%d/%Y %H:%M:%S")


def header(request: Request) -> Iterator[str]:
    """What is printed before anything is measured."""
    yield f"-- started at {now()} --\n"
    yield f"mdtest-{VERSION} was launched with {request.tasks} total task(s) on {request.nodes} node(s)"
    yield "Command line used: mdtest" + "".join(f" '{one_line(word)}'" for word in request.words)
    if request.read and not request.read_bytes:
        yield "WARNING: -e is 0: the read phase only opens and closes the files"
    yield "Nodemap: " + request.nodemap
    if not request.dummy:
        yield from _file_system(request.places[0])
    if request.shift:
        yield f"V-0: Rank   0 Line  2594 Each phase works on the items of the task {request.shift} further on."
    if request.random:
        yield f"random seed: {request.seed}"


def _file_system(directory: str) -> Iterator[str]:
    facts = os.statvfs(directory)
    total, free = facts.f_blocks * facts.f_frsize, facts.f_bfree * facts.f_frsize
    size, unit = (total / (1 << 40), "TiB") if total > 1 << 40 else (total / (1 << 30), "GiB")
    used = (1 - free / total) * 100 if total else 0.0
    names_used = (1 - facts.f_ffree / facts.f_files) * 100 if facts.f_files else 0.0
    yield f"{'Path':<20}: {one_line(directory)}"
    yield (
        f"{'FS':<20}: {size:.1f} {unit}   Used FS: {used:2.1f}%   "
        f"Inodes: {facts.f_files / (1 << 20):.1f} Mi   Used Inodes: {names_used:2.1f}%"
    )


def count(request: Request, tasks: int, items: int) -> str:
    """``2 tasks, 2000 files/directories``; of files that all tasks share mdtest says that it is one."""
    if request.shared:
        return f"{tasks} tasks, 1 file"
    kinds = [name for name, wanted in (("files", request.files), ("directories", request.directories)) if wanted]
    return f"{tasks} tasks, {tasks * items} {'/'.join(kinds)}"


def commands(request: Request, found: Results) -> Iterator[str]:
    """The user's commands, each time that one was called."""
    for phase, _ in found.tests:
        if phase not in TREE:
            if request.before:
                yield f'V-0: Rank   0 Line   285 calling prologue: "{shlex.join(request.before)}"'
            if request.after:
                yield f'V-0: Rank   0 Line   301 calling epilogue: "{shlex.join(request.after)}"'


def stonewall(made: Sequence[int]) -> str:
    """Files of each task when the time was up; mdtest prints a blank and an empty line behind it."""
    return f"Continue stonewall hit min: {min(made)} max: {max(made)} avg: {sum(made) / len(made):.1f} \n"


def tables(request: Request, found: Results) -> Iterator[str]:
    """The SUMMARY tables, and what goes before each."""
    if request.verbosity:
        yield from _each(found)
    kinds = [False] * request.rates + [True] * request.times
    for times in kinds:
        if request.per_task:
            yield from _per_task(request, found, times)
        yield f"\nSUMMARY {'time (in ms/op)' if times else 'rate (in ops/sec)'}: (of {found.iterations} iterations)"
        extra = "per Rank: Max            Min           Mean      per Iteration:" if request.task_columns else " " * 15
        yield f"   Operation     {extra} Max            Min           Mean        Std Dev"
        extra = "         ---            ---           ----       " if request.task_columns else ""
        yield f"   ---------      {extra}               ---            ---           ----        -------"
        for phase in _rows(request):
            if phase != "read-directory":
                yield _row(request, found, phase, times)


def _rows(request: Request) -> list[str]:
    phases = list(TESTS)
    if not request.directories:
        return phases[_OF_DIRECTORIES:]
    return phases if request.files else [*phases[:_OF_DIRECTORIES], *TREE]


def _row(request: Request, found: Results, phase: str, times: bool) -> str:
    values = found.seconds(phase) if times else found.rates(phase)
    columns = f"{TESTS[phase]:<22} " if phase in TREE else f"{TESTS[phase]:<18} "
    if request.task_columns:
        shares = [share for at in range(found.iterations) for share in found.shares(phase, at)]
        each = values if phase in TREE else [share.seconds if times else share.rate for share in shares]
        columns += "".join(f"{value:14.3f} " for value in (max(each), min(each), sum(each) / len(each))) + "    "
    columns += "" if phase in TREE else "    "
    across = (max(values), min(values), sum(values) / len(values), deviation(values))
    return f"   {columns}" + " ".join(f"{value:14.3f}" for value in across)


def _per_task(request: Request, found: Results, times: bool) -> Iterator[str]:
    yield f"\nPer process result ({'time' if times else 'rate'}):"
    phases = list(TESTS)[0 if request.directories else _OF_DIRECTORIES :]
    for iteration in range(found.iterations):
        yield f"iteration: {iteration}"
        for phase in phases:
            shares = found.shares(phase, iteration)
            values = ",".join(f"{share.seconds if times else share.rate:e}" for share in shares)
            yield f"Test {TESTS[phase]} {values}"


def _each(found: Results) -> Iterator[str]:
    """From ``-v`` on: each test of each iteration."""
    yield "V-1: Rank   0 Line  2677 "
    yield "V-1: Rank   0 Line  2678    Operation               Duration              Rate"
    yield "V-1: Rank   0 Line  2679    ---------               --------              ----"
    for iteration in range(found.iterations):
        yield f"V-1: Rank   0 Line  2063 main: * iteration {iteration + 1} *"
        for phase, name in TESTS.items():
            if test := found.tests.get((phase, iteration)):
                yield (f"V-1: Rank   0 Line  1435   {name:<18}: {test.seconds:14.3f} sec, {test.rate:14.3f} ops/sec")


def task_lines(found: Results, items: int) -> Iterator[str]:
    """Yields the lines of ``--saveRankPerformanceDetails`` below its header: all tasks in the first iteration, then
    each."""
    whole = [found.tests.get((phase, 0)) for phase in TESTS]
    made = found.made()
    yield f"all,{items if made is None else made}" + "".join(
        _pair(test.operations, test.seconds) if test else ",," for test in whole
    )
    for iteration in range(found.iterations):
        for task in range(found.tasks):
            shares = [found.shares(phase, iteration)[task] for phase in TESTS if phase not in TREE]
            yield f"{task}," + "".join(_pair(share.operations, share.seconds) for share in shares)


def task_header() -> str:
    """Returns the header of that file."""
    return "rank,items" + "".join(f",rate-{name},time-{name}" for name in TESTS.values())


def _pair(operations: int, seconds: float) -> str:
    return f",{operations / seconds:.10e},{seconds:.10e}" if operations and seconds else ",,"


def damage(lines: Sequence[TrialLine]) -> str | None:
    """The line that tells of files that were read and are not what was written."""
    bad = sum(line["verify"]["damaged_operations"] for line in lines if line["verify"])
    return (
        f"\nERROR: verifying the data on read ({bad} errors)! The rates count reads of damaged data.\n" if bad else None
    )


_TASKS = lines("a table of mdtest's tasks", task_header(), r"(all|\d+),\d*(,[\d.e+-]*)*")


def refuse_foreign(request: Request) -> None:
    """RequestError, before anything is measured, where a file that would be written is not ours, or is a directory of
    ``-d``."""
    found = [output for output, _ in _wanted(request)]
    refuse_one_for_two(found, request.places, "a directory that is measured")
    for output in found:
        output.check()


def save(request: Request, found: Sequence[Results], items: int) -> list[str]:
    """Writes them; what could not be written, and why."""
    failed = []
    for output, kind in _wanted(request):
        try:
            if (written := _text(kind, request, found, items)) is not None:
                output.write(written)
        except (RequestError, OSError) as error:
            failed.append(str(error))
    return failed


def _wanted(request: Request) -> Iterator[tuple[Output, tuple[str, int]]]:
    """Each file, and what goes into it: the option, or a phase and the number of a task."""
    if request.status_file and request.create and request.files:
        yield Output(Path(request.status_file), "-x", NUMBER), ("-x", 0)
    if request.task_file:
        option = "--saveRankPerformanceDetails"
        yield Output(Path(request.task_file), option, _TASKS), (option, 0)
    if request.operations_files and request.files:
        for phase in _sizes(request):
            for task in range(max(request.sweep)):
                place = Path(f"{request.operations_files}-{TESTS[phase]}-{task:05d}.csv")
                yield Output(place, "--savePerOpDataCSV", OPERATIONS), (phase, task)


def _sizes(request: Request) -> dict[str, int]:
    """Phase on files → bytes of one operation."""
    found = {"create": request.write_bytes, "stat": 0, "read": request.read_bytes, "remove": request.write_bytes}
    return {phase: size for phase, size in found.items() if getattr(request, phase)}


def _text(kind: tuple[str, int], request: Request, found: Sequence[Results], items: int) -> str | None:
    """None where nothing was measured for it."""
    what, task = kind
    if what == "--saveRankPerformanceDetails":
        written = [task_header(), *(line for part in found for line in task_lines(part, items))]
        return "".join(f"{line}\n" for line in written)
    wanted = "create" if what == "-x" else what
    tests = [test for part in found for (phase, _), test in part.tests.items() if phase == wanted]
    if what == "-x":
        return f"{max(share.operations for share in tests[-1].tasks)}\n" if tests else None
    # As with mdtest, the last iteration's stay.
    tests = [test for test in tests if task < len(test.tasks)]
    if not tests:
        return None
    columns = tests[-1].run.operations(tests[-1].line["record"]) or {}
    return operation_tables(columns, [task], _sizes(request)[what] or 1)[task]
