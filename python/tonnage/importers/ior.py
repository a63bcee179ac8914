"""IOR's output: text of 2.10 to 4.1, CSV (``summaryFormat=CSV``) and JSON (``summaryFormat=JSON``).

Only iterations are trials. ``bw`` is all bytes ÷ (first open … last close) of all ranks; MiB are 2^20.
``Latency(s)`` is no measured latency: it is left out.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from tonnage.importers import broken_json, ior_table
from tonnage.importers.imported_phases import ImportedFile, few
from tonnage.importers.ior_options import of_parameters
from tonnage.importers.ior_test import Test, phase_of
from tonnage.importers.rounded_numbers import whole
from tonnage.importers.trace import content
from tonnage.records.line_types import Json


def read(data: bytes, _: str) -> ImportedFile:
    """Reads an output. Never raises: ``problems`` names the line of each part that it cannot read."""
    lines, torn = content(data)
    if any(line.lstrip().startswith('"Results"') or '"tests"' in line for line in lines):
        found = broken_json.each("\n".join(_without_warnings(lines)), _BEGINS, _json)
        return replace(found, phases=ior_table.with_warnings(found.phases, lines))
    return ior_table.read(lines, torn)


def _without_warnings(lines: list[str]) -> list[str]:
    """The lines of a JSON alone: ranks warn on the same stream, also in the middle of the object. What a result moved
    according to a warning before it becomes a part of the result."""
    kept, moved = [], ""
    for line in lines:
        if found := ior_table.MOVED.match(line):
            moved = found[1]
        if line.startswith(("WARNING", "$ ", "[exit code")):
            kept.append("")
        elif moved and _RESULT in line:
            kept.append(line.replace(_RESULT, f'"moved": {moved}, {_RESULT}', 1))
            moved = ""
        else:
            kept.append(line)
    return kept


def _json(text: str) -> ImportedFile:
    kept = text.split("\n")
    document = _document(text)
    if not isinstance(document.value, dict):
        return ImportedFile(problems=(f"line {document.line or 1}: this is no JSON of IOR",))
    said = document.value
    problems = []
    if document.line:
        problems.append(f"line {document.line}: the JSON breaks off or is damaged here; what stands before it is kept")
    tests = said.get("tests")
    phases = []
    # JSON keeps no lines; results stand in it in their order.
    places = (number for number, text in enumerate(kept, 1) if _RESULT in text)
    machine = str(said.get("Machine") or "").partition(" ")[2].split(" ")[0] or None
    for number, table in enumerate(tests if isinstance(tests, list) else ()):
        if not isinstance(table, dict):
            continue
        test = _test(table, str(said.get("Command line") or ""), number)
        test.host = machine
        for place, row in enumerate(_rows(table.get("Results")), 1):
            cells = {_COLUMNS[key]: str(value) for key, value in _pairs(row) if key in _COLUMNS}
            if cells.get("access") not in ("write", "read"):
                continue
            line = next(places, 1)
            test.moved = whole(row.get("moved", ""))
            phase = phase_of(test, cells, "MiB/s", line)
            if isinstance(phase, str):
                problems.append(f"line {line}: result {place} {phase}; left out")
            else:
                phases.append(phase)
    if not phases:
        problems += ior_table.unusable(said)
    return ImportedFile(
        phases=tuple(phases),
        problems=few(problems),
        tool="IOR",
        version=str(said["Version"]) if "Version" in said else _banner(kept),
        command=str(said["Command line"]) if "Command line" in said else None,
        began=str(said["Began"]) if "Began" in said else None,
        host=machine,
        path=_path(tests),
    )


def _document(text: str) -> broken_json.Document:
    """In 3.2 every rank but the first adds ``[ ]`` and commas of its own, wherever its output falls among the rest."""
    document = broken_json.read(text)
    if document.line is None:
        return document
    alone = broken_json.read(_COMMA.sub(" ", text.replace("[ ]", "   ")))
    return alone if alone.line is None or alone.line > document.line else document


def _rows(results: Any) -> list[Any]:
    """Results in their order: 3.2 and 3.3 have a list for each repetition."""
    rows = results if isinstance(results, list) else []
    return [row for part in rows for row in (part if isinstance(part, list) else [part])]


def _banner(lines: list[str]) -> str | None:
    found = ior_table.VERSION.match(lines[0]) if lines else None
    return found[1] if found else None


_RESULT = '"bwMiB"'
"""In each result, and nowhere else."""
_BEGINS = re.compile(r'\{\s*"(?:Version|Began)"\s*:')
_COMMA = re.compile(r",(?=\s*[,\]}])")
"""One that separates nothing."""
_COLUMNS = {
    "access": "access", "bwMiB": "bw", "blockKiB": "block", "xferKiB": "xfer", "iops": "iops", "openTime": "open",
    "wrRdTime": "wr/rd", "closeTime": "close", "totalTime": "total",
}  # fmt: skip


def _pairs(row: Any) -> list[tuple[str, Any]]:
    return list(row.items()) if isinstance(row, dict) else []


def _test(table: Json, command: str, number: int) -> Test:
    """The settings of a test: ``Parameters`` has numbers, ``Options`` what the text has."""
    test = Test(number=number)
    test.called(command)
    options, parameters = (dict(_pairs(table.get(name))) for name in ("Options", "Parameters"))
    if not test.known and parameters:
        test.options, test.known = of_parameters(parameters), True
    for key, value in options.items():
        if not test.option(key, str(value)):
            test.other(key, str(value))
    test.block = whole(parameters.get("blockSize")) or test.block
    test.transfer_size = whole(parameters.get("transferSize")) or test.transfer_size
    test.segments = whole(parameters.get("segmentCount")) or test.segments
    return test


def _path(tests: Any) -> str | None:
    for table in tests if isinstance(tests, list) else ():
        for key, value in _pairs(_dict(table).get("Options")):
            if key == "test filename":
                return str(value)
    return None


def _dict(value: Any) -> Json:
    return value if isinstance(value, dict) else {}
