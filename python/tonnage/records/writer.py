"""Writes a run directory: what was appended is still there after a crash, and nothing half-written counts."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tonnage.errors import RecordError
from tonnage.records.lines import record_name

FORMAT = "tonnage-run"
FORMAT_VERSION = 1
MANIFEST = "manifest.json"
TRIALS, TASKS, EVENTS = "trials.jsonl", "tasks.jsonl", "events.jsonl"
COPIES, OUTPUT = "copies.jsonl", "output"
ORIGINALS = "originals"
WORKFLOW = "workflow.jsonl"
DEVICES = "devices.jsonl"
OBJECTS = "objects.jsonl"
DIRECTORIES = ("series", "heat", "latency", "operations")
ODD_BYTES = "backslashreplace"
"""A name may be no UTF-8: what Python has for such a byte stands in the file as JSON escapes it, and reads back."""


class RunWriter:
    """The only writer of a run directory. Every call returns after its bytes are on the disk."""

    def __init__(self, path: Path, manifest: dict[str, Any]) -> None:
        self.path = path
        self.manifest = manifest

    @classmethod
    def create(cls, path: str | Path, manifest: Mapping[str, Any]) -> RunWriter:
        """Makes the run directory and its manifest; RecordError if there is a run already."""
        directory = Path(path)
        if (directory / MANIFEST).exists():
            raise RecordError(f"{directory} already holds a run; give another directory, or resume it")
        for name in DIRECTORIES:
            (directory / name).mkdir(parents=True, exist_ok=True)
        writer = cls(directory, {"format": FORMAT, "format_version": FORMAT_VERSION, **manifest})
        for name in (TRIALS, TASKS, EVENTS):
            _append(directory / name, b"")
        writer._write_manifest()
        return writer

    @classmethod
    def reopen(cls, path: str | Path) -> RunWriter:
        """Takes up a run that ended early: a torn last line goes, and so do tasks and events of a trial without a line.

        The trial line is written last, so it is what says that a trial counts.
        """
        from tonnage.records.reader import Run

        run = Run.open(path)
        for name in (TRIALS, TASKS, EVENTS):
            _append(run.path / name, b"")
        for name in (TRIALS, TASKS, EVENTS, COPIES, WORKFLOW, DEVICES, OBJECTS):
            truncate_torn_line(run.path / name)
        for name in DIRECTORIES:
            (run.path / name).mkdir(exist_ok=True)
        counted = {line["record"] for line in run.trials()}
        written = (
            (TASKS, run.tasks()),
            (EVENTS, run.events()),
            (COPIES, run.copies()),
            (WORKFLOW, run.workflow()),
            (DEVICES, run.devices()),
            (OBJECTS, run.objects()),
        )
        for name, lines in written:
            kept = [line for line in lines if line.get("record") is None or line["record"] in counted]
            if len(kept) < len(lines):
                replace_file(run.path / name, b"".join(map(_encode, kept)))
        return cls(run.path, run.manifest)

    def append_trial(
        self,
        line: Mapping[str, Any],
        tasks: Iterable[Mapping[str, Any]],
        events: Iterable[Mapping[str, Any]],
        copies: Iterable[Mapping[str, Any]] = (),
        workflow: Iterable[Mapping[str, Any]] = (),
        devices: Iterable[Mapping[str, Any]] = (),
        objects: Iterable[Mapping[str, Any]] = (),
    ) -> None:
        """Appends a phase: its tasks, copies, their workflows' tasks, where its files or objects are, events, and last
        the trial line that makes it count."""
        several = ((COPIES, copies), (WORKFLOW, workflow), (DEVICES, devices), (OBJECTS, objects))
        for name, more in several:
            if told := b"".join(map(_encode, more)):
                _append(self.path / name, told)
        _append(self.path / TASKS, b"".join(map(_encode, tasks)))
        self.append_events(events)
        _append(self.path / TRIALS, _encode(line))

    def output_directory(self, record: str) -> Path:
        """Makes the place for what the copies of a command say, and gives its absolute path."""
        directory = self.path.absolute() / OUTPUT / record
        directory.mkdir(parents=True, exist_ok=True)
        return directory

    def keep_original(self, name: str, data: bytes) -> None:
        """Keeps a file of another tool, from which trials were imported, as it is."""
        directory = self.path / ORIGINALS
        directory.mkdir(exist_ok=True)
        replace_file(directory / name, data)

    def write_series(self, trial: int, phase: str, rows: list[tuple[int, int, int, int]]) -> None:
        """The series of a phase that another program ran: ``start_ns``, ``end_ns``, ``task``, ``bytes`` a row."""
        from tonnage import _native

        _native.write_series(str(self.path), record_name(trial, phase), rows)

    def append_events(self, events: Iterable[Mapping[str, Any]]) -> None:
        """Appends events that belong to the run (``record`` None) or to a phase."""
        _append(self.path / EVENTS, b"".join(map(_encode, events)))

    def update_manifest(self, **changes: Any) -> None:
        """Replaces the manifest by one with these keys changed, in one rename."""
        self.manifest.update(changes)
        self._write_manifest()

    def _write_manifest(self) -> None:
        text = json.dumps(self.manifest, indent=2, ensure_ascii=False, allow_nan=False)
        replace_file(self.path / MANIFEST, text.encode(errors=ODD_BYTES) + b"\n")


def _encode(line: Mapping[str, Any]) -> bytes:
    text = json.dumps(line, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode(errors=ODD_BYTES) + b"\n"


def append_line(path: Path, line: Mapping[str, Any]) -> None:
    """Appends one line to a file of a run; it is on the disk when this returns."""
    _append(path, _encode(line))


def _append(path: Path, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        before = os.fstat(descriptor).st_size
        try:
            _write_all(descriptor, data)
            os.fsync(descriptor)
        except OSError as error:
            # A disk that is full must not leave half a line that the next append would complete into nonsense.
            os.ftruncate(descriptor, before)
            raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        os.close(descriptor)


def replace_file(path: Path, data: bytes) -> None:
    """Either the old file or the new one is there at any moment, and the new one after this returns."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
    try:
        try:
            _write_all(descriptor, data)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    _sync_directory(path.parent)


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def truncate_torn_line(path: Path) -> None:
    """Takes away half a line that a killed writer left: the next one would make nonsense of it. Nothing where there is
    no such file. The caller keeps other writers away."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return
    whole = data.rfind(b"\n") + 1
    if whole < len(data):
        os.truncate(path, whole)
