"""A workflow engine's trace in our terms: its tasks, and what could not be understood of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from tonnage.records.line_types import WorkflowTask

LARGEST = 2**62
"""Above this no count and no instant in nanoseconds is one."""
MOST_BYTES = 64 << 20
"""Of a file: a trace of a hundred thousand tasks has less."""

_PREFIXES = ("", "K", "M", "G", "T", "P", "E")
_NUMBER = re.compile(r"[0-9]{1,19}(?:\.[0-9]{1,12})?\Z", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedTask:
    """One task of a workflow. Instants are nanoseconds since 1970 by the clock of who saw them; None: not said."""

    name: str
    process: str
    """What the workflow calls all tasks of this kind."""
    status: str
    """``ok``, ``failed``, ``aborted``, ``cached`` (not run at all), ``ended`` (nothing says how), or ``unfinished``."""
    host: str | None = None
    attempt: int = 1
    exit_code: int | None = None
    submit_ns: int | None = None
    """The engine handed it over, to a scheduler or to the system."""
    start_ns: int | None = None
    end_ns: int | None = None
    complete_ns: int | None = None
    """The engine knew of its end."""
    times_from: str = "engine"
    """The source of start and end: ``task`` (files of the task itself) or ``engine`` (its polls)."""
    run_ns: int | None = None
    """How long the user's own commands ran, by the task's own measure."""
    cpu_ns: int | None = None
    max_resident_bytes: int | None = None
    read_call_bytes: int | None = None
    write_call_bytes: int | None = None
    device_read_bytes: int | None = None
    device_write_bytes: int | None = None
    after: tuple[int, ...] | None = None
    """Positions in the trace of the tasks whose output it reads; None: unknown."""

    def line(self, *, copy: int, engine: str, number: int, began_ns: int) -> WorkflowTask:
        """Returns the line of the task with this number of a copy of a command, with instants counted from
        ``began_ns``."""

        def since(at_ns: int | None) -> int | None:
            return None if at_ns is None else at_ns - began_ns

        return {
            "copy": copy,
            "engine": engine,
            "task": number,
            "name": self.name,
            "process": self.process,
            "status": self.status,
            "host": self.host,
            "attempt": self.attempt,
            "exit_code": self.exit_code,
            "submit_ns": since(self.submit_ns),
            "start_ns": since(self.start_ns),
            "end_ns": since(self.end_ns),
            "complete_ns": since(self.complete_ns),
            "times_from": self.times_from,
            "run_ns": self.run_ns,
            "cpu_ns": self.cpu_ns,
            "max_resident_bytes": self.max_resident_bytes,
            "read_call_bytes": self.read_call_bytes,
            "write_call_bytes": self.write_call_bytes,
            "device_read_bytes": self.device_read_bytes,
            "device_write_bytes": self.device_write_bytes,
            "after": None if self.after is None else list(self.after),
        }


@dataclass(frozen=True, slots=True)
class Trace:
    """All tasks of a file, in its order, and a sentence with the line for each part that cannot be read."""

    tasks: tuple[TracedTask, ...]
    problems: tuple[str, ...] = ()


class Unreadable(ValueError):
    """A value that is none; the text says what it should be."""


def whole(value: Fraction) -> int:
    """Rounded down; Unreadable where no record could hold it."""
    if not 0 <= value < LARGEST:
        raise Unreadable("is out of all bounds")
    return int(value)


def number(text: str) -> Fraction:
    """``12``, ``1.5``, ``1,5`` and ``1,234.5`` or ``1.234,5``, as a machine's language writes them."""
    text = text.strip().replace("\u00a0", "").replace("\u202f", "").replace("'", "")
    point, comma = text.rfind("."), text.rfind(",")
    if point >= 0 and comma >= 0:
        grouping = "," if point > comma else "."
        text = text.replace(grouping, "")
    text = text.replace(",", ".")
    if not _NUMBER.match(text):
        raise Unreadable("is not a number")
    return Fraction(text)


def size(text: str) -> int:
    """Parses bytes such as ``4096``, ``4 KB``, ``1.2 GiB``: engines mean powers of two by either spelling."""
    match = re.fullmatch(r"([0-9.,' \u00a0\u202f]+?)\s*([KMGTPE]?)(I?B)?", text.strip(), re.IGNORECASE)
    if not match:
        raise Unreadable("is not a size")
    return whole(number(match[1]) * 1024 ** _PREFIXES.index(match[2].upper()))


def content(data: bytes) -> tuple[list[str], bool]:
    """The lines of a file, and whether the last one was cut off in the middle."""
    text = data.decode("utf-8", "replace").replace("\r\n", "\n")
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines, lines[-1] != ""
