"""JSON that may be cut off: as much of it as can be understood, and from which line on it cannot."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')
_DEEPEST = 200


class Number(float):
    """A number that still knows how it was printed."""

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
        pass
    start = text.find("{")
    if start < 0:
        return Document(None, 1)
    body = text[start:]
    try:
        value, _ = json.JSONDecoder(parse_float=Number, parse_constant=_refuse).raw_decode(body)
        return Document(value)
    except (ValueError, RecursionError) as error:
        position = getattr(error, "pos", 0)
    line = text.count("\n", 0, start + position) + 1
    return Document(_before(body, position), line)


def _loads(text: str) -> Any:
    return json.loads(text, parse_float=Number, parse_constant=_refuse)


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


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
