"""IOR's output as text: header, options, table, summary; each line as it becomes known."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Sequence
from typing import TextIO

from tonnage.compat.ior.file_names import file_name
from tonnage.compat.ior.number_format import MEBIBYTE, MEGABYTE, cell
from tonnage.compat.ior.options import Parameters
from tonnage.compat.ior.parameters import option_lines, parameter_lines
from tonnage.compat.ior.results import Row, Summary, TestResult

VERSION = "4.1.0+dev"
"""The IOR whose output this is."""
TABLE_HEAD = (
    "\naccess    bw(MiB/s)  IOPS       Latency(s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   "
    "total(s)   iter\n"
    "------    ---------  ----       ----------  ---------- ---------  --------   --------   --------   --------   ----"
)
_NAMES = ("Max(MiB)", "Min(MiB)", "Mean(MiB)", "StdDev", "Max(OPs)", "Min(OPs)", "Mean(OPs)", "StdDev", "Mean(s)")
SUMMARY_HEAD = (
    f"{'Operation':<9} " + " ".join(f"{name:>10}" for name in (*_NAMES, "Stonewall(s)")) + f" {'Stonewall(MiB)':>13}"
    " Test# #Tasks tPN reps fPP reord reordoff reordrand seed segcnt "
    f"{'blksiz':>8} {'xsize':>8} {'aggs(MiB)':>9} {'API':>5} RefNum"
)


def now() -> str:
    """Returns text such as ``Fri Nov 20 15:08:54 2026``."""
    return time.strftime("%a %b %e %H:%M:%S %Y")


def machine(verbose: int) -> str:
    """Returns text such as ``Linux host``; more from ``-vv`` on."""
    facts = platform.uname()
    more = f" {facts.release} {facts.version} {facts.machine}" if verbose >= 2 else ""
    return f"{facts.system} {facts.node}{more}"


def capacity(test: Parameters) -> tuple[str, str, str, str]:
    """Size, used share, inodes and used share of them, of the file system; zeros where there is none."""
    try:
        facts = os.statvfs(os.path.dirname(file_name(test, 0)) or ".")  # noqa: PTH120 - a printed name, not a path
    except OSError:
        facts = None
    if test.api == "DUMMY" or facts is None or not facts.f_blocks:
        return "0.0 GiB", "0.0%", "0.0 Mi", "0.0%"
    size, unit = facts.f_blocks * facts.f_frsize / (1 << 30), "GiB"
    if size > 1024:
        size, unit = size / 1024, "TiB"
    inodes = 100 * (1 - facts.f_ffree / facts.f_files) if facts.f_files else 0.0
    used = 100 * (1 - facts.f_bfree / facts.f_blocks)
    return f"{size:.1f} {unit}", f"{used:.1f}%", f"{facts.f_files / MEBIBYTE:.1f} Mi", f"{inodes:.1f}%"


class TextPrinter:
    """``summaryFormat=default``."""

    live = True
    """What happens on the way (warnings) belongs between the lines."""

    def __init__(self, out: TextIO, command_line: Sequence[str]) -> None:
        self._out = out
        self._command_line = " ".join(command_line)

    def _say(self, *lines: str) -> None:
        self._out.write("\n".join(lines) + "\n")
        self._out.flush()

    def _pair(self, key: str, value: object) -> None:
        self._say(f"{key:<20}: {value}")

    def begin(self, verbose: int) -> None:
        """Prints the header, once, before the first test."""
        self._say(f"IOR-{VERSION}: MPI Coordinated Test of Parallel I/O")
        self._pair("Began", now())
        self._pair("Command line", self._command_line)
        self._pair("Machine", machine(verbose))

    def test(self, result: TestResult) -> None:
        """A test begins: what it is, and the head of its table."""
        test = result.test
        self._pair("TestID", result.identifier)
        self._pair("StartTime", now())
        size, used, inodes, used_inodes = capacity(test)
        self._pair("Path", file_name(test, 0))
        self._pair("FS", f"{size}   Used FS: {used}   Inodes: {inodes}   Used Inodes: {used_inodes}")
        if test.verbose >= 3:
            self._say("", "Parameters: ")
            for key, value in parameter_lines(test, result.identifier):
                self._pair(key, value)
        if test.debug:
            self._say("", "*** DEBUG MODE ***", f"*** {test.debug} ***", "")
        self._say("", "Options: ")
        for key, value in option_lines(test):
            self._pair(key, value)
        self._say("", "Results: ")

    def table(self, result: TestResult, signature: int) -> None:
        """Prints the heading of the table."""
        if result.test.verbose >= 2:
            self._say(f"Using Time Stamp {signature} ({signature:#x}) for Data Signature")
        self._say(TABLE_HEAD)

    def warning(self, text: str) -> None:
        """What IOR warns of, between the lines."""
        self._say(f"WARNING: {text}")

    def remark(self, text: str) -> None:
        """A line that verbosity adds."""
        self._say(text)

    def row(self, result: TestResult, row: Row) -> None:
        """A phase was measured."""
        test = result.test
        if test.verbose >= 3:
            self._times(result, row)
        numbers = (row.bandwidth / MEBIBYTE, row.iops)
        sizes = (test.block_size / 1024, test.transfer_size / 1024)
        steps = (row.open, row.transfer, row.close, row.total)
        cells = "".join(map(cell, numbers)) + cell(row.latency, "  ") + "".join(map(cell, sizes + steps))
        self._say(f"{row.access:<10}{cells}{row.repetition:<4d}")

    def _times(self, result: TestResult, row: Row) -> None:
        for task, times in zip(row.tasks, row.times, strict=True):
            head = f"Test {result.identifier}: Iter={row.repetition}, Task={task['task']}, Time="
            steps = (
                ("open start", times.open_start), ("open stop", times.open_stop), ("start", times.transfer_start),
                ("stop", times.transfer_stop), ("close start", times.close_start), ("close stop", times.close_stop),
            )  # fmt: skip
            self._say(*(f"{head}{at:.6f}, {row.access} {step}" for step, at in steps))

    def ended(self, result: TestResult) -> None:
        """A test ended: IOR 3's lines, which scripts look for and 4.1 prints from ``-v`` on. A summary if asked for."""
        for access, label in (("write", "Max Write: "), ("read", "Max Read:  ")):
            if rows := result.of(access):
                most = max(row.bandwidth for row in rows)
                self._say(f"{label}{most / MEBIBYTE:.2f} MiB/sec ({most / MEGABYTE:.2f} MB/sec)")
        if result.test.summary_always and result.test.verbose:
            self._say("", SUMMARY_HEAD, *(_summary_line(result, summary) for summary in result.summaries()))

    def finish(self, results: Sequence[TestResult]) -> None:
        """Prints the summary of all tests, after the last one."""
        self._say("", f"Summary of all tests:\n{SUMMARY_HEAD}")
        for result in results:
            for summary in result.summaries():
                self._say(_summary_line(result, summary))
        self._pair("Finished", now())


def _summary_line(result: TestResult, summary: Summary) -> str:
    test, rate, operations = result.test, summary.bandwidth, summary.operations
    rates = (rate.max, rate.min, rate.mean, rate.deviation)
    numbers = [value / MEBIBYTE for value in rates]
    numbers += [operations.max, operations.min, operations.mean, operations.deviation]
    walled = f"{'NA':>10} {'NA':>13}"
    if test.stone_walling_wear_out:
        seconds = sum(row.stonewall for row in summary.rows)
        moved = sum(row.stonewall_bytes for row in summary.rows)
        speed = moved / seconds / MEBIBYTE if seconds else 0.0
        walled = f"{seconds / len(summary.rows):10.2f} {speed:13.2f}"
    return (
        f"{summary.access:<9} " + " ".join(f"{number:10.2f}" for number in numbers) + f" {summary.mean_time:10.5f} "
        f"{walled} {result.identifier:5d} {test.num_tasks:6d} {tasks_on_node(test):3d} {test.repetitions:4d} "
        f"{int(test.file_per_proc):3d} {test.reorder_tasks:5d} {test.task_per_node_offset:8d} "
        f"{test.reorder_tasks_random:9d} {test.reorder_tasks_random_seed:4d} {test.segment_count:6d} "
        f"{test.block_size:8d} {test.transfer_size:8d} {summary.rows[0].bytes / MEBIBYTE:9.1f} {test.api:>3} "
        f"{test.reference_number:6d}"
    )


def tasks_on_node(test: Parameters) -> int:
    """All of them, unless the command line says otherwise."""
    return test.num_tasks if test.tasks_on_node_0 == -1 else test.tasks_on_node_0
