"""The files that options ask for: where they are, how each looks, and what is written into them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from tonnage.compat.mdtest import text_output
from tonnage.compat.mdtest.request import Request
from tonnage.compat.mdtest.results import TESTS, Results
from tonnage.compat.measure import NUMBER, OPERATIONS
from tonnage.errors import RequestError
from tonnage.outputs import Output, lines, refuse_one_for_two

_TASKS = lines("a table of mdtest's tasks", text_output.task_header(), r"(all|\d+),\d*(,[\d.e+-]*)*")


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
        written = [text_output.task_header(), *(line for part in found for line in text_output.task_lines(part, items))]
        return "".join(f"{line}\n" for line in written)
    wanted = "create" if what == "-x" else what
    tests = [test for part in found for (phase, _), test in part.tests.items() if phase == wanted]
    if what == "-x":
        return f"{max(share.operations for share in tests[-1].tasks)}\n" if tests else None
    # As with mdtest, the last iteration's stay.
    tests = [test for test in tests if task < len(test.tasks)]
    if not tests:
        return None
    columns = tests[-1].run.operations(tests[-1].line["record"]) or {"task": [], "end_ns": [], "latency_ns": []}
    written = ["time,runtime,tp", *text_output.operation_lines(columns, task, _sizes(request)[what] or 1)]
    return "".join(f"{line}\n" for line in written)
