"""All lines of ``trials.jsonl`` as columns, for callers that read every line.

A run may have a million, and a map of its own for each would take gigabytes, and minutes to look through. The engine
keeps them as columns, and what many have in common (a setting) once; callers read columns.
"""

from __future__ import annotations

import copyreg
import re
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, overload

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from typing_extensions import Self

    from tonnage.records.line_types import Json, TrialLine

    Numbers = NDArray[np.int64]

LineT = TypeVar("LineT", bound="Json")

NOTHING = -(2**63)
"""Among numbers, where there is none: no integer of 62 bits."""


class Columns(Protocol):
    """Lines as columns: the engine's ``Rows``, or :class:`_Plain`.

    A path is a key, or a key and one of the object that stands there. Rows, and integers of up to 62 bits, are handed
    over as native ones of 64.
    """

    def __len__(self) -> int: ...
    def keys(self) -> list[str]: ...
    def row(self, row: int) -> Any: ...
    def kinds(self, *path: str) -> bytes: ...
    def codes(self, *path: str) -> tuple[bytes, list[Any]]: ...
    def column(self, rows: bytes, *path: str) -> list[Any]: ...
    def numbers(self, rows: bytes, *path: str) -> bytes | None: ...
    def integers(self, key: str) -> list[tuple[str, bytes]]: ...


class Lines(Sequence[LineT]):
    """Lines, as a rule in the order they were written. They are read only: what two of them share is one object."""

    def __init__(self, columns: Columns, rows: Numbers | None = None, whole: Self | None = None) -> None:
        """``rows``: those of them that are meant, of the lines that ``whole`` has all of."""
        self._columns = columns
        self._chosen = rows
        self._whole = self if whole is None else whole
        self._kinds: dict[tuple[str, ...], NDArray[np.uint8]] = {}
        self._members: dict[str, dict[str, Numbers]] = {}
        self._codes: dict[tuple[str, ...], tuple[NDArray[np.uint32], list[Any]]] = {}

    @classmethod
    def of(cls, lines: Sequence[LineT]) -> Self:
        """The same of lines that were read one by one."""
        return lines if isinstance(lines, cls) else cls(_Plain(lines))

    @cached_property
    def _rows(self) -> Numbers:
        import numpy as np

        return np.arange(len(self._columns)) if self._chosen is None else self._chosen

    def _at(self, rows: Numbers) -> Self:
        return type(self)(self._columns, rows, self._whole)

    @overload
    def __getitem__(self, index: int) -> LineT: ...
    @overload
    def __getitem__(self, index: slice) -> Self: ...
    def __getitem__(self, index: int | slice) -> LineT | Self:
        if isinstance(index, slice):
            return self._at(self._rows[index])
        line: LineT = self._columns.row(int(self._rows[index]))
        return line

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return type(self)(_Plain(deepcopy([*self], memo)))

    def at(self, places: Numbers) -> Self:
        """Returns the lines at these places, in that order."""
        return self._at(self._rows[places])

    def __len__(self) -> int:
        return len(self._columns) if self._chosen is None else len(self._chosen)

    def __iter__(self) -> Iterator[LineT]:
        return map(self._columns.row, self._rows.tolist())

    @cached_property
    def by_record(self) -> Mapping[str, LineT]:
        """Each line by its record."""
        return _ByRecord(self)

    def named(self, records: Sequence[str]) -> Self:
        """Returns the lines of ``records``, in their order."""
        import numpy as np

        known = records.lines if isinstance(records, Names) else None
        if isinstance(known, type(self)) and known._whole is self._whole:
            return known
        return self._at(self._rows[np.fromiter(map(self._places.__getitem__, records), dtype=np.int64)])

    @cached_property
    def _places(self) -> dict[str, int]:
        return dict(zip(self.records, range(len(self)), strict=True))

    @property
    def names(self) -> Names:
        """The same names, to be kept: of these, :meth:`named` finds the lines at once."""
        found = Names(self.records)
        found.lines = self
        return found

    @cached_property
    def records(self) -> list[str]:
        """The name of each."""
        if self._whole is not self:
            return list(map(self._whole.records.__getitem__, self._rows.tolist()))
        return self.column("record")

    def column(self, *path: str) -> list[Any]:
        """The values of a key, or of one in the object of a key; None where there is none."""
        return self._columns.column(self._rows.tobytes(), *path)

    def distinct(self, key: str) -> list[Any]:
        """Every value that ``key`` has in any line of the run."""
        return self._codes_of(key)[1]

    def seen(self, *path: str) -> set[Any]:
        """Every value that these have there, None where there is none; not of lists and maps."""
        import numpy as np

        codes, values = self._coded(*path)
        return {values[code] for code in np.unique(codes).tolist()}

    def has_value(self, *path: str) -> NDArray[np.bool_]:
        """Whether each has something there, and be it 0."""
        import numpy as np

        return ~np.isin(self._kind(*path), np.frombuffer(b"-n", dtype=np.uint8))

    def columns(self, *keys: str) -> Iterator[tuple[Any, ...]]:
        """Returns the values of several keys, of each line."""
        return zip(*map(self.column, keys), strict=True)

    def numbers(self, *path: str) -> Numbers | None:
        """Integers of up to 62 bits, ``NOTHING`` where there is none; None where any line has anything else."""
        import numpy as np

        found = self._columns.numbers(self._rows.tobytes(), *path)
        return None if found is None else np.frombuffer(found, dtype=np.int64)

    def floats(self, *path: str) -> NDArray[np.float64]:
        """Numbers, rounded to 53 bits; not a number where there is none."""
        import numpy as np

        found = self.numbers(*path)
        if found is None:
            return np.array(self.column(*path), dtype=float)
        return np.where(found == NOTHING, np.nan, found)

    def total(self, *path: str) -> int | None:
        """The sum of what all have; None where one has nothing."""
        found = self.numbers(*path)
        if found is None:
            values = self.column(*path)
            return None if None in values else sum(values)
        return None if (found == NOTHING).any() else exact_sum(found)

    def ascending(self, *path: str) -> list[Any]:
        """The numbers that all have, in their order."""
        import numpy as np

        found = self.numbers(*path)
        if found is None or (found == NOTHING).any():
            return sorted(self.column(*path))
        return list(np.sort(found).tolist())

    def integers(self, key: str) -> dict[str, Numbers]:
        """Of the object under ``key`` that each has, what is an integer in all of them, by its name."""
        import numpy as np

        known = self._whole._members
        if key not in known:
            known[key] = {name: np.frombuffer(all_of_it, np.int64) for name, all_of_it in self._columns.integers(key)}
        found = {name: of_all[self._rows] for name, of_all in known[key].items()} if len(self) else {}
        return {name: column for name, column in found.items() if not (column == NOTHING).any()}

    def figures(self, key: str, *names: str) -> list[Numbers]:
        """Of the object under ``key`` these integers of up to 62 bits; 0 where there is none."""
        import numpy as np

        known = self.integers(key)
        for name in (name for name in names if name not in known):
            values = (value if _is_integer(value) else 0 for value in self.column(key, name))
            known[name] = np.fromiter(values, dtype=np.int64, count=len(self))
        return [known[name] for name in names]

    def where_set(self, *path: str) -> Self:
        """Those whose value there is neither missing nor empty nor 0."""
        return self.only(self._true(*path))

    def where_unset(self, *path: str) -> Self:
        """Those whose value there is missing, empty or 0."""
        return self.only(~self._true(*path))

    def only(self, chosen: NDArray[np.bool_]) -> Self:
        """Those for which it is true."""
        return self if chosen.all() else self._at(self._rows[chosen])

    def where(self, key: str, *values: str) -> Self:
        """Those in which ``key`` is one of ``values``."""
        return self.only(self._is(key, values))

    def where_not(self, key: str, value: str) -> Self:
        """Those in which it is not."""
        return self.only(~self._is(key, (value,)))

    def where_positive(self, value: Callable[[Self], Sequence[float | None]]) -> Self:
        """Those of which ``value``, which gives one for each line, gives a positive one."""
        import numpy as np

        return self.only(np.array(value(self), dtype=float) > 0)  # None is not a number, and not above any

    def by(self, *keys: str) -> list[tuple[tuple[Any, ...], Self]]:
        """Lines that have the same values of ``keys`` together, with these values; in the order of their first ones."""
        import numpy as np

        if not len(self):
            return []
        number, most = np.zeros(len(self), dtype=np.int64), 1
        for key in keys:
            codes, values = self._coded(key)
            number, most = number * len(values) + codes, most * len(values)
        # Small numbers are sorted many times as fast.
        number = number.astype(np.min_scalar_type(most))
        order = np.argsort(number, kind="stable")
        groups = np.split(order, np.flatnonzero(np.diff(number[order])) + 1)
        found = [self._at(self._rows[group]) for group in sorted(groups, key=lambda group: int(group[0]))]
        return [(tuple(map(same[0].get, keys)), same) for same in found]

    def grouped(self, key: str) -> tuple[list[Any], Numbers, Numbers]:
        """Groups lines by the value of ``key``: the values; the places of lines, those of one value together in their
        order; and where the lines of each value begin and the last ones end."""
        import numpy as np

        codes, values = self._coded(key)
        order = np.argsort(codes, kind="stable")
        return values, order, np.searchsorted(codes[order], np.arange(len(values) + 1))

    def joined(self, others: Sequence[Self], key: str) -> Self:
        """These and others of the same run, by an integer that each has: each came in its order."""
        import numpy as np

        if not others:
            return self
        together = self._at(np.concatenate([self._rows, *(other._rows for other in others)]))
        return together._at(together._rows[np.argsort(np.array(together.column(key)), kind="stable")])

    def not_integers(self, wanted: Callable[[str], bool]) -> list[tuple[LineT, str]]:
        """Lines, and which of their ``wanted`` keys has a value that is neither an integer nor null."""
        import numpy as np

        found = []
        for key in filter(wanted, self._columns.keys()):
            integer = np.isin(self._kind(key), np.frombuffer(_INTEGER_OR_NONE, dtype=np.uint8))
            if not integer.all():
                found += [(line, key) for line in self.only(~integer)]
        return found

    def not_positive(self, key: str) -> Self:
        """Lines that have a number of 0 or less there."""
        import numpy as np

        return self.only(np.isin(self._kind(key), np.frombuffer(b"ifkK", dtype=np.uint8)))

    def _true(self, *path: str) -> NDArray[np.bool_]:
        kinds = self._kind(*path)
        return (kinds >= ord("A")) & (kinds <= ord("Z"))

    def _kind(self, *path: str) -> NDArray[np.uint8]:
        import numpy as np

        known = self._whole._kinds
        if path not in known:
            known[path] = np.frombuffer(self._columns.kinds(*path), dtype=np.uint8)
        return known[path][self._rows]

    def _is(self, key: str, wanted: Sequence[str]) -> NDArray[np.bool_]:
        import numpy as np

        codes, values = self._coded(key)
        return np.isin(codes, [code for code, value in enumerate(values) if value in wanted])

    def _coded(self, *path: str) -> tuple[NDArray[np.uint32], list[Any]]:
        of_all, values = self._codes_of(*path)
        return of_all[self._rows], values

    def _codes_of(self, *path: str) -> tuple[NDArray[np.uint32], list[Any]]:
        """Those of all lines of the run."""
        import numpy as np

        known = self._whole._codes
        if path not in known:
            codes, values = self._columns.codes(*path)
            known[path] = np.frombuffer(codes, dtype=np.uint32), values
        return known[path]


class Trials(Lines["TrialLine"]):
    """Trial lines, as a rule in the order they ran."""


class Names(tuple[str, ...]):
    """Names of records with a reference to their lines: a million need no lookup one by one."""

    lines: Lines[Any] | None = None


def exact_sum(numbers: Numbers) -> int:
    """Returns the sum, however large."""
    return (int((numbers >> 32).sum()) << 32) + int((numbers & 0xFFFF_FFFF).sum())


class _ByRecord(Mapping[str, LineT]):
    """Lines by their records; a line is looked up when it is asked for."""

    def __init__(self, trials: Lines[LineT]) -> None:
        self._trials, self._places = trials, trials._places

    def __getitem__(self, record: str) -> LineT:
        return self._trials[self._places[record]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


def by_record(lines: Sequence[TrialLine]) -> Mapping[str, TrialLine]:
    """Trial lines by their records."""
    return Trials.of(lines).by_record


_INTEGER_OR_NONE = b"-niIkK"
_KINDS = {int: b"iI", str: b"sS", dict: b"oO"}
"""Kinds of values (of the engine's ``Rows``) that a key may have; an integer may not be below 0."""
_NAMES = {type(None): "n", bool: "b", int: "i", float: "f", str: "s", list: "a", dict: "o"}
_MISSING = object()
_MOST_NAMES = 64
"""Largest number of members, of the objects under a key, that are separate columns."""


class _Plain:
    """Lines that were read one by one, as the engine's ``Rows``: where it is not there, or takes exception to one."""

    def __init__(self, lines: Sequence[Json]) -> None:
        self._lines = lines

    def __len__(self) -> int:
        return len(self._lines)

    def keys(self) -> list[str]:
        return list(dict.fromkeys(key for line in self._lines for key in line))

    def row(self, row: int) -> Any:
        return self._lines[row]

    def kinds(self, *path: str) -> bytes:
        return "".join(_kind(_within(line, path)) for line in self._lines).encode()

    def codes(self, *path: str) -> tuple[bytes, list[Any]]:
        numbers: dict[str, tuple[int, Any]] = {}
        found = array("I")
        for line in self._lines:
            value = _within(line, path, None)
            found.append(numbers.setdefault(repr(value), (len(numbers), value))[0])
        return found.tobytes(), [value for _, value in numbers.values()]

    def column(self, rows: bytes, *path: str) -> list[Any]:
        return [_within(self._lines[row], path, None) for row in memoryview(rows).cast("q")]

    def numbers(self, rows: bytes, *path: str) -> bytes | None:
        values = self.column(rows, *path)
        if not all(value is None or _is_integer(value) for value in values):
            return None
        return array("q", (NOTHING if value is None else value for value in values)).tobytes()

    def integers(self, key: str) -> list[tuple[str, bytes]]:
        objects = [_within(line, (key,), None) for line in self._lines]
        objects = [each if isinstance(each, Mapping) else {} for each in objects]
        names = list(dict.fromkeys(name for each in objects for name in each))[:_MOST_NAMES]
        columns = ((name, (each.get(name) for each in objects)) for name in names)
        return [
            (name, array("q", (value if _is_integer(value) else NOTHING for value in column)).tobytes())
            for name, column in columns
        ]


def _within(line: Json, path: Sequence[str], default: Any = _MISSING) -> Any:
    value: Any = line
    for key in path:
        value = value.get(key, default) if isinstance(value, Mapping) else default
    return value


def _is_integer(value: Any) -> bool:
    return type(value) is int and -(2**61) <= value < 2**61


def _kind(value: Any) -> str:
    if value is _MISSING:
        return "-"
    kind = _NAMES.get(type(value), "f")
    if kind == "i" and value < 0:
        kind = "k"
    return kind.upper() if value else kind


LinesT = TypeVar("LinesT", bound=Lines[Any])


def _parts_of_line(line: Any) -> tuple[Any, tuple[dict[str, Any]]]:
    return dict, ({**line},)


def from_engine(
    lines: type[LinesT],
    path: Path,
    keys: Mapping[str, type],
    of_setting: Mapping[str, type],
    record: re.Pattern[str],
) -> LinesT | None:
    """``lines`` of a file in which each has ``keys`` of their types and its setting those of its own, and is named by a
    ``record``.

    None where the engine is missing or rejects any line; reading them one by one then finds which.
    """
    try:
        from tonnage._native import Row, Rows
    except ImportError:
        return None
    # A copy of a line shares nothing with it.
    copyreg.pickle(Row, _parts_of_line)
    try:
        columns = Rows.read(str(path))
    except (OSError, ValueError):
        return None
    wanted = {(key,): kind for key, kind in keys.items()} | {("setting", key): kind for key, kind in of_setting.items()}
    if any(set(columns.kinds(*path)) - set(_KINDS[kind]) for path, kind in wanted.items()):
        return None
    found = lines(columns)
    return found if all(map(record.match, found.records)) else None
