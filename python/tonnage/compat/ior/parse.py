"""IOR's command line, directives and scripts, read as IOR reads them; what it would misread is refused."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tonnage.command_line import typed
from tonnage.command_option import nearest
from tonnage.compat.ior.options import DIRECTIVES, IOR, NAMES, Parameters, Spelling, spellings
from tonnage.errors import RequestError
from tonnage.toml_documents import read_text

_SPELLINGS = spellings()
_SHIFTS = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40, "p": 50}
_LARGEST = 2**63


def parse(arguments: Sequence[str]) -> list[Parameters]:
    """The tests that a command line asks for, in order; with ``-f`` one for each ``RUN`` of the script."""
    test = Parameters()
    for _, given, text in typed(IOR, arguments):
        name = NAMES[given]
        spelling = _SPELLINGS[name]
        if text is None:
            setattr(test, name, getattr(test, name) + 1)
        elif spelling.kind == "directives":
            parse_directives(test, text)
        else:
            value = _value(spelling, text, given)
            setattr(test, name, max(value, 0) if spelling.kind == "flag" else value)
    return read_script(test.test_scripts, test) if test.test_scripts else [test]


def parse_directives(test: Parameters, text: str) -> None:
    """Parses ``checkRead=1,keepFile=1``, as after ``-O`` and on a line of a script."""
    text = text.partition("#")[0]
    for part in text.split(","):
        if len(part.strip().splitlines()) > 1:
            raise RequestError(f"{part.strip()!r} has a line break; hint: give a value of one line")
        found = re.match(r"\s*([^=#\s]+)\s*=\s*([^#\s]+)", part)
        if not found:
            raise RequestError(f"{part.strip()!r} is not a directive with its value; hint: write name=value")
        _directive(test, found[1], found[2])


def _directive(test: Parameters, key: str, value: str) -> None:
    name = DIRECTIVES.get(key.lower()) or (NAMES.get(key) if key.startswith("--") else None)
    if name is None:
        hint = nearest(key, (_SPELLINGS[known].directive for known in DIRECTIVES.values()), "see `tonnage ior --help`")
        raise RequestError(f"there is no directive {key!r}; hint: {hint}")
    setattr(test, name, _value(_SPELLINGS[name], value, key))
    # IOR keeps the one that was said last.
    if name == "memory_per_task":
        test.memory_per_node = ""
    elif name == "memory_per_node":
        test.memory_per_task = 0


def _value(spelling: Spelling, text: str, given: str) -> Any:
    if spelling.kind == "text":
        return text
    if spelling.kind == "seconds":
        if not re.fullmatch(r"\d+(\.\d*)?|\.\d+", text):
            raise RequestError(f"{given}: {text!r} is not a time in seconds; hint: write it like 2 or 0.5")
        return float(text)
    return whole_number(text, given)


def whole_number(text: str, given: str) -> int:
    """A number with IOR's suffixes, which are powers of two."""
    found = re.fullmatch(r"\s*(-?\d{1,4000})\s*([kmgtp]?)(i?b)?\s*", text, re.IGNORECASE | re.ASCII)
    if not found:
        raise RequestError(f"{given}: {text!r} is not a whole number; hint: write it like 8, 4k, 2m or 1g")
    number = int(found[1]) << _SHIFTS[found[2].lower()]
    if abs(number) >= _LARGEST:
        raise RequestError(f"{given}: {text!r} is above 2^63; hint: use a smaller one")
    return number


def read_script(path: str, first: Parameters) -> list[Parameters]:
    """The tests of a script: what stands before a ``RUN`` also holds for the tests after it."""
    try:
        lines = read_text(Path(path)).splitlines()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise RequestError(f"cannot read the script {path}: {reason}; hint: give the path after -f") from None
    at = next((at for at, line in enumerate(lines) if line.strip().lower() == "ior start"), None)
    if at is None:
        raise RequestError(f"{path} has no line IOR START; hint: begin it with one")
    tests = [replace(first)]
    ran = False
    for number, line in enumerate(lines[at + 1 :], start=at + 2):
        word = line.strip().lower()
        if word == "ior stop":
            return tests
        if not word or word.startswith("#"):
            continue
        if ran:
            tests.append(replace(tests[-1]))
            ran = False
        if word == "run":
            ran = True
            continue
        try:
            parse_directives(tests[-1], line)
        except RequestError as error:
            raise RequestError(f"{path}:{number}: {error}") from None
    return tests
