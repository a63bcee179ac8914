"""What was submitted, durably: an intent before the scheduler is asked, its answer after. Append-only JSON lines.

A submission's key is written down before anything leaves this process, so that a retry, after a crash or a scheduler
that fell silent, knows what to ask for. The same lines tell a decision what was placed lately.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any

from tonnage.errors import TonnageError
from tonnage.machine.state import STATE_HINT, user_state
from tonnage.placement.appended import append, lock_within, rewrite
from tonnage.placement.entries import Entries, Entry

FILE = "submissions.jsonl"
LOCK = "lock"
MOST_BYTES = 16 << 20
"""A ledger larger than this is written anew with its newest lines."""
KEPT_BYTES = 8 << 20
"""Some thousand submissions: those of the last minutes count in a decision, a burst's as well."""
KEPT = "entries.json"
"""What the ledger says, derived from it."""
_BEGIN = re.compile(rb'\{"kind":"[a-z]+","key":"([A-Za-z0-9._-]{1,64})"')
"""Of each line: tells which are worth parsing."""
_PATIENCE_S = 10.0
"""A line is written in milliseconds; whoever holds the ledger for longer is stopped, or its disk is."""


class LedgerError(TonnageError):
    """The ledger cannot be written: nothing is submitted that it would not know of."""


class Ledger:
    """This user's, on every host that shares the home directory."""

    def __init__(self, directory: Path | None = None) -> None:
        self._directory = user_state("placement") if directory is None else directory
        self._file = self._directory / FILE
        self._entries: Entries | None = None

    @contextmanager
    def held(self, key: str, *, timeout_s: float) -> Iterator[None]:
        """Keeps every other process away from the same key; LedgerError where one of them holds it for too long.

        A lock on one byte of a file, at a place drawn from the key: it needs no file a key, and ends with its process.
        """
        number = int.from_bytes(blake2b(key.encode(), digest_size=7).digest(), "little") + 1
        descriptor = self._open(self._directory / LOCK, os.O_RDWR | os.O_CREAT)
        try:
            if not lock_within(descriptor, number, timeout_s):
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
        """What is known of a key, its request and decision in full."""
        found = Entries()
        for line in self._read().split(b"\n"):
            begin = _BEGIN.match(line)
            if begin is not None and begin[1] == key.encode():
                found.add(line)
        return next(iter(found.of((key,))), None)

    def of(self, keys: Collection[str]) -> list[Entry]:
        """What is known of these keys, however long ago they were submitted; without their requests and decisions."""
        return self._said().of(keys) if keys else []

    def since(self, at_s: float, marks: Mapping[str, Any] | None = None) -> list[Entry]:
        """All that were intended after a time, the oldest first; only those whose intent has all of these values. As
        ``of``."""
        return self._said().since(at_s, marks)

    def last(self, marks: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """The newest intent that has all of these values."""
        return self._said().last(marks)

    def _said(self) -> Entries:
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
            raise LedgerError(f"cannot read {self._file}: {error.strerror}") from None
        self._entries.keep(kept)
        return self._entries

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
            return os.open(path, flags | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise LedgerError(f"cannot open {path}: {error.strerror}; {STATE_HINT}") from None
