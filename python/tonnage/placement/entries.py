"""What a ledger's lines say, key by key; kept beside it, so that a decision reads only what was appended since.

What is kept is derived, and lost at no cost but time: it says up to which byte the ledger was read, and what stood
before that byte. A ledger that does not have that there any more is read from its beginning.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from tonnage.places import keep_file

VERSION = 1
"""Of what is kept; another one is read anew."""
UNKEPT_BYTES = 64 << 10
"""So much of the ledger is read again by each, before somebody keeps what it says: some 25 submissions."""
_MARK_BYTES = 16 << 10
"""The end of what was read, by which a ledger is known again: some lines, each with its key and its time."""
_REST = b',"request":'
"""Where the long part of an intent begins, the request and how it was decided, which a decision on another job needs
not. No string can hold these bytes: its quotes are escaped."""
_OF_THE_LINE = ("kind", "key", "at_s")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What the ledger knows of one key."""

    key: str
    at_s: float
    intent: Mapping[str, Any]
    """What was decided and for what; the request and the decision in full where one key was asked for."""
    job: str | None = None
    line: str | None = None
    """The scheduler's receipt, word for word."""
    refused: str | None = None
    """Why nothing was submitted; such a key may be tried again."""
    answered_s: float | None = None
    """When the receipt came."""

    @property
    def open(self) -> bool:
        """Whether nobody knows what became of it."""
        return self.job is None and self.refused is None


class _Row(NamedTuple):
    """An entry in as few values as it takes: for each decision thousands are read."""

    at_s: float
    intent: int
    """Its number among the intents that differ: a burst has few."""
    job: str | None = None
    line: str | None = None
    refused: str | None = None
    answered_s: float | None = None
    recap: tuple[Any, Any] | None = None
    """Cap and load line since they were changed."""


class Entries:
    """By key, in the order of the intents; a key that was refused and tried again is what its last try says."""

    def __init__(self) -> None:
        self._intents: list[dict[str, Any]] = []
        self._numbers: dict[str, int] = {}
        self._rows: dict[str, _Row] = {}
        self._read_bytes = 0
        self._kept_bytes = 0
        self._mark = _mark(b"")

    def add(self, line: bytes) -> None:
        """The next line; what is no whole record, the rest of one whose writer died, is passed over."""
        if (record := _parse(line)) is None:
            return
        key, row = record["key"], self._rows.get(record["key"])
        if record["kind"] == "intent":
            # Its place is that of its last try.
            self._rows.pop(key, None)
            self._rows[key] = _Row(record["at_s"], self._number(record))
        elif row is not None and (follows := _FOLLOWS.get(record["kind"])) is not None:
            self._rows[key] = follows(row, record)

    def since(self, at_s: float, marks: Mapping[str, Any] | None = None) -> list[Entry]:
        """All that were intended after a time; only those whose intent was written with all of these values."""
        wanted = self._marked(marks or {})
        rows = self._rows.items() if wanted else ()
        return [self._entry(key, row) for key, row in rows if row.at_s >= at_s and row.intent in wanted]

    def of(self, keys: Collection[str]) -> list[Entry]:
        """Those of these keys."""
        return [self._entry(key, row) for key, row in self._rows.items() if key in keys]

    def last(self, marks: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """The newest intent that has all of these values, as it was written."""
        wanted = self._marked(marks)
        rows: Iterable[_Row] = reversed(self._rows.values()) if wanted else ()
        return next((self._intents[row.intent] for row in rows if row.intent in wanted), None)

    def read_on(self, ledger: BinaryIO) -> bool:
        """Adds the lines that were appended since. False where this is another ledger than what was read."""
        first = max(0, self._read_bytes - _MARK_BYTES)
        ledger.seek(first)
        before = ledger.read(self._read_bytes - first)
        if first + len(before) != self._read_bytes or _mark(before) != self._mark:
            return False
        # A line without its end is still being written, or was left so by a writer that died.
        whole, end, _ = ledger.read().rpartition(b"\n")
        for line in whole.split(b"\n"):
            self.add(line.partition(_REST)[0] + b"}" if _REST in line else line)
        self._read_bytes += len(whole) + len(end)
        self._mark = _mark((before + whole + end)[-_MARK_BYTES:])
        return True

    def keep(self, file: Path) -> None:
        """Unless little was read since it was kept. Nothing is said where it cannot be: the next one reads more."""
        if self._read_bytes - self._kept_bytes < UNKEPT_BYTES:
            return
        self._kept_bytes = self._read_bytes
        found = {"version": VERSION, "read_bytes": self._read_bytes, "mark": self._mark, "intents": self._intents}
        told = json.dumps({**found, "rows": self._rows}, separators=(",", ":")).encode()
        keep_file(file, _mark(told).encode() + b"\n" + told)

    @classmethod
    def kept(cls, file: Path) -> Entries:
        """As somebody kept them; none where nobody did, or what is there is damaged or of another version."""
        entries = cls()
        try:
            mark, _, told = file.read_bytes().partition(b"\n")
        except OSError:
            return entries
        if mark.decode(errors="replace") != _mark(told):
            return entries
        found = json.loads(told)
        if found["version"] == VERSION:
            entries._intents = found["intents"]
            entries._numbers = {_spelled(intent): number for number, intent in enumerate(found["intents"])}
            entries._rows = {key: _Row._make(row) for key, row in found["rows"].items()}
            entries._read_bytes = entries._kept_bytes = found["read_bytes"]
            entries._mark = found["mark"]
        return entries

    def _number(self, record: Mapping[str, Any]) -> int:
        intent = {name: value for name, value in record.items() if name not in _OF_THE_LINE}
        number = self._numbers.setdefault(_spelled(intent), len(self._intents))
        if number == len(self._intents):
            self._intents.append(intent)
        return number

    def _marked(self, marks: Mapping[str, Any]) -> set[int]:
        return {number for number, intent in enumerate(self._intents) if _has(intent, marks)}

    def _entry(self, key: str, row: _Row) -> Entry:
        intent = self._intents[row.intent]
        if row.recap is not None:
            cap, line = row.recap
            intent = {**intent, "cap": cap, "tasks": cap, "line": line}
        return Entry(
            key=key,
            at_s=row.at_s,
            intent=intent,
            job=row.job,
            line=row.line,
            refused=row.refused,
            answered_s=row.answered_s,
        )


def _parse(line: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
    except ValueError:
        return None
    whole = isinstance(record, dict) and isinstance(record.get("key"), str) and isinstance(record.get("kind"), str)
    return record if whole and isinstance(record.get("at_s"), (int, float)) else None


_FOLLOWS: dict[str, Callable[[_Row, dict[str, Any]], _Row]] = {
    "receipt": lambda row, record: row._replace(
        job=str(record.get("job")), line=str(record.get("line")), refused=None, answered_s=record["at_s"]
    ),
    "refused": lambda row, record: row._replace(job=None, line=None, refused=str(record.get("why")), answered_s=None),
    "recap": lambda row, record: row._replace(recap=(record.get("cap"), record.get("line"))),
}
"""What each kind of line that comes after an intent makes of it."""


def _has(intent: Mapping[str, Any], marks: Mapping[str, Any]) -> bool:
    return all(intent.get(name) == value for name, value in marks.items())


def _spelled(intent: Mapping[str, Any]) -> str:
    return json.dumps(intent)


def _mark(data: bytes) -> str:
    return blake2b(data, digest_size=16).hexdigest()
