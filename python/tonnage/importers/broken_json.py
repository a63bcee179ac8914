"""Reads JSON of other tools. Of truncated JSON it keeps the readable part and gives the line where that ends. It also
reads several outputs in one file; line numbers are those of the file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from tonnage.importers.imported_phases import ImportedFile, Phase, few

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')
_DEEPEST = 200
_NO_NUMBER = re.compile(r"(?<=[:\[,\s])[-+]?(?:nan|inf)(?=\s*[,}\]])", re.IGNORECASE)
"""As C prints what is no number."""


class Number(float):
    """A number with its printed text."""

    text: str

    def __new__(cls, text: str) -> Number:
        self = super().__new__(cls, text)
        self.text = text
        return self

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Document:
    """``value`` is None where nothing was understood; ``line`` is where understanding ended, None: it did not."""

    value: Any
    line: int | None = None


def read(text: str) -> Document:
    """The object in ``text``; of a damaged one, what stands before the damage."""
    try:
        return Document(_loads(text))
    except (ValueError, RecursionError):
        text = _NO_NUMBER.sub("null", text)
    start = text.find("{")
    if start < 0:
        return Document(None, 1)
    body = text[start:]
    try:
        value, _ = json.JSONDecoder(parse_float=Number, parse_constant=_no_number).raw_decode(body)
        return Document(value)
    except (ValueError, RecursionError) as error:
        position = getattr(error, "pos", 0)
    line = text.count("\n", 0, start + position) + 1
    return Document(_before(body, position), line)


def _loads(text: str) -> Any:
    return json.loads(text, parse_float=Number, parse_constant=_no_number)


def _no_number(_: str) -> Any:
    """``NaN`` and ``Infinity`` are no JSON, but tools print them: only their own values are lost."""
    return None


def _before(text: str, position: int) -> Any:
    """The longest beginning, at most up to ``position``, that is JSON once its brackets are closed."""
    open_brackets: list[str] = []
    cut, closing = -1, ""
    for match in _TOKEN.finditer(text, 0, position):
        token = match[0]
        if token in "{[":
            open_brackets.append("}" if token == "{" else "]")
        elif token in "}]":
            if not open_brackets or open_brackets.pop() != token:
                break
            cut, closing = match.end(), "".join(reversed(open_brackets))
        elif token == "," and open_brackets:
            cut, closing = match.start(), "".join(reversed(open_brackets))
        if len(open_brackets) > _DEEPEST:
            break
    if cut < 0:
        return None
    try:
        return _loads(text[:cut] + closing)
    except (ValueError, RecursionError):
        return None


_LINE = re.compile(r"line ([0-9]+): ")


def each(
    text: str,
    begins: re.Pattern[str],
    read: Callable[[str], ImportedFile],
    replaces: Callable[[str, str], bool] = lambda _, __: False,
) -> ImportedFile:
    """What the outputs say that begin as ``begins`` tells; tool and settings of all are those of the first.

    ``replaces``: whether an output is a later state of the one before it, which is then passed over.
    """
    starts = [found.start() for found in begins.finditer(text)]
    if len(starts) < 2:
        return read(text)
    # What stands before the first belongs to it.
    spans = list(pairwise([0, *starts[1:], len(text)]))
    passed = {one for one, next_one in pairwise(spans) if replaces(text[slice(*next_one)], text[slice(*one)])}
    parts = [_shifted(read(text[at:end]), text.count("\n", 0, at)) for at, end in spans if (at, end) not in passed]
    return replace(
        parts[0],
        phases=tuple(phase for part in parts for phase in part.phases),
        problems=few([problem for part in parts for problem in part.problems]),
    )


def _shifted(found: ImportedFile, before: int) -> ImportedFile:
    """With its lines counted from the first of the file, ``before`` lines up."""
    problems = tuple(_LINE.sub(lambda line: f"line {int(line[1]) + before}: ", one, count=1) for one in found.problems)
    return replace(found, phases=tuple(_moved(phase, before) for phase in found.phases), problems=problems)


def _moved(phase: Phase, before: int) -> Phase:
    said = replace(phase.stated_rate, line=phase.stated_rate.line + before) if phase.stated_rate else None
    return replace(phase, line=phase.line + before, stated_rate=said)
