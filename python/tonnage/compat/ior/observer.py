"""Turns a run's records into IOR's lines while it goes on."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Protocol

from tonnage.campaign.observer import Observer, Step
from tonnage.compat.front_end import Voice
from tonnage.compat.ior.file_names import file_names
from tonnage.compat.ior.number_format import deviation, mean
from tonnage.compat.ior.parameters import aggregate_bytes
from tonnage.compat.ior.results import Row, TestResult, row_of
from tonnage.compat.ior.text_output import now
from tonnage.compat.ior.validate import hints_of
from tonnage.records.file_names import TASKS
from tonnage.records.line_types import TaskLine, TrialLine


class Printer(Protocol):
    """One of IOR's formats."""

    live: bool

    def begin(self, verbose: int) -> None: ...
    def test(self, result: TestResult) -> None: ...
    def table(self, result: TestResult, signature: int) -> None: ...
    def row(self, result: TestResult, row: Row) -> None: ...
    def warning(self, text: str) -> None: ...
    def remark(self, text: str) -> None: ...
    def ended(self, result: TestResult) -> None: ...


class Rows(Observer):
    """Listens to a run of one test."""

    def __init__(
        self, result: TestResult, printer: Printer, voice: Voice, seed: int, repetition: int = 0, *, first: bool
    ) -> None:
        """``repetition``: of the run's first block. ``first``: this run begins the output."""
        self._result = result
        self._printer = printer
        self._voice = voice
        self._seed = seed
        self._first = repetition
        self._begins = first
        self._tasks = _Tail()

    def started(self, path: Path, target: str, name: str) -> None:  # noqa: ARG002 - as the interface has it
        """The run directory exists: from here on the test has an output."""
        self._result.paths.append(path)
        self._tasks = _Tail(path / TASKS)
        self._voice.tell(f"ior: records in {path}")
        if self._begins:
            self._printer.begin(self._result.test.verbose)
        if self._first == 0:
            begin_test(self._result, self._printer, self._seed)

    def step(self, step: Step) -> None:
        """What verbosity says before a phase."""
        test, phase = self._result.test, step.phase
        if phase == "check" and test.verbose >= 1:
            self._printer.remark(f"Reading back what was written, to check it.\n{now()}")
        if step.purpose != "measure" or test.verbose < 3:
            return
        word = "writing" if phase == "write" else "reading"
        for task, name in enumerate(file_names(test, self._first + step.repetition)):
            self._printer.remark(f"task {task} {word} {name}")
        self._printer.remark(f"Commencing {phase} performance test: {now()}")

    def recorded(self, line: TrialLine) -> None:
        """A phase ended: its row, after what there is to warn of."""
        tasks = [task for task in self._tasks.lines() if task["record"] == line["record"]]
        test = self._result.test
        if line["status"] != "ok":
            self._result.failures.append(self._failure(line))
        damaged = line["verify"]["damaged_operations"] if line["verify"] else 0
        access = "write" if line["phase"] == "check" or line["setting"]["workload"] == "check" else "read"
        if damaged:
            # Scripts look for this line, and read the count.
            self._warn(f"Incorrect data on {access} ({damaged} errors found).")
            self._printer.remark(f"\nUsed Time Stamp {self._seed} ({self._seed:#x}) for Data Signature")
        if line["purpose"] != "measure" or line["setting"]["workload"] == "check":
            return
        row = row_of(line, tasks, test.transfer_size, self._first + line["repetition"])
        if row is None:
            return
        if test.mpiio_hints:
            self._hints(line)
        self._walls(row)
        self._sizes(row)
        if test.verbose >= 4:
            for task in row.tasks:
                self._printer.remark(f"* data moved = {task['bytes']}")
        self._result.rows.append(row)
        self._printer.row(self._result, row)
        if test.outlier_threshold:
            self._outliers(row)

    def note(self, text: str) -> None:
        """A fallback was taken."""
        self._voice.tell(f"ior: {text}")

    def _failure(self, line: TrialLine) -> str:
        """One line: what failed, and the first places."""
        what = f"repetition {self._first + line['repetition']}, {line['phase']}: {line['reason']}"
        places = line["verify"]["first_damage"] if line["verify"] else []
        if not places:
            return what
        names = file_names(self._result.test, self._first + line["repetition"])
        shown = ", ".join(f"{names[place['file']]} offset {place['offset']} ({place['what']})" for place in places[:4])
        more = f" and {len(places) - 4} more places in the record" if len(places) > 4 else ""
        return f"{what}; first at {shown}{more}"

    def _warn(self, text: str) -> None:
        self._result.warnings.append(text)
        self._printer.warning(text)
        if not self._printer.live:
            self._voice.tell(f"ior: {text}")

    def _hints(self, line: TrialLine) -> None:
        """What was given to MPI, and what it says is in effect; scripts read both as IOR prints them."""
        given = hints_of(self._result.test)
        for what, hints in (("passed to MPI_File_open()", given), ("returned from opened file", line["hints"])):
            self._printer.remark("\n".join([f"\nhints {what} {{", *(f"\t{k} = {v}" for k, v in hints.items()), "}"]))

    def _walls(self, row: Row) -> None:
        test, gib = self._result.test, 1 << 30
        walled = [
            (task["task"], operations, task["stonewall_bytes"] or 0)
            for task in row.tasks
            if (operations := task.get("stonewall_operations")) is not None
        ]
        if not test.stone_walling_wear_out or not walled:
            return
        if test.verbose >= 1:
            for number, operations, _ in walled:
                self._printer.remark(f"{number}: stonewalling pairs accessed: {operations}")
        counts = [operations for _, operations, _ in walled]
        moved = [size for _, _, size in walled]
        self._printer.remark(
            f"stonewalling pairs accessed min: {min(counts)} max: {max(counts)} -- "
            f"min data: {min(moved) / gib:.1f} GiB mean data: {mean(moved) / gib:.1f} GiB time: {row.stonewall:.1f}s"
        )

    def _sizes(self, row: Row) -> None:
        """IOR's warning where what moved is not what was asked for, or not what the files hold.

        Scripts read the three sizes: their lines stand as IOR has them.
        """
        test = self._result.test
        expected, found = aggregate_bytes(test), 0
        for name in file_names(test, row.repetition):
            try:
                found += os.stat(name).st_size if test.api != "DUMMY" else 0  # noqa: PTH116
            except OSError:
                found += 0
        if expected == row.bytes == found:
            return
        self._warn(f"Expected aggregate file size       = {expected}")
        self._warn(f"Stat() of aggregate file size      = {found}")
        self._warn(f"Using actual aggregate bytes moved = {row.bytes}")
        if test.deadline_for_stonewalling:
            self._warn(f"-D {test.deadline_for_stonewalling} may have ended the phase before all was moved")

    def _outliers(self, row: Row) -> None:
        times = row.times
        steps = {
            "start time": [at.open_start for at in times],
            "elapsed create time": [at.open_stop - at.open_start for at in times],
            "elapsed transfer time": [at.transfer_stop - at.transfer_start for at in times],
            "elapsed close time": [at.close_stop - at.close_start for at in times],
            "end time": [at.close_stop for at in times],
        }
        for step, values in steps.items():
            middle, spread = mean(values), deviation(values)
            for task, value in zip(row.tasks, values, strict=True):
                if abs(value - middle) > self._result.test.outlier_threshold:
                    self._warn(
                        f"for {task['host']}, task {task['task']}, {row.access} {step} is {value:f} "
                        f"(mean={middle:f}, stddev={spread:f})"
                    )


def begin_test(result: TestResult, printer: Printer, seed: int) -> None:
    """What IOR prints before the first row of a test."""
    test = result.test
    printer.test(result)
    if (test.write_file or test.check_write) and test.api != "DUMMY":
        fate = "its contents are overwritten" if test.use_existing_test_file else "it is replaced if Tonnage made it"
        for name in file_names(test, 0 if test.multi_file else None):
            if Path(name).exists():
                printer.warning(f'"{name}" exists: {fate}')
    printer.table(result, seed)


class _Tail:
    """The lines that were added to a file since the last look."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._offset = 0

    def lines(self) -> list[TaskLine]:
        if self._path is None or not self._path.exists():
            return []
        with self._path.open("rb") as file:
            file.seek(self._offset)
            data = file.read()
        whole = data.rfind(b"\n") + 1
        self._offset += whole
        return [json.loads(line) for line in data[:whole].splitlines()]
