"""Factors that a user adds to imported files: ``snapshot=yes``, or for some files ``snap-*:snapshot=yes``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePath

from tonnage.errors import RequestError

_FACTOR = re.compile(r"(?:(?P<pattern>.+):)?(?P<name>[a-z][a-z0-9_]{0,60})=(?P<value>.+)", re.DOTALL)
_OF_THE_FILE = frozenset({"kind", "op", "tasks", "workload", "apart"})
"""No name of a factor: every file says these, or they are ours."""
_WORDS = {"yes": True, "no": False}


@dataclass(frozen=True, slots=True)
class StatedFactor:
    """One that a user states."""

    pattern: str | None
    """Of the names of files; None: of all of them."""
    name: str
    value: str | int | bool
    text: str
    """As it was typed."""

    def is_of(self, file: str) -> bool:
        """Whether a file of this name, or below this path, has it."""
        return self.pattern is None or any(fnmatchcase(name, self.pattern) for name in (file, PurePath(file).name))


def parse_factor(text: str) -> StatedFactor:
    """``[PATTERN:]NAME=VALUE``; RequestError where it is none."""
    found = _FACTOR.fullmatch(text)
    if found is None:
        raise RequestError(f"{text!r} states no factor; hint: write NAME=VALUE, or PATTERN:NAME=VALUE of some files")
    if found["name"] in _OF_THE_FILE:
        raise RequestError(f"{found['name']} is nothing that can be stated of a file; hint: choose another name")
    value: str | int | bool = _WORDS.get(found["value"], found["value"])
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,18}", value, re.ASCII):
        value = int(value)
    return StatedFactor(found["pattern"], found["name"], value, text)


def factors_of(files: Sequence[str], stated: Sequence[StatedFactor]) -> list[Mapping[str, str | int | bool]]:
    """Of each file what is stated of it; of one name the last one that fits. RequestError where a pattern fits none."""
    for factor in stated:
        if not any(factor.is_of(file) for file in files):
            raise RequestError(f"{factor.pattern!r} of {factor.text!r} is the name of no file that was given")
    return [{factor.name: factor.value for factor in stated if factor.is_of(file)} for file in files]
