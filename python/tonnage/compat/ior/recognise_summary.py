"""Whether a file is a summary of ior, every line of it: only such a one is replaced."""

from __future__ import annotations

import json
import re
from typing import Any, BinaryIO

from tonnage.compat.ior.csv_summary import HEAD
from tonnage.compat.ior.options import Parameters
from tonnage.compat.ior.parameters import option_lines, parameter_lines
from tonnage.compat.ior.text_output import SUMMARY_HEAD, TABLE_HEAD
from tonnage.outputs import Form, lines

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
