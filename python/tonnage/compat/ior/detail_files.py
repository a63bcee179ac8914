"""The files that directives ask for: where they are, how each looks, and what is written into them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from io import TextIOBase
from pathlib import Path

from tonnage.compat.front_end import Voice
from tonnage.compat.ior.file_names import file_names
from tonnage.compat.ior.options import Parameters
from tonnage.compat.ior.results import TestResult
from tonnage.compat.ior.summary_files import SUMMARY
from tonnage.compat.measure import NUMBER, OPERATIONS, operation_tables
from tonnage.errors import RequestError
from tonnage.outputs import GrowingOutput, Output, lines, refuse_one_for_two
from tonnage.records import Run

_RANK_HEAD = "access,rank,runtime-with-openclose,runtime,throughput-withopenclose,throughput\n"
_RANKS = lines("a table of ior's ranks", _RANK_HEAD.rstrip(), r"\w+,\d+(,[\d.e+-]+){4}")
OPERATIONS_MOST = 1 << 20
"""Operations of a task that are kept one by one, at most: 16 MiB of memory a task."""


def summary(test: Parameters) -> Output:
    """Returns the file of ``summaryFile``."""
    return Output(Path(test.summary_file), "summaryFile", SUMMARY)


class SummaryFile(TextIOBase):
    """The file of ``summaryFile``, begun with its first words, which standard output gets too: a test that is refused
    leaves the old one and prints nothing."""

    def __init__(self, test: Parameters, voice: Voice) -> None:
        self._voice, self._named = voice, test.summary_file
        self._output = GrowingOutput(summary(test))
        self._text: list[str] = []
        self._trouble: Exception | None = None

    def write(self, text: str) -> int:
        """What cannot go into the file is kept for ``conclude``."""
        if not self._text:
            self._voice.say(f"Writing output to {self._named}")
        self._text.append(text)
        self._attempt(lambda: self._output.add(text))
        return len(text)

    def conclude(self) -> int:
        """The exit code: 1, and the text on standard output, where the file does not have all of it."""
        self._attempt(self._output.check)
        if self._trouble is None:
            return 0
        self._voice.out.write("".join(self._text))
        self._voice.tell(f"ior: the summary is on standard output: {self._trouble}")
        return 1

    def close(self) -> None:
        super().close()
        with suppress(OSError):  # Every text was flushed: a failure is known.
            self._output.close()

    def _attempt(self, step: Callable[[], None]) -> None:
        """One failure ends it: what follows would stand behind a gap."""
        if self._trouble is None:
            try:
                step()
            except (RequestError, OSError) as error:
                self._trouble = error


def refuse_foreign(tests: Sequence[Parameters]) -> None:
    """RequestError where a file that would be written is not ours, or is itself to be measured."""
    measured = [name for test in tests if test.api != "DUMMY" for name in _measured_files(test)]
    found = [output for test in tests for output in _outputs(test)]
    found += [summary(tests[-1])] if tests[-1].summary_file else []
    # Tests of one script may write one file after the other.
    once = list({(output.asked_by, str(output.path)): output for output in found}.values())
    refuse_one_for_two(once, measured if once else (), "a file that is measured")
    for output in once:
        output.check()


def _measured_files(test: Parameters) -> Iterator[str]:
    for repetition in range(test.repetitions) if test.multi_file else [None]:
        yield from file_names(test, repetition)


def _outputs(test: Parameters) -> Iterator[Output]:
    if test.save_rank_details_csv:
        yield _ranks(test)
    if test.stone_walling_status_file and test.write_file:
        yield _status(test)
    if test.save_per_op_data_csv:
        for repetition in range(test.repetitions):
            for task in range(test.num_tasks):
                yield _operations(test, repetition, task)


def _ranks(test: Parameters) -> Output:
    return Output(Path(test.save_rank_details_csv), "saveRankPerformanceDetailsCSV", _RANKS)


def _status(test: Parameters) -> Output:
    return Output(Path(test.stone_walling_status_file), "stoneWallingStatusFile", NUMBER)


def _operations(test: Parameters, repetition: int, task: int) -> Output:
    place = Path(f"{test.save_per_op_data_csv}-{repetition}-{task:05d}.csv")
    return Output(place, "savePerOpDataCSV", OPERATIONS)


def operations_kept(test: Parameters) -> int:
    """Returns how many operations of each task are kept."""
    return min(test.segment_count * (test.block_size // test.transfer_size), OPERATIONS_MOST)


def save(result: TestResult) -> None:
    """All that the test's directives ask for. What cannot be written is one of the test's failures."""
    steps: list[Callable[[TestResult], None]] = [_save_ranks, _save_stonewall, _save_operations]
    for step in steps:
        try:
            step(result)
        except (RequestError, OSError) as error:
            result.failures.append(str(error))


def _save_ranks(result: TestResult) -> None:
    """``saveRankPerformanceDetailsCSV``: a line a row and task."""
    test = result.test
    if not test.save_rank_details_csv:
        return
    text = [_RANK_HEAD]
    for row in result.rows:
        # IOR takes every task's share to be the same.
        share = row.bytes / test.num_tasks
        for task, times in zip(row.tasks, row.times, strict=True):
            whole = times.close_stop - times.open_start
            moved = times.transfer_stop - times.transfer_start
            numbers = (whole, moved, share / whole, share / moved)
            text.append(f"{row.access},{task['task']},{','.join(f'{number:.10e}' for number in numbers)}\n")
    _ranks(test).write("".join(text))


def _save_stonewall(result: TestResult) -> None:
    """IOR's status file: how many transfers a task made, for a later read."""
    test = result.test
    writes = [row for row in result.rows if row.access == "write"]
    if test.stone_walling_status_file and writes:
        pairs = max(task["operations"] for task in writes[-1].tasks)
        _status(test).write(f"{pairs}\n")


def _save_operations(result: TestResult) -> None:
    """``savePerOpDataCSV``: a file a task and repetition. As with IOR, a read replaces what a write left."""
    test = result.test
    if not test.save_per_op_data_csv:
        return
    for row in result.rows:
        columns = Run.open(result.run_of(row)).operations(row.line["record"]) or {}
        tables = operation_tables(columns, [task["task"] for task in row.tasks], test.transfer_size)
        for task, text in tables.items():
            _operations(test, row.repetition, task).write(text)
