"""``summaryFile`` as CSV and as JSON, and whether a file is one of these, which the next run may replace."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import Any, BinaryIO, TextIO

from tonnage.compat.ior.file_names import file_name
from tonnage.compat.ior.number_format import MEBIBYTE, MEGABYTE
from tonnage.compat.ior.options import Parameters
from tonnage.compat.ior.parameters import option_lines, parameter_lines
from tonnage.compat.ior.results import Row, Summary, TestResult
from tonnage.compat.ior.text_output import SUMMARY_HEAD, TABLE_HEAD, VERSION, capacity, machine, now, tasks_on_node
from tonnage.outputs import Form, lines

HEAD = "access,bw(MiB/s),IOPS,Latency,block(KiB),xfer(KiB),open(s),wr/rd(s),close(s),total(s),numTasks,iter"


class CsvPrinter:
    """Rows as they come; whatever else there is to say goes elsewhere."""

    live = False

    def __init__(self, out: TextIO, _command_line: Sequence[str]) -> None:
        self._out = out

    def begin(self, verbose: int) -> None:
        """Prints nothing."""

    def test(self, result: TestResult) -> None:
        """Prints nothing."""

    def table(self, _result: TestResult, _signature: int) -> None:
        """Prints a heading for each test, as IOR does."""
        self._say(HEAD)

    def row(self, result: TestResult, row: Row) -> None:
        """A phase was measured."""
        test = result.test
        numbers = (
            row.bandwidth / MEBIBYTE, row.iops, row.latency, test.block_size / 1024, test.transfer_size / 1024,
            row.open, row.transfer, row.close, row.total,
        )  # fmt: skip
        self._say(
            ",".join([row.access, *(f"{number:.4f}" for number in numbers), f"{test.num_tasks},{row.repetition}"])
        )

    def warning(self, text: str) -> None:
        """Prints nothing: a reader expects columns."""

    def remark(self, text: str) -> None:
        """Prints nothing."""

    def ended(self, result: TestResult) -> None:
        """Prints nothing."""

    def finish(self, results: Sequence[TestResult]) -> None:
        """Prints nothing."""

    def _say(self, line: str) -> None:
        self._out.write(f"{line}\n")
        self._out.flush()


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


_LONGEST_JSON = 64 << 20
_FURTHER = (
    "memoryPerTask", "memoryPerNode", "dryRun", "verbose", "stonewallingTime", "stoneWallingWearOut", "task offset",
    "reorder random seed",
)  # fmt: skip
_OPTIONS = {key for key, _ in (*option_lines(Parameters()), *parameter_lines(Parameters(), 0))} | {*_FURTHER}
_PAIRS = {*_OPTIONS, "Began", "Command line", "Machine", "TestID", "StartTime", "Path", "FS", "Finished"}
_FIRST = r"IOR-\S+: MPI Coordinated Test of Parallel I/O"
_FIGURE = r"-?[\d.]+|-|NA|-?nan|-?inf"
_DATE = r"\w{3} \w{3} [ \d]\d [\d:]{8} \d{4}"
_OTHERS = [
    *(rf"{re.escape(f'{key:<20}')}: .*" for key in sorted(_PAIRS)),
    *(re.escape(line) for line in (*TABLE_HEAD.split("\n"), SUMMARY_HEAD, "Summary of all tests:")),
    r"|(Parameters|Options|Results): |\*\*\* .* \*\*\*",
    rf"\w+ +(({_FIGURE}) +){{9}}\d+ *",
    rf"\w+ +(({_FIGURE}) +){{22,24}}\w+ +-?\d+",
    r"Max (Write: |Read:  )[\d.]+ MiB/sec \([\d.]+ MB/sec\)",
    r"Us(ing|ed) Time Stamp -?\d+ \(-?0x[0-9a-f]+\) for Data Signature",
    r"Test \d+: Iter=\d+, Task=\d+, Time=-?[\d.]+, \w+ ((open|close) )?(start|stop)",
    rf"Reading back what was written, to check it\.|{_DATE}|Commencing \w+ performance test: {_DATE}",
    r"task \d+ (writing|reading) .*|\* data moved = \d+|\d+: stonewalling pairs accessed: \d+",
    r"stonewalling pairs accessed min: \d+ max: \d+ -- min data: [\d.]+ GiB mean data: [\d.]+ GiB time: [\d.]+s",
    r"WARNING: Incorrect data on \w+ \(\d+ errors found\)\.",
    r"WARNING: (Expected aggregate file|Stat\(\) of aggregate file|Using actual aggregate) (size|bytes moved) += \d+",
    r"WARNING: -D \d+ may have ended the phase before all was moved",
    rf"WARNING: for \S+, task \d+, \w+ [a-z ]+ is ({_FIGURE}) \(mean=({_FIGURE}), stddev=({_FIGURE})\)",
    r'WARNING: ".*" exists: (its contents are overwritten|it is replaced if Tonnage made it)',
]
_TEXT = lines("", _FIRST, "|".join(f"(?:{other})" for other in _OTHERS))
_ROW = r"\w+(,-?[\d.]+){9},\d+,\d+"
_TABLE = lines("", re.escape(HEAD), f"{_ROW}|{re.escape(HEAD)}")
_KEYS: dict[str, set[str]] = {
    "": {"Version", "Began", "Command line", "Machine", "tests", "summary", "Finished", "tonnage"},
    "tests": {
        "TestID", "StartTime", "Path", "Capacity", "Used Capacity", "Inodes", "Used Inodes", "Parameters", "Options",
        "Results", "max",
    },
    "Results": {
        "access", "bwMiB", "blockKiB", "xferKiB", "iops", "latency", "openTime", "wrRdTime", "closeTime", "totalTime",
    },
    "Options": _OPTIONS,
    "Parameters": _OPTIONS,
    "max": {"writeMiB", "writeMB", "readMiB", "readMB"},
    "summary": {
        "operation", "API", "TestID", "ReferenceNumber", "segmentCount", "blockSize", "transferSize", "numTasks",
        "tasksPerNode", "repetitions", "filePerProc", "reorderTasks", "taskPerNodeOffset", "reorderTasksRandom",
        "reorderTasksRandomSeed", "bwMaxMIB", "bwMinMIB", "bwMeanMIB", "bwStdMIB", "OPsMax", "OPsMin", "OPsMean",
        "OPsSD", "MeanTime", "StoneWallTime", "StoneWallbwMeanMIB", "xsizeMiB",
    },
    "tonnage": {"TestID", "runs", "failed", "warnings", "findings"},
    "findings": {"code", "text"},
}  # fmt: skip
"""The keys of each object of the JSON form, by the key that it stands under."""


def _is_summary(file: BinaryIO) -> bool:
    """Of any of the three forms."""
    first = file.read(1)
    file.seek(0)
    if first == b"{":
        return _is_json(file.read(_LONGEST_JSON))
    if first == b"I":
        return _TEXT.recognises(file)
    return _TABLE.recognises(file)


def _is_json(data: bytes) -> bool:
    try:
        text = data.decode(errors="surrogateescape")
        whole = json.loads(text)
        # Anything that was written in between by hand, such as a key twice, does not come out again.
        same = text == json.dumps(whole, indent=2, ensure_ascii=False) + "\n"
    except (ValueError, RecursionError):
        return False
    return same and set(whole) == _KEYS[""] and _has_known_keys("", whole)


def _has_known_keys(under: str, value: Any) -> bool:
    if isinstance(value, dict):
        known = _KEYS.get(under, set())
        return all(key in known and _has_known_keys(key, inner) for key, inner in value.items())
    return not isinstance(value, list) or all(_has_known_keys(under, inner) for inner in value)


SUMMARY = Form("a summary of ior", _is_summary)
