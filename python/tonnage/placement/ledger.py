"""What was submitted, durably: an intent before the scheduler is asked, its answer after. Append-only JSON lines.

A submission's key is written down before anything leaves this process, so that a retry, after a crash or a scheduler
that fell silent, knows what to ask for. The same lines tell a decision what was placed lately.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import struct
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

from tonnage.errors import TonnageError
from tonnage.places import user_state

FILE = "submissions.jsonl"
LOCK = "lock"
MOST_BYTES = 16 << 20
"""A ledger larger than this is written anew with its newest lines."""
KEPT_BYTES = 8 << 20
"""Some thousand submissions: those of the last minutes count in a decision, a burst's as well."""
_BEGIN = re.compile(rb'\{"kind":"[a-z]+","key":"([A-Za-z0-9._-]{1,64})"')
"""Of each line: tells which are worth parsing."""
_AT = re.compile(rb'^\{"kind":"[a-z]+","key":"[A-Za-z0-9._-]{1,64}","at_s":([0-9.e+]+)')
_REST = b',"request":'
"""Where the long part of an intent begins, the request and how it was decided, which a decision on another job needs
not. No string can hold these bytes: its quotes are escaped."""
_INTENT = b'{"kind":"intent"'
_PIECE_BYTES = 256 << 10
_POLL_S = 0.002
_PATIENCE_S = 10.0
"""A line is written in milliseconds; whoever holds the ledger for longer is stopped, or its disk is."""


class LedgerError(TonnageError):
    """The ledger cannot be written: nothing is submitted that it would not know of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What the ledger knows of one key."""

    key: str
    at_s: float
    intent: Mapping[str, Any]
    """The request, the decision and what they came from."""
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


class Ledger:
    """This user's, on every host that shares the home directory."""

    def __init__(self, directory: Path | None = None) -> None:
        self._directory = user_state("placement") if directory is None else directory
        self._file = self._directory / FILE

    @contextmanager
    def held(self, key: str, *, timeout_s: float) -> Iterator[None]:
        """Keeps every other process away from the same key; LedgerError where one of them holds it for too long.

        A lock on one byte of a file, at a place drawn from the key: it needs no file a key, and ends with its process.
        """
        number = int.from_bytes(blake2b(key.encode(), digest_size=7).digest(), "little") + 1
        descriptor = self._open(self._directory / LOCK, os.O_RDWR | os.O_CREAT)
        try:
            if not _lock_within(descriptor, number, timeout_s):
                raise LedgerError(
                    f"another submission with the key {key} has not ended for {timeout_s:g} s; "
                    "hint: wait for it, then try again"
                )
            yield
        finally:
            os.close(descriptor)

    def intend(self, key: str, at_s: float, intent: Mapping[str, Any]) -> None:
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
        """What is known of a key."""
        return next(iter(self.of((key,))), None)

    def of(self, keys: Collection[str]) -> list[Entry]:
        """What is known of these keys, however long ago they were submitted."""
        wanted = {key.encode() for key in keys}
        begins = ((line, _BEGIN.match(line)) for line in self._read().split(b"\n")) if wanted else ()
        records = (_parse(line) for line, begin in begins if begin is not None and begin[1] in wanted)
        return list(_entries(record for record in records if record is not None).values())

    def since(self, at_s: float, marks: Mapping[str, Any] | None = None) -> list[Entry]:
        """All that were intended after a time, the oldest first; only those with all of these values. Their intents are
        without the request and the decision."""
        spelled = [] if marks is None else _spelled(marks)
        if spelled:
            whole = self._read()
            if not all(part in whole for part in spelled):
                return []
        lines: list[bytes] = []
        for line in self._backwards():
            # Lines are in the order of writing; another host's clock may differ a little.
            if (at := _AT.search(line)) and float(at[1]) < at_s - 5:
                break
            lines.append(line)
        if marks is not None:
            lines = _of_marked(lines, spelled)
        records = (_parse(line.partition(_REST)[0] + b"}" if _REST in line else line) for line in reversed(lines))
        found = _entries(record for record in records if record is not None).values()
        return [entry for entry in found if entry.at_s >= at_s and (marks is None or _has(entry.intent, marks))]

    def last(self, marks: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """The newest intent that has all of these values."""
        spelled = _spelled(marks)
        for line in self._backwards():
            if not line.startswith(_INTENT) or not all(part in line for part in spelled):
                continue
            record = _parse(line)
            if record is not None and _has(record, marks):
                return record
        return None

    def _backwards(self) -> Iterator[bytes]:
        """Its lines, the newest first, read as far as somebody asks."""
        try:
            with self._file.open("rb") as file:
                at, rest = file.seek(0, os.SEEK_END), b""
                while at:
                    start = max(0, at - _PIECE_BYTES)
                    file.seek(start)
                    lines = (file.read(at - start) + rest).split(b"\n")
                    # The first may have begun in the piece before.
                    rest = lines.pop(0)
                    yield from reversed(lines)
                    at = start
                yield rest
        except FileNotFoundError:
            return
        except OSError as error:
            raise LedgerError(f"cannot read {self._file}: {error.strerror}") from None

    def _read(self) -> bytes:
        try:
            return self._file.read_bytes()
        except FileNotFoundError:
            return b""
        except OSError as error:
            raise LedgerError(f"cannot read {self._file}: {error.strerror}") from None

    def _append(self, record: Mapping[str, Any], *, durable: bool) -> None:
        line = json.dumps(record, separators=(",", ":"), ensure_ascii=True).encode() + b"\n"
        descriptor = self._open(self._directory / LOCK, os.O_RDWR | os.O_CREAT)
        try:
            # The byte 0 of the lock file is the ledger's own; keys have those after it.
            if not _lock_within(descriptor, 0, _PATIENCE_S):
                raise LedgerError(f"another process has {self._file} locked; hint: see which with lsof, then try again")
            self._write(line, durable)
        except OSError as error:
            raise LedgerError(
                f"cannot write {self._file}: {error.strerror}; nothing is submitted without a record; "
                "hint: make room there, or set XDG_STATE_HOME"
            ) from None
        finally:
            os.close(descriptor)

    def _write(self, line: bytes, durable: bool) -> None:
        file = os.open(self._file, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            size = os.fstat(file).st_size
            if size and os.pread(file, 1, size - 1) != b"\n":
                # A writer died in the middle of its line: that line is lost, this one is not.
                line = b"\n" + line
            if os.write(file, line) != len(line):
                raise OSError(28, "No space left on device")
            if durable:
                os.fdatasync(file)
                if size == 0:
                    _sync_directory(self._directory)
        finally:
            os.close(file)
        if size > MOST_BYTES:
            self._compact()

    def _compact(self) -> None:
        """The newest lines, whole, in a new file of the same name; whoever reads the old one reads it to its end."""
        whole = self._read()
        kept = whole if len(whole) <= KEPT_BYTES else whole[-KEPT_BYTES:].partition(b"\n")[2]
        fresh = self._directory / f".{FILE}.new"
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            view = memoryview(kept)
            while view:
                view = view[os.write(descriptor, view) :]
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        fresh.replace(self._file)
        _sync_directory(self._directory)

    def _open(self, path: Path, flags: int) -> int:
        try:
            return os.open(path, flags | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise LedgerError(
                f"cannot open {path}: {error.strerror}; hint: set XDG_STATE_HOME to a directory of yours"
            ) from None


def _lock(descriptor: int, start: int) -> bool:
    """Takes one byte for this open file (not for the process: threads keep each other away as well)."""
    wanted = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, start, 1, 0)
    try:
        fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, wanted)
    except (BlockingIOError, PermissionError):
        return False
    return True


def _lock_within(descriptor: int, start: int, timeout_s: float) -> bool:
    end = time.monotonic() + timeout_s
    while not _lock(descriptor, start):
        if time.monotonic() > end:
            return False
        time.sleep(_POLL_S)
    return True


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _spelled(marks: Mapping[str, Any]) -> list[bytes]:
    """What a line that has these values contains."""
    return [f'"{name}":{json.dumps(value)}'.encode() for name, value in marks.items()]


def _of_marked(lines: Sequence[bytes], spelled: Sequence[bytes]) -> list[bytes]:
    """The intents that contain all of ``spelled``, and the other lines of their keys."""
    begins = [_BEGIN.match(line) for line in lines]
    marked = {
        begin[1]
        for line, begin in zip(lines, begins, strict=True)
        if begin is not None and line.startswith(_INTENT) and all(part in line for part in spelled)
    }
    return [line for line, begin in zip(lines, begins, strict=True) if begin is not None and begin[1] in marked]


def _has(record: Mapping[str, Any], marks: Mapping[str, Any]) -> bool:
    return all(record.get(name) == value for name, value in marks.items())


def _parse(line: bytes) -> dict[str, Any] | None:
    """None for what is no whole record: the rest of a line whose writer died."""
    try:
        record = json.loads(line)
    except ValueError:
        return None
    whole = isinstance(record, dict) and isinstance(record.get("key"), str) and isinstance(record.get("kind"), str)
    return record if whole and isinstance(record.get("at_s"), (int, float)) else None


_FIELDS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "receipt": lambda record: {
        "job": str(record.get("job")),
        "line": str(record.get("line")),
        "answered_s": record["at_s"],
    },
    "refused": lambda record: {"refused": str(record.get("why"))},
}


def _entries(records: Iterable[dict[str, Any]]) -> dict[str, Entry]:
    """By key; a key that was refused and tried again is what its last try says."""
    found: dict[str, Entry] = {}
    for record in records:
        key = record["key"]
        if record["kind"] == "intent":
            found[key] = Entry(key=key, at_s=record["at_s"], intent=record)
        elif key in found and record["kind"] == "recap":
            cap = record.get("cap")
            found[key] = replace(
                found[key], intent={**found[key].intent, "cap": cap, "tasks": cap, "line": record.get("line")}
            )
        elif key in found and (fields := _FIELDS.get(record["kind"])) is not None:
            known = found[key]
            found[key] = Entry(key=key, at_s=known.at_s, intent=known.intent, **fields(record))
    return found
