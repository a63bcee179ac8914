"""The lines of ``trials.jsonl``, all at once, for who looks at every one of them.

A run may have a million, and a map of its own for each would take gigabytes. The engine keeps them as columns and what
many have in common (a setting) once; what is looked for in all of them is looked for there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from tonnage.errors import RecordError

if TYPE_CHECKING:
    from tonnage._native import Rows

Line = Mapping[str, Any]


class Trials(Sequence[Line]):
    """Trial lines in the order they ran. They are read only: what two of them share is one object."""

    def __init__(self, lines: Sequence[Line], columns: Rows | None = None) -> None:
        """``columns``: the same lines as the engine keeps them; None where it does not."""
        self._lines = lines
        self._columns = columns

    @overload
    def __getitem__(self, index: int) -> Line: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Line]: ...
    def __getitem__(self, index: int | slice) -> Line | Sequence[Line]:
        return self._lines[index]

    def __len__(self) -> int:
        return len(self._lines)

    def __iter__(self) -> Iterator[Line]:
        return iter(self._lines)

    @cached_property
    def by_record(self) -> Mapping[str, Line]:
        """Each line by its record."""
        return {record: line for (record,), line in zip(self.columns("record"), self._lines, strict=True)}

    def having(self, key: str) -> Sequence[Line]:
        """Those whose value of ``key`` is neither missing nor empty nor 0."""
        if self._columns is not None:
            return self._columns.having(key)
        return [line for line in self._lines if line.get(key)]

    def where(self, key: str, value: str) -> Trials:
        """Those in which ``key`` is ``value``: a word without quotes."""
        if self._columns is not None:
            found = self._columns.equal(key, f'"{value}"')
            return self if len(found) == len(self) else Trials(found)
        return Trials([line for line in self._lines if line.get(key) == value])

    def columns(self, *keys: str) -> Iterator[tuple[Any, ...]]:
        """The values of several keys, of each line; None where it has no such key."""
        if self._columns is not None:
            return zip(*(self._columns.column(key) for key in keys), strict=True)
        return (tuple(map(line.get, keys)) for line in self._lines)

    def not_integers(self, wanted: Callable[[str], bool]) -> list[tuple[Line, str]]:
        """Lines, and which of their ``wanted`` keys has a value that is neither an integer nor null."""
        if self._columns is not None:
            keys = filter(wanted, self._columns.keys())
            return [(line, key) for key in keys for line in self._columns.unlike(key, _INTEGER) if key in line]
        return [
            (line, key)
            for line in self._lines
            for key, value in line.items()
            if wanted(key) and value is not None and type(value) is not int
        ]


def by_record(lines: Sequence[Line]) -> Mapping[str, Line]:
    """Trial lines by their records."""
    return lines.by_record if isinstance(lines, Trials) else {line["record"]: line for line in lines}


_INTEGER = "integer or null"
_KINDS = {int: "count", str: "string", dict: "object"}


def from_engine(path: Path, keys: Mapping[str, type], check: Callable[[Line, str], None]) -> Trials | None:
    """The lines of a file in which each has ``keys`` of their types and passes ``check``.

    None where the engine is not there, or takes exception to any line: whoever reads them one by one says to which.
    """
    try:
        from tonnage._native import Rows
    except ImportError:
        return None
    try:
        columns = Rows.read(str(path))
    except (OSError, ValueError):
        return None
    if any(columns.unlike(key, _KINDS[kind]) for key, kind in keys.items()):
        return None
    trials = Trials(columns.all(), columns)
    try:
        for setting in columns.distinct("setting"):
            check({"record": "0000-any", "setting": setting}, "")
        for (record,) in trials.columns("record"):
            check({"record": record, "setting": {"tasks": 0}}, "")
    except RecordError:
        return None
    return trials
