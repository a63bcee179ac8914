"""Reads a run directory. Whatever is wrong with a file becomes a RecordError that names the file and the line."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any, cast

from tonnage.errors import RecordError
from tonnage.records.file_names import (
    COPIES,
    DEVICES,
    EVENTS,
    FORMAT,
    FORMAT_VERSION,
    MANIFEST,
    OBJECTS,
    TASKS,
    TRIALS,
    WORKFLOW,
)
from tonnage.records.hash_chain import open_regular, read_regular, refuse_holes, sums_of
from tonnage.records.line_types import (
    CopyLine,
    DeviceLine,
    EventLine,
    Json,
    Manifest,
    ObjectLine,
    TaskLine,
    TrialLine,
    WorkflowLine,
)
from tonnage.records.measuring_process import ENDED_WITHOUT_SUMMARY, ended_without_summary
from tonnage.records.tasks_jsonl import TaskLines, Tasks
from tonnage.records.trial_columns import Trials, from_engine

_RECORD = re.compile(r"\d{4,}-[a-z][a-z-]*\Z")
_TRIAL_KEYS = {
    "trial": int,
    "record": str,
    "setting": dict,
    "repetition": int,
    "phase": str,
    "purpose": str,
    "status": str,
    "bytes": int,
    "operations": int,
    "errors": int,
}
_TASK_KEYS = {"record": str, **dict.fromkeys(("task", "start_ns", "end_ns", "bytes", "operations", "errors"), int)}
_COPY_KEYS = {
    "record": str,
    **dict.fromkeys(("copy", "task", "start_ns", "end_ns"), int),
}
_WORKFLOW_KEYS = {"record": str, "copy": int, "task": int, "name": str, "process": str, "status": str}
_DEVICE_KEYS = {"record": str, "name": str, "bytes": int, "parts": list}
_OBJECT_KEYS = {
    "record": str,
    "osds": list,
    "names": list,
    **dict.fromkeys(("group", "objects", "writes", "written_bytes", "reads", "read_bytes"), int),
}
_SETTING_KEYS: dict[str, type] = {"tasks": int}


_TABLES = ("campaign", "cost", "host", "search", "stopped", "target")
"""What of a manifest is a table, or null, wherever it is there."""
_COUNTED = ("_ns", "_bytes", "_per_s")
"""How keys of a trial end that hold a number, or null."""
_RATES = ("bandwidth_bytes_per_s", "operations_per_s")
_LARGEST = (1 << 63) - 1
"""Of a whole number: what other readers of such a file can hold."""
_ODD = re.compile(rb"[0-9]{19}|[0-9][eE]\+?[0-9]{3}|\\u[dD][89a-fA-F]|\xed[\xa0-\xbf]")
"""What only a line that has a number too large, or half of a character, has in it."""
_ALIKE = bytes.maketrans(b"123456789ED", b"000000000ed")
_SIGNS = (b"0" * 19, b"0e000", b"0e+000", b"\\ud", b"\xed")
"""Of these ``_ODD`` needs one, among bytes that are made alike: to look for them takes a twentieth of the time."""
_HALF = re.compile("[\ud800-\udc7f\udd00-\udfff]")
"""Half of a character. Those in between stand for bytes of a name that is no UTF-8."""
_LARGEST_FACT = (1 << 64) - 1
"""… of a manifest: some servers tell such a size where they know none."""
_SHORT_FILE = 8 << 20
_LONGEST_LINE = 64 << 20
"""Of ``trials.jsonl``, in bytes."""


@dataclass(frozen=True, slots=True)
class Run:
    """A run directory, read only. A run that is still being written reads as what is whole so far."""

    path: Path
    manifest: Manifest

    @staticmethod
    def open(path: str | Path) -> Run:
        """RecordError if ``path`` is not a run directory of a format this version reads."""
        directory = Path(path)
        file = directory / MANIFEST
        try:
            data = read_regular(file)
        except (FileNotFoundError, NotADirectoryError):
            raise RecordError(f"{directory} is not a run directory: it has no {MANIFEST}") from None
        except OSError as error:
            raise RecordError(f"{file} cannot be read: {error.strerror}") from error
        manifest = _parse(data, str(file), _LARGEST_FACT)
        if manifest.get("format") != FORMAT:
            raise RecordError(f"{file}: format is {manifest.get('format')!r}; this is no run of Tonnage")
        version = manifest.get("format_version")
        if version != FORMAT_VERSION:
            raise RecordError(
                f"{file}: format_version is {version!r}, and this Tonnage reads {FORMAT_VERSION}: "
                "use the version that wrote it"
            )
        _check_manifest(manifest, str(file))
        return Run(directory, manifest)

    @property
    def state(self) -> str:
        """As its manifest says; ``ENDED_WITHOUT_SUMMARY`` where that is ``running`` and its process is surely gone."""
        if ended_without_summary(self.path, self.manifest):
            return ENDED_WITHOUT_SUMMARY
        return str(self.manifest.get("state"))

    @property
    def is_sealed(self) -> bool:
        """Whether the run has ended, and its manifest has the hash of its other files."""
        return sums_of(self.manifest) is not None

    def trials(self, problems: list[str] | None = None) -> list[TrialLine]:
        """Returns the lines of ``trials.jsonl``, in the order they ran. A line that cannot be read is a RecordError, or
        where ``problems`` are given, here and of the other files, is left out and told there."""
        return _lines(self.path / TRIALS, _TRIAL_KEYS, problems, _check_trial)

    def each_trial(self) -> Trials:
        """Returns the same lines, read only: for callers that read all of up to a million lines."""
        _regular(self.path / TRIALS)
        found = from_engine(Trials, self.path / TRIALS, _TRIAL_KEYS, _SETTING_KEYS, _RECORD)
        if found is None or _is_odd(self.path / TRIALS):
            return Trials.of(self.trials())
        for line, key in found.not_integers(_is_counted):
            value = cast("Json", line)[key]
            _check_counted(key, value, f"{self.path / TRIALS}, record {line['record']}")
        for line in found.not_positive("elapsed_ns"):
            _check_elapsed(line, f"{self.path / TRIALS}, record {line['record']}")
        return found

    def has_trials(self) -> bool:
        """Whether there is a whole line in ``trials.jsonl``; RecordError where what is there is no such file."""
        path = self.path / TRIALS
        _regular(path)
        try:
            with path.open("rb") as file:
                return file.readline(_LONGEST_LINE).endswith(b"\n")
        except OSError as error:
            raise RecordError(f"{path} cannot be read: {error.strerror}") from error

    def trials_after(self, offset_bytes: int, most_bytes: int) -> tuple[list[TrialLine], int]:
        """The lines of ``trials.jsonl`` from byte ``offset_bytes`` on, in ``most_bytes`` of it at most, and where the
        next one will begin: for who follows a run that goes on."""
        path = self.path / TRIALS
        try:
            with path.open("rb") as file:
                file.seek(offset_bytes)
                data = file.read(most_bytes)
        except OSError as error:
            raise RecordError(f"{path} cannot be read: {error.strerror}") from error
        whole = data.rfind(b"\n") + 1
        if not whole and len(data) == most_bytes:
            raise RecordError(f"{path}: the line at byte {offset_bytes} is longer than {most_bytes} bytes")
        lines = []
        for text in data[:whole].split(b"\n")[:-1]:
            where = f"{path}, after byte {offset_bytes}"
            line = _parse(text, where)
            _check(line, _TRIAL_KEYS, where)
            _check_trial(line, where)
            lines.append(line)
        return lines, offset_bytes + whole

    def tasks(self, problems: list[str] | None = None) -> list[TaskLine]:
        """Returns the lines of ``tasks.jsonl``."""
        return _lines(self.path / TASKS, _TASK_KEYS, problems)

    def each_task(self) -> Tasks:
        """Returns the same lines by their record, read only: for callers that read all of up to millions of lines."""
        _regular(self.path / TASKS)
        found = from_engine(TaskLines, self.path / TASKS, _TASK_KEYS, {}, _RECORD)
        return Tasks.of(self.tasks()) if found is None or _is_odd(self.path / TASKS) else Tasks(found)

    def events(self) -> list[EventLine]:
        """Returns the lines of ``events.jsonl``."""
        return _lines(self.path / EVENTS, {"kind": str})

    def copies(self, problems: list[str] | None = None) -> list[CopyLine]:
        """The lines of ``copies.jsonl``; none where no command was run."""
        file = self.path / COPIES
        return _lines(file, _COPY_KEYS, problems) if file.exists() else []

    def workflow(self, problems: list[str] | None = None) -> list[WorkflowLine]:
        """The lines of ``workflow.jsonl``; none where no workflow engine's trace was read."""
        file = self.path / WORKFLOW
        return _lines(file, _WORKFLOW_KEYS, problems) if file.exists() else []

    def devices(self) -> list[DeviceLine]:
        """The lines of ``devices.jsonl``; none where it is unknown which devices hold the files."""
        file = self.path / DEVICES
        return _lines(file, _DEVICE_KEYS) if file.exists() else []

    def objects(self, problems: list[str] | None = None) -> list[ObjectLine]:
        """The lines of ``objects.jsonl``; none where the storage did not say where its objects are."""
        file = self.path / OBJECTS
        return _lines(file, _OBJECT_KEYS, problems) if file.exists() else []

    def kept(self, room: str) -> frozenset[str]:
        """Records that have a file in ``series``, ``heat``, ``latency`` or ``operations``: listed once for all of
        them."""
        try:
            return frozenset(file.name.partition(".")[0] for file in os.scandir(self.path / room))
        except FileNotFoundError:
            return frozenset()
        except OSError as error:
            raise RecordError(f"{self.path / room} cannot be read: {error.strerror}") from error

    def series(self, record: str) -> dict[str, list[int]] | None:
        """Columns of ``series/`` (``docs/record-format.md``); None if there is no such file."""
        columns: dict[str, list[int]] | None = self._native("series", record, "parquet", "read_table")
        return columns

    def heat(self, record: str) -> dict[str, list[int]] | None:
        """Columns of ``heat/``; None if there is no such file."""
        columns: dict[str, list[int]] | None = self._native("heat", record, "parquet", "read_table")
        return columns

    def operations(self, record: str) -> dict[str, list[int]] | None:
        """Columns of ``operations/``, where single operations were kept; None if there is no such file."""
        columns: dict[str, list[int]] | None = self._native("operations", record, "parquet", "read_table")
        return columns

    def histograms(self, record: str) -> dict[str, list[tuple[int, int]]] | None:
        """Tag → (highest equivalent value in ns, count), ascending; None if there is no such file."""
        tags: dict[str, list[tuple[int, int]]] | None = self._native("latency", record, "hlog", "read_histograms")
        return tags

    def histogram(self, record: str) -> list[tuple[int, int]] | None:
        """As :meth:`histograms`, all tasks that work together; followers and their lag have tags of their own."""
        return self._merged(record, "task-")

    def lag(self, record: str) -> list[tuple[int, int]] | None:
        """As :meth:`histogram`, how far all followers of a ``tail`` phase were behind, in nanoseconds."""
        return self._merged(record, "lag-")

    def snapshots(self, record: str) -> list[tuple[int, int]] | None:
        """Reads, as :meth:`histogram` does, the time that taking each snapshot of a ``checkpoint`` phase took, in
        nanoseconds."""
        return self._merged(record, "snapshot-")

    def _merged(self, record: str, prefix: str) -> list[tuple[int, int]] | None:
        found: list[tuple[int, int]] | None = self._native("latency", record, "hlog", "read_merged", prefix)
        return found

    def _native(self, room: str, record: str, suffix: str, reader: str, *words: str) -> Any:
        if not _RECORD.match(record):
            raise RecordError(f"{record!r} is not the name of a record")
        file = self.path / room / f"{record}.{suffix}"
        if not file.exists():
            return None
        _regular(file)
        from tonnage import _native

        try:
            return getattr(_native, reader)(str(file), *words)
        except (OSError, ValueError) as error:
            raise RecordError(f"{file} cannot be read: {error}") from error


def _regular(path: Path) -> None:
    """RecordError for a file that is not regular, on which the engine would block, or that has holes."""
    try:
        handle = open_regular(path)
    except FileNotFoundError:
        return
    except OSError as error:
        raise RecordError(f"{path} cannot be read: {error.strerror}") from error
    try:
        refuse_holes(path, handle)
    finally:
        os.close(handle)


def _is_odd(path: Path) -> bool:
    """Whether a file has what each of its lines has to be looked at for; of a long one that takes too long to ask."""
    return path.stat().st_size <= _SHORT_FILE and _has_odd(path.read_bytes())


def _has_odd(data: bytes) -> bool:
    alike = data.translate(_ALIKE)
    return any(sign in alike for sign in _SIGNS) and _ODD.search(data) is not None


def _check_manifest(manifest: Json, where: str) -> None:
    for key in _TABLES:
        if not isinstance(manifest.get(key), dict | None):
            raise RecordError(f"{where}: {key} is no table")
    ceilings = manifest.get("ceilings")
    if not isinstance(ceilings, list | None) or not all(isinstance(one, dict) for one in ceilings or ()):
        raise RecordError(f"{where}: ceilings is no list of tables")


def _is_counted(key: str) -> bool:
    return key.endswith(_COUNTED)


def _check_counted(key: str, value: object, where: str) -> None:
    """A fraction can be reckoned with: that it is one is for the promises to tell."""
    if value is not None and type(value) is not int and not (type(value) is float and isfinite(value)):
        raise RecordError(f"{where}: {key} is {value!r}, not a number")


def _check_elapsed(line: Json, where: str) -> None:
    elapsed = line.get("elapsed_ns")
    if elapsed is not None and elapsed <= 0 and any(line.get(key) is not None for key in _RATES):
        raise RecordError(f"{where}: elapsed_ns is {elapsed}, and a rate is told")


def _check_trial(line: Json, where: str) -> None:
    for key, value in line.items():
        if _is_counted(key):
            _check_counted(key, value, where)
    _check_elapsed(line, where)
    if not _RECORD.match(line["record"]):
        raise RecordError(f"{where}: record {line['record']!r} is not <trial>-<phase>")
    _check(line["setting"], _SETTING_KEYS, f"{where}: setting")


def _lines(
    path: Path,
    keys: dict[str, type],
    problems: list[str] | None = None,
    check: Callable[[Json, str], None] = lambda _line, _where: None,
) -> list[Any]:
    try:
        data = read_regular(path)
    except FileNotFoundError:
        raise RecordError(f"{path} is missing; the run directory is not complete") from None
    except OSError as error:
        raise RecordError(f"{path} cannot be read: {error.strerror}") from error
    # What follows the last newline is a line that is being written, or was when the machine stopped.
    lines = []
    for number, text in enumerate(data.split(b"\n")[:-1], 1):
        where = f"{path}, line {number}"
        try:
            line = _parse(text, where)
            _check(line, keys, where)
            check(line, where)
        except RecordError as error:
            if problems is None:
                raise
            problems.append(str(error))
        else:
            lines.append(line)
    return lines


def _parse(data: bytes, where: str, largest: int = _LARGEST) -> Any:
    try:
        value = _DECODER.decode(data.decode(errors="surrogatepass"))
    except (ValueError, RecursionError) as error:
        raise RecordError(f"{where} is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise RecordError(f"{where} is not a JSON object")
    if _has_odd(data):
        try:
            _check_values("", value, where, largest)
        except RecursionError as error:
            raise RecordError(f"{where} is not JSON: {error}") from error
    return value


def _check_values(key: str, value: object, where: str, largest: int) -> None:
    """RecordError where there is a number or a text, however deep, that nothing can be reckoned or printed with."""
    if isinstance(value, dict):
        for name, inner in value.items():
            _check_values("key", name, where, largest)
            _check_values(name, inner, where, largest)
    elif isinstance(value, list):
        for inner in value:
            _check_values(key, inner, where, largest)
    elif isinstance(value, str) and _HALF.search(value):
        raise RecordError(f"{where}: {ascii(key)[1:-1]} has half of a character in it")
    elif isinstance(value, int | float) and not -largest <= value <= largest:
        raise RecordError(f"{where}: {ascii(key)[1:-1]} is larger than {largest}")


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a number")


_DECODER = json.JSONDecoder(parse_constant=_refuse)
"""Made once: a run has hundreds of thousands of lines."""


def _check(line: Json, keys: dict[str, type], where: str) -> None:
    for key, kind in keys.items():
        value = line.get(key)
        if type(value) is not kind:
            wanted = "an integer" if kind is int else f"a {kind.__name__}"
            raise RecordError(f"{where}: {key} is {value!r}, not {wanted}")
        if isinstance(value, int) and value < 0:
            raise RecordError(f"{where}: {key} is {value}, below 0")
