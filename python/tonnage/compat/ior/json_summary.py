"""``summaryFormat=JSON``: one object, whole or not at all, valid at every verbosity. ``tonnage`` is the key of ours."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import TextIO

from tonnage.compat.ior.file_names import file_name
from tonnage.compat.ior.number_format import MEBIBYTE, MEGABYTE
from tonnage.compat.ior.parameters import option_lines, parameter_lines
from tonnage.compat.ior.results import Row, Summary, TestResult
from tonnage.compat.ior.text_output import VERSION, capacity, machine, now, tasks_on_node


class JsonPrinter:
    """Prints when all is done."""

    live = False

    def __init__(self, out: TextIO, command_line: Sequence[str]) -> None:
        self._out = out
        self._command_line = " ".join(command_line)
        self._head: dict[str, object] = {}
        self._tests: list[dict[str, object]] = []
        self._rows: list[dict[str, object]] = []
        """Of the last test."""

    def begin(self, verbose: int) -> None:
        """Begins the output, once, before the first test."""
        self._head = {
            "Version": VERSION,
            "Began": now(),
            "Command line": self._command_line,
            "Machine": machine(verbose),
        }

    def test(self, result: TestResult) -> None:
        """A test begins."""
        size, used, inodes, used_inodes = capacity(result.test)
        self._rows = []
        self._tests.append(
            {
                "TestID": result.identifier,
                "StartTime": now(),
                "Path": file_name(result.test, 0),
                "Capacity": size,
                "Used Capacity": used,
                "Inodes": inodes,
                "Used Inodes": used_inodes,
                "Parameters": dict(parameter_lines(result.test, result.identifier)),
                "Options": dict(option_lines(result.test)),
                "Results": self._rows,
            }
        )

    def table(self, result: TestResult, signature: int) -> None:
        """Prints nothing."""

    def row(self, result: TestResult, row: Row) -> None:
        """A phase was measured."""
        test = result.test
        self._rows.append(
            {
                "access": row.access,
                "bwMiB": _number(row.bandwidth / MEBIBYTE),
                "blockKiB": _number(test.block_size / 1024),
                "xferKiB": _number(test.transfer_size / 1024),
                "iops": _number(row.iops),
                "latency": _number(row.latency),
                "openTime": _number(row.open),
                "wrRdTime": _number(row.transfer),
                "closeTime": _number(row.close),
                "totalTime": _number(row.total),
            }
        )

    def warning(self, text: str) -> None:
        """Nothing: warnings are in ``tonnage``."""

    def remark(self, text: str) -> None:
        """Prints nothing."""

    def ended(self, result: TestResult) -> None:
        """IOR's ``max``, which it prints from ``-v`` on, where it makes its JSON invalid."""
        most = {}
        for access in ("write", "read"):
            if rows := result.of(access):
                bandwidth = max(row.bandwidth for row in rows)
                most[f"{access}MiB"] = _number(bandwidth / MEBIBYTE)
                most[f"{access}MB"] = _number(bandwidth / MEGABYTE)
        self._tests[-1]["max"] = most

    def finish(self, results: Sequence[TestResult]) -> None:
        """Prints it all."""
        whole = {
            **self._head,
            "tests": self._tests,
            "summary": [_summary(result, summary) for result in results for summary in result.summaries()],
            "Finished": now(),
            "tonnage": [
                {
                    "TestID": result.identifier,
                    "runs": [str(path) for path in result.paths],
                    "failed": result.failures,
                    "warnings": result.warnings,
                    "findings": [{"code": finding.code, "text": finding.text} for finding in result.findings],
                }
                for result in results
            ],
        }
        self._out.write(json.dumps(whole, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
        self._out.flush()


def _summary(result: TestResult, summary: Summary) -> dict[str, object]:
    test, rate, operations = result.test, summary.bandwidth, summary.operations
    found: dict[str, object] = {
        "operation": summary.access,
        "API": test.api,
        "TestID": result.identifier,
        "ReferenceNumber": test.reference_number,
        "segmentCount": test.segment_count,
        "blockSize": test.block_size,
        "transferSize": test.transfer_size,
        "numTasks": test.num_tasks,
        "tasksPerNode": tasks_on_node(test),
        "repetitions": test.repetitions,
        "filePerProc": test.file_per_proc,
        "reorderTasks": test.reorder_tasks,
        "taskPerNodeOffset": test.task_per_node_offset,
        "reorderTasksRandom": test.reorder_tasks_random,
        "reorderTasksRandomSeed": test.reorder_tasks_random_seed,
        "bwMaxMIB": _number(rate.max / MEBIBYTE),
        "bwMinMIB": _number(rate.min / MEBIBYTE),
        "bwMeanMIB": _number(rate.mean / MEBIBYTE),
        "bwStdMIB": _number(rate.deviation / MEBIBYTE),
        "OPsMax": _number(operations.max),
        "OPsMin": _number(operations.min),
        "OPsMean": _number(operations.mean),
        "OPsSD": _number(operations.deviation),
        "MeanTime": _number(summary.mean_time),
    }
    if test.stone_walling_wear_out:
        seconds = sum(row.stonewall for row in summary.rows)
        moved = sum(row.stonewall_bytes for row in summary.rows)
        found["StoneWallTime"] = _number(seconds / len(summary.rows))
        found["StoneWallbwMeanMIB"] = _number(moved / seconds / MEBIBYTE if seconds else 0.0)
    # IOR's name; what it holds is the size of all files together.
    found["xsizeMiB"] = _number(summary.rows[0].bytes / MEBIBYTE)
    return found


def _number(value: float) -> float:
    """With IOR's four decimals; more where they would leave nothing."""
    if value == 0 or abs(value) >= 1:
        return round(value, 4)
    return round(value, 4 - math.floor(math.log10(abs(value))))
