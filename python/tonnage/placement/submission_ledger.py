"""A durable log of submissions: an intent before the scheduler is asked, its answer after. Append-only JSON lines.

A submission's key is written down before anything leaves this process, so that a retry, after a crash or a timeout of
the scheduler, can ask for the job of that key. The same lines tell a decision what was placed lately.

What the lines say, key by key, is kept beside them, so that a decision reads only what was appended since. That file is
derived and can be rebuilt: it says up to which byte the ledger was read, and the bytes before that place. A ledger that
differs there is read from its beginning.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO, NamedTuple, TypedDict, cast

from tonnage.errors import TonnageError
from tonnage.machine.user_state import STATE_HINT, user_state
from tonnage.placement.append_log import append, lock_within, rewrite
from tonnage.program_places import keep_file, open_private

VERSION = 1
"""Version of the derived file; one of another version is rebuilt."""
UNKEPT_BYTES = 64 << 10
"""Each process reads up to so much of the ledger again before one of them writes the derived file: some 25
submissions."""
_MARK_BYTES = 16 << 10
"""The end of what was read, by which a ledger is known again: some lines, each with its key and its time."""
_REST = b',"request":'
"""Where the long part of an intent begins, the request and how it was decided, which a decision on another job needs
not. No string can hold these bytes: its quotes are escaped."""
FILE = "submissions.jsonl"
LOCK = "lock"
MOST_BYTES = 16 << 20
"""A ledger larger than this is written anew with its newest lines."""
KEPT_BYTES = 8 << 20
"""Some thousand submissions: those of the last minutes count in a decision, a burst's as well."""
KEPT = "entries.json"
"""The derived file."""
_BEGIN = re.compile(rb'\{"kind":"[a-z]+","key":"([A-Za-z0-9._-]{1,64})"')
"""Of each line: tells which are worth parsing."""
_PATIENCE_S = 10.0
"""A line is written in milliseconds; a process that holds the lock for longer is stopped, or its disk hangs."""


class KeptRequest(TypedDict, total=False):
    """The fields of a request that later decisions read; the ledger keeps every field of it but the key."""

    argv: list[str]
    directory: str
    numbers: list[dict[str, int]]


class Intent(TypedDict, total=False):
    """A decision and its request. Older ledgers lack some fields."""

    scheduler: str
    target: str
    pattern: str
    transfer_size: int
    server: str | None
    line: int | None
    """The load line that the cap went by."""
    line_servers: list[str]
    by_line: bool
    """Whether the cap is the line's, not the user's."""
    cap: int | None
    copies: int
    """How many there are of it; 1: it is no array."""
    tasks: int
    """Copies at once."""
    io_share: float
    asks: float
    """Tasks of the load line, of one copy."""
    measured: bool
    bytes_per_s: int | None
    room: int | None
    """Copies that the hosts beside the data take at once."""
    request: KeptRequest
    decision: object
    how: list[str]
    notes: list[str]


class Marks(TypedDict, total=False):
    """Values by which intents are found: those that have all of them."""

    scheduler: str
    target: str
    pattern: str
    server: str
    by_line: bool


class _Record(TypedDict):
    """The fields of every line, besides the intent or its result."""

    kind: str
    key: str
    at_s: float


class _Answer(_Record, total=False):
    """The result of an intent: each kind has some of these."""

    job: str
    line: str | int
    """Of a receipt the scheduler's own words; of a new cap its load line."""
    why: str
    cap: int


class Entry(NamedTuple):
    """What the ledger knows of one key. A tuple: for each decision thousands are made."""

    key: str
    at_s: float
    intent: Intent
    """What was decided and for what, its cap and line as they are now; the request and the decision in full where one
    key was asked for."""
    job: str | None = None
    line: str | None = None
    """The scheduler's receipt, word for word."""
    refused: str | None = None
    """Why nothing was submitted; such a key may be tried again."""
    answered_s: float | None = None
    """When the receipt came."""

    @property
    def open(self) -> bool:
        """Whether its result is unknown."""
        return self.job is None and self.refused is None


_INTENT = Entry._fields.index("intent")


class Entries:
    """By key, in the order of the intents; a key that was refused and tried again is what its last try says."""

    def __init__(self) -> None:
        self._intents: dict[str, Intent] = {}
        """As JSON → the intent: those of a burst differ in few ways, and equal ones are one object."""
        self._entries: dict[str, Entry] = {}
        self._read_bytes = 0
        self._kept_bytes = 0
        self._mark = _mark(b"")

    def add(self, line: bytes) -> None:
        """Adds the next line; an incomplete record, whose writer ended early, is ignored."""
        if (record := _parse(line)) is None:
            return
        kind, key, at_s = record["kind"], record["key"], record["at_s"]
        known = self._entries.get(key)
        if kind == "intent":
            # Its place is that of its last try.
            self._entries.pop(key, None)
            self._entries[key] = Entry(key, at_s, self._one(_intent_of(record)))
        elif known is None:
            return
        elif kind == "receipt":
            job, said = str(record.get("job")), str(record.get("line"))
            self._entries[key] = known._replace(job=job, line=said, refused=None, answered_s=at_s)
        elif kind == "refused":
            refused = str(record.get("why"))
            self._entries[key] = known._replace(job=None, line=None, refused=refused, answered_s=None)
        elif kind == "recap":
            self._entries[key] = known._replace(intent=self._one(_recapped(known.intent, record)))

    def since(self, at_s: float, marks: Marks | None = None) -> list[Entry]:
        """All that were intended after a time; only those whose intent has all of these values."""
        wanted = None if marks is None else self._marked(marks)
        every = self._entries.values() if wanted is None or wanted else ()
        return [entry for entry in every if entry.at_s >= at_s and (wanted is None or id(entry.intent) in wanted)]

    def of(self, keys: Collection[str]) -> list[Entry]:
        """Returns the entries of these keys."""
        return [entry for key, entry in self._entries.items() if key in keys]

    def last(self, marks: Marks) -> Intent | None:
        """The newest intent that has all of these values."""
        wanted = self._marked(marks)
        newest_first = reversed(self._entries.values()) if wanted else ()
        return next((entry.intent for entry in newest_first if id(entry.intent) in wanted), None)

    def _marked(self, marks: Marks) -> set[int]:
        """The identities of those that have all of these values."""
        return {id(intent) for intent in self._intents.values() if _has(intent, marks)}

    def _one(self, intent: Intent) -> Intent:
        return self._intents.setdefault(json.dumps(intent), intent)

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
        """Writes the derived file, unless little was read since it was written. Failures are silent: the next process
        reads more."""
        if self._read_bytes - self._kept_bytes < UNKEPT_BYTES:
            return
        self._kept_bytes = self._read_bytes
        number = {id(intent): place for place, intent in enumerate(self._intents.values())}
        entries = self._entries.values()
        found = {
            "version": VERSION,
            "read_bytes": self._read_bytes,
            "mark": self._mark,
            "intents": [*self._intents.values()],
            "entries": [(*entry[:_INTENT], number[id(entry.intent)], *entry[_INTENT + 1 :]) for entry in entries],
        }
        told = json.dumps(found, separators=(",", ":")).encode()
        keep_file(file, _mark(told).encode() + b"\n" + told)

    @classmethod
    def kept(cls, file: Path) -> Entries:
        """The entries of the derived file; none where it is missing, damaged or of another version."""
        entries = cls()
        try:
            mark, _, told = file.read_bytes().partition(b"\n")
        except OSError:
            return entries
        if mark.decode(errors="replace") != _mark(told):
            return entries
        found = json.loads(told)
        if found["version"] != VERSION:
            return entries
        intents = [entries._one(intent) for intent in found["intents"]]
        for row in found["entries"]:
            row[_INTENT] = intents[row[_INTENT]]
            entries._entries[row[0]] = Entry._make(row)
        entries._read_bytes = entries._kept_bytes = found["read_bytes"]
        entries._mark = found["mark"]
        return entries


def capped(intent: Intent, cap: int, line: int) -> Intent:
    """Returns the same with another cap, by that load line."""
    return {**intent, "cap": cap, "tasks": cap, "line": line}


def _recapped(intent: Intent, record: _Answer) -> Intent:
    cap = record.get("cap")
    return cast("Intent", {**intent, "cap": cap, "tasks": cap, "line": record.get("line")})


def _intent_of(record: _Answer) -> Intent:
    """All that is not of every line."""
    return cast("Intent", {name: value for name, value in record.items() if name not in _Record.__annotations__})


def _parse(line: bytes) -> _Answer | None:
    try:
        record = json.loads(line)
    except ValueError:
        return None
    whole = isinstance(record, dict) and isinstance(record.get("key"), str) and isinstance(record.get("kind"), str)
    return record if whole and isinstance(record.get("at_s"), (int, float)) else None


def _has(intent: Mapping[str, object], marks: Mapping[str, object]) -> bool:
    return all(intent.get(name) == value for name, value in marks.items())


def _mark(data: bytes) -> str:
    return blake2b(data, digest_size=16).hexdigest()


class LedgerError(TonnageError):
    """The ledger cannot be written: nothing is submitted that it would not know of."""


class Ledger:
    """This user's, on every host that shares the home directory."""

    def __init__(self, directory: Path | None = None) -> None:
        self._directory = user_state("placement") if directory is None else directory
        self._file = self._directory / FILE
        self._entries: Entries | None = None

    @contextmanager
    def locked(self, key: str, *, timeout_s: float) -> Iterator[None]:
        """Keeps every other process away from the same key; LedgerError where one of them holds it for too long.

        A lock on one byte of a file, at a place drawn from the key: it needs no file a key, and ends with its process.
        """
        number = int.from_bytes(blake2b(key.encode(), digest_size=7).digest(), "little") + 1
        descriptor = self._open(self._directory / LOCK, os.O_RDWR)
        try:
            if not lock_within(descriptor, number, timeout_s):
                raise LedgerError(
                    f"another submission with the key {key} has not ended for {timeout_s:g} s; "
                    "hint: wait for it, then try again"
                )
            yield
        finally:
            os.close(descriptor)

    def intend(self, key: str, at_s: float, intent: Intent) -> None:
        """Durable when it returns."""
        self._append({"kind": "intent", "key": key, "at_s": at_s, **intent}, durable=True)

    def receive(self, key: str, at_s: float, job: str, line: str) -> None:
        """The scheduler's receipt. Not waited for: without it the intent is open, and the scheduler is asked."""
        self._append({"kind": "receipt", "key": key, "at_s": at_s, "job": job, "line": line}, durable=False)

    def refuse(self, key: str, at_s: float, why: str) -> None:
        """Nothing was submitted."""
        self._append({"kind": "refused", "key": key, "at_s": at_s, "why": why}, durable=False)

    def recap(self, key: str, at_s: float, cap: int, line: int) -> None:
        """From now on so many copies at once, by this load line."""
        self._append({"kind": "recap", "key": key, "at_s": at_s, "cap": cap, "line": line}, durable=False)

    def entry(self, key: str) -> Entry | None:
        """Returns the entry of a key, with its whole request and decision."""
        found = Entries()
        for line in self._read().split(b"\n"):
            begin = _BEGIN.match(line)
            if begin is not None and begin[1] == key.encode():
                found.add(line)
        return next(iter(found.of((key,))), None)

    def of(self, keys: Collection[str]) -> list[Entry]:
        """Returns the entries of these keys, of any age, without their requests and decisions."""
        return self._current_entries().of(keys) if keys else []

    def since(self, at_s: float, marks: Marks | None = None) -> list[Entry]:
        """All that were intended after a time, the oldest first; only those whose intent has all of these values. As
        ``of``."""
        return self._current_entries().since(at_s, marks)

    def last(self, marks: Marks) -> Intent | None:
        """The newest intent that has all of these values."""
        return self._current_entries().last(marks)

    def _current_entries(self) -> Entries:
        """All that it says by now."""
        kept = self._directory / KEPT
        try:
            with self._file.open("rb") as file:
                if self._entries is None:
                    self._entries = Entries.kept(kept)
                if not self._entries.read_on(file):
                    # It was written anew since.
                    self._entries = Entries()
                    self._entries.read_on(file)
        except FileNotFoundError:
            return Entries()
        except OSError as error:
            raise LedgerError(
                f"cannot read {self._file}: {error.strerror}; hint: see what it is, or move it away"
            ) from None
        self._entries.keep(kept)
        return self._entries

    def _read(self) -> bytes:
        try:
            return self._file.read_bytes()
        except FileNotFoundError:
            return b""
        except OSError as error:
            raise LedgerError(
                f"cannot read {self._file}: {error.strerror}; hint: see what it is, or move it away"
            ) from None

    def _append(self, record: Mapping[str, object], *, durable: bool) -> None:
        line = json.dumps(record, separators=(",", ":"), ensure_ascii=True).encode() + b"\n"
        descriptor = self._open(self._directory / LOCK, os.O_RDWR)
        try:
            # The byte 0 of the lock file is the ledger's own; keys have those after it.
            if not lock_within(descriptor, 0, _PATIENCE_S):
                raise LedgerError(f"another process has {self._file} locked; hint: see which with lsof, then try again")
            if append(self._file, line, durable=durable) > MOST_BYTES:
                self._compact()
        except OSError as error:
            raise LedgerError(
                f"cannot write {self._file}: {error.strerror}; nothing is submitted without a record; "
                "hint: make room there, or set XDG_STATE_HOME"
            ) from None
        finally:
            os.close(descriptor)

    def _compact(self) -> None:
        """The newest lines, whole."""
        whole = self._read()
        rewrite(self._file, whole if len(whole) <= KEPT_BYTES else whole[-KEPT_BYTES:].partition(b"\n")[2])

    def _open(self, path: Path, flags: int) -> int:
        try:
            return open_private(path, flags)
        except OSError as error:
            raise LedgerError(f"cannot open {path}: {error.strerror}; {STATE_HINT}") from None
