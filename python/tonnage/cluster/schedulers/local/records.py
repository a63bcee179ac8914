"""What the spool keeps of a job: what was asked for, and of each copy how it began and how it ended."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from typing import Any

from tonnage.cluster.numbers import Range, each
from tonnage.cluster.scheduler import JobRequest, State
from tonnage.cluster.schedulers.local.process import Process
from tonnage.cluster.terms import Terms

WHOLE = 0
"""The copy of a job that is no array."""
GRACE_NS = 5 * 10**9
"""What a cancelled job has between SIGTERM and SIGKILL."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A job as it was submitted."""

    request: JobRequest
    umask: int
    submitted_at_ns: int
    waiter: Process | None
    """The process that runs it in the foreground, once it is told to; None: the spooler starts one."""

    @classmethod
    def of(cls, request: JobRequest, waiter: Process | None) -> Entry:
        """As whoever asks would run it."""
        umask = os.umask(0o077)
        os.umask(umask)
        return cls(request, umask, time.time_ns(), waiter)

    @property
    def copies(self) -> Iterator[int]:
        """The copies' numbers, in their order."""
        return each(self.request.numbers) if self.request.numbers else iter((WHOLE,))

    def dump(self) -> bytes:
        """For the spool."""
        return _dump(asdict(self))

    @classmethod
    def load(cls, text: bytes) -> Entry:
        """As ``dump`` wrote it."""
        record = json.loads(text)
        wanted = record["request"]
        for name in ("argv", "hosts"):
            wanted[name] = tuple(wanted[name])
        for name in ("licences", "licence_totals"):
            wanted[name] = tuple((str(licence), int(count)) for licence, count in wanted[name])
        wanted["numbers"] = tuple(Range(**one) for one in wanted["numbers"])
        wanted["terms"] = Terms.load(wanted.get("terms", {}))
        known = {field.name for field in fields(JobRequest)}
        request = JobRequest(**{key: value for key, value in wanted.items() if key in known})
        waiter = record["waiter"]
        read_waiter = Process.read(waiter) if waiter else None
        return cls(request, int(record["umask"]), int(record["submitted_at_ns"]), read_waiter)


@dataclass(frozen=True, slots=True)
class Started:
    """A copy that was started: written before its program is, so that none is started twice."""

    waiter: Process
    """Who waits for the program, and writes down how it ended."""
    at_ns: int
    takes_orders: bool = False
    """It reads at SIGTERM whether the end was ordered, and may be ended itself; not whoever only claims a copy, so that
    it does not run."""

    def dump(self) -> bytes:
        """For the spool."""
        return _dump(asdict(self))

    @classmethod
    def load(cls, text: bytes) -> Started:
        """As ``dump`` wrote it."""
        record = json.loads(text)
        return cls(Process.read(record["waiter"]), int(record["at_ns"]), bool(record.get("takes_orders")))


@dataclass(frozen=True, slots=True)
class Ended:
    """How a copy ended."""

    state: State
    status: int | None
    """What it exited with, 128 + n where signal n ended it; None where nobody knows, or it never ran."""
    reason: str
    at_ns: int

    def dump(self) -> bytes:
        """For the spool."""
        return _dump(asdict(self))

    @classmethod
    def load(cls, text: bytes) -> Ended:
        """As ``dump`` wrote it."""
        record = json.loads(text)
        return cls(record["state"], record["status"], record["reason"], int(record["at_ns"]))


def dump_environment() -> bytes:
    """This process's, for the spool."""
    return _dump(dict(os.environ))


def load_environment(text: bytes) -> dict[str, str]:
    """As ``dump_environment`` wrote it."""
    return {str(name): str(value) for name, value in json.loads(text).items()}


def dump_process(process: Process) -> bytes:
    """For the spool."""
    return _dump(asdict(process))


def load_process(text: bytes) -> Process:
    """As ``dump_process`` wrote it."""
    return Process.read(json.loads(text))


def _dump(record: dict[str, Any]) -> bytes:
    # ASCII: words that are no UTF-8 are kept as lone surrogates, which only an escape can spell.
    return json.dumps(record, ensure_ascii=True).encode("ascii") + b"\n"
