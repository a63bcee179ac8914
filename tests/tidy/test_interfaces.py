"""Values that pass between files have types: few of them are dictionaries of anything."""

from __future__ import annotations

import re

from .tree import name, python_files, read

MOST = 58
"""Lines of the package that say ``dict[str, Any]`` or ``Mapping[str, Any]``. Lower it when it can be."""
_UNTYPED = re.compile(r"\b(?:dict|Mapping|MutableMapping)\[str, Any\]")


def untyped(text: str) -> int:
    """Lines that have such a type in them."""
    return sum(1 for line in text.splitlines() if _UNTYPED.search(line))


def test_few_lines_have_a_dictionary_of_anything() -> None:
    found = {name(path): count for path in python_files("python/tonnage/") if (count := untyped(read(path)))}
    most = sorted(found.items(), key=lambda one: -one[1])[:10]
    assert sum(found.values()) <= MOST, f"{sum(found.values())} lines; most are in {most}"


def test_a_line_is_counted_once_and_a_typed_one_not() -> None:
    assert untyped("a: dict[str, Any]\ndef f(x: Mapping[str, Any]) -> dict[str, Any]:\nb: dict[str, int]\n") == 2
