"""Stores measured load lines for placement: one small JSON file a line.

A line belongs to a target (``tonnage.machine.mounts``) and an access pattern. Users share a directory without
a lock and without rights to each other's files: a line is a whole file that appears in one rename, and none is ever
changed.
``docs/record-format.md`` is the format.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from tonnage.errors import RecordError
from tonnage.records.own_files import replace_file

_FORMAT, _VERSION = "tonnage-load-line", 1
_LARGEST = 1 << 16
_RATES = frozenset({"plateau_bytes_per_s", "single_bytes_per_s"})
"""Written by hand they may be ``1.5e9``, which JSON has as a float."""
_OLD_TRANSFER_SIZE = "transfer_bytes"
"""The key of ``transfer_size`` in files of earlier builds, which sites keep; it is read, and no longer written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptLine:
    """One load line as ``probe`` found it."""

    target: str
    operation: str
    """``write`` or ``read``."""
    access: str
    transfer_size: int
    tasks: int
    """The load line."""
    low: int
    high: int
    """Its interval."""
    plateau_bytes_per_s: int
    single_bytes_per_s: int
    """Of one task."""
    measured_at_s: float
    """Seconds since 1970."""
    host: str
    """Where the tasks ran."""
    run: str
    """The run directory."""
    kernel: str = ""
    """That host's kernel release; empty where unknown."""
    servers: tuple[str, ...] = ()
    """The servers of the target, as its own tools called them; empty where they did not say."""
    measured_ns: int = 0
    """How long the trials of its curve lasted together; 0 where unknown, as in older files."""


def keep_line(directory: Path, line: KeptLine) -> Path:
    """Keeps a line, durably, and gives its file. OSError where it cannot; then nothing else was lost."""
    name = f"{digest(line.target)}-{int(line.measured_at_s * 1000):015d}-{os.urandom(4).hex()}.json"
    text = json.dumps({"format": _FORMAT, "format_version": _VERSION, **asdict(line)}, allow_nan=False)
    replace_file(directory / name, text.encode() + b"\n")
    return directory / name


def kept_lines(directories: Iterable[Path], target: str | None = None) -> list[KeptLine]:
    """The lines of a target, or of all, in these directories, the oldest first.

    A directory that is not there holds none; what is no line is passed over (:func:`lines_in` tells of it).
    """
    found = [line for directory in directories for line in lines_in(directory, target)[0]]
    return sorted(dict.fromkeys(found), key=lambda line: line.measured_at_s)


def lines_in(directory: Path, target: str | None = None) -> tuple[list[KeptLine], list[str]]:
    """The lines of a directory, and a sentence for each file that should hold one and does not."""
    start = "" if target is None else f"{digest(target)}-"
    try:
        every = os.listdir(directory)  # noqa: PTH208
    except OSError:
        return [], []
    lines, problems = [], []
    for name in (name for name in every if name.startswith(start) and name.endswith(".json")):
        try:
            lines.append(_line_in(directory / name))
        except RecordError as error:
            problems.append(str(error))
    return [line for line in lines if target in (None, line.target)], problems


def digest(target: str) -> str:
    """The part of a file's name that says of which target it is."""
    return hashlib.sha256(target.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def _line_in(path: Path) -> KeptLine:
    """RecordError where the file holds no line: all users may write into a shared directory."""
    try:
        value = json.loads(text_of(path))
    except OSError as error:
        raise RecordError(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise RecordError(f"{path} is not JSON") from None
    if not isinstance(value, dict) or value.get("format") != _FORMAT or value.get("format_version") != _VERSION:
        raise RecordError(f"{path} holds no load line that this version reads")
    line = _line_of(value)
    if line is None:
        raise RecordError(f"{path} holds a load line that cannot be")
    return line


def text_of(path: Path) -> bytes:
    """What a file of a shared directory holds; OSError where it is no regular file."""
    # Without O_NONBLOCK another user's pipe in a shared directory would block every reader.
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(0, "it is no regular file")
        return file.read(_LARGEST)


def _line_of(value: Mapping[str, Any]) -> KeptLine | None:
    given: dict[str, Any] = {field.name: value[field.name] for field in fields(KeptLine) if field.name in value}
    if _OLD_TRANSFER_SIZE in value:
        given.setdefault("transfer_size", value[_OLD_TRANSFER_SIZE])
    with suppress(TypeError, ValueError, OverflowError):
        given["servers"] = tuple(given.get("servers", ()))
        given["measured_at_s"] = float(given["measured_at_s"])
        for rate in _RATES & given.keys():
            if isinstance(given[rate], float):
                given[rate] = round(given[rate])
        line = KeptLine(**given)
        texts = (line.target, line.operation, line.access, line.host, line.run, line.kernel, *line.servers)
        counts = (line.tasks, line.low, line.high, line.transfer_size, line.plateau_bytes_per_s)
        sane = (
            all(isinstance(text, str) for text in texts)
            and all(type(count) is int and count > 0 for count in counts)
            and type(line.single_bytes_per_s) is int
            and line.single_bytes_per_s >= 0
            and type(line.measured_ns) is int
            and line.measured_ns >= 0
            and line.low <= line.tasks <= line.high
            and abs(line.measured_at_s) < 2**53
        )
        return line if sane else None
    return None
