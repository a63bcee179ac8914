"""Writes a run directory: appended lines survive a crash, and incomplete ones do not count."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tonnage.errors import RecordError
from tonnage.printable_text import typed
from tonnage.records.file_names import (
    CHAIN,
    COPIES,
    DEVICES,
    DIRECTORIES,
    EVENTS,
    FILES,
    FORMAT,
    FORMAT_VERSION,
    LINES,
    MANIFEST,
    OBJECTS,
    ORIGINALS,
    OUTPUT,
    SUMS,
    TASKS,
    TRIALS,
    WORKFLOW,
    missing,
)
from tonnage.records.hash_chain import (
    SEAL,
    Chain,
    file_sha256,
    files_of,
    has_lost_sums,
    is_sealed,
    read_regular,
    sealed_manifest,
    sha256,
    sums_line,
    sums_of,
    uncounted_files,
    whole_lines,
)
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
from tonnage.records.lines import record_name
from tonnage.records.output_writers import settle_output
from tonnage.records.own_files import (
    MOST_GATHERED_BYTES,
    Lost,
    WriteBuffer,
    append_bytes,
    encode_line,
    make_directory,
    refuse_links,
    replace_file,
    truncate,
    truncate_torn_line,
)

_HINTS = {
    errno.ENOSPC: "make room there",
    errno.EDQUOT: "make room there",
    errno.EROFS: "make it writable again",
    errno.EACCES: "make it writable again",
    errno.EPERM: "make it writable again",
}


class RunWriter:
    """The only writer of a run directory. Every call returns after its bytes are on the disk, or is a RecordError that
    names the file, what is kept, and how to go on; from the first of these on nothing more is written."""

    def __init__(self, path: Path, manifest: Manifest, chain: Chain | None = None, records: int = 0) -> None:
        """``chain``: None for who changes the manifest only."""
        self.path = path
        self.manifest = manifest
        self._chain = chain
        self._records = records
        self._broken = False
        self._made: list[Path] = []
        self._gathered: WriteBuffer | None = None

    @classmethod
    def create(cls, path: str | Path, manifest: Json) -> RunWriter:
        """Makes the run directory and its manifest, or nothing; RecordError if there is a run already."""
        directory = Path(path)
        if (directory / MANIFEST).exists():
            raise RecordError(f"{directory} already holds a run; give another directory, or resume it")
        absent = [place for place in (directory, *directory.parents) if not place.exists()]
        chain = Chain()
        writer = cls(directory, {"format": FORMAT, "format_version": FORMAT_VERSION, **manifest}, chain)
        writer._made = absent
        try:
            for name in DIRECTORIES:
                make_directory(directory / name)
            for name in (TRIALS, TASKS, EVENTS, FILES, CHAIN):
                append_bytes(directory / name, b"")
                chain.grew(name, b"")
            replace_file(directory / MANIFEST, sealed_manifest(writer.manifest, None))
        except BaseException:
            writer.discard()
            raise
        return writer

    @classmethod
    def reopen(cls, path: str | Path) -> RunWriter:
        """Reopens a run that ended early: removes a torn last line, and tasks and events of a trial without a line.

        The trial line is written last, so it is what says that a trial counts. RecordError where the run is not as it
        was sealed: what is added would make the alteration look recorded.
        """
        from tonnage.records.reader import Run

        run = Run.open(path)
        refuse_links(run.path)
        writer = cls(run.path, run.manifest)
        is_older = SEAL not in run.manifest
        _check_seal(run.path, run.manifest)
        if not is_older and (run.is_sealed or "summary" in run.manifest):
            writer._unseal()
        with writer._telling():
            _remove_temporaries(run.path)
            for name in () if is_older else (FILES, CHAIN):
                if not os.path.lexists(run.path / name):
                    raise Lost(run.path / name, "it is missing")
            for name in (TRIALS, TASKS, EVENTS, *((FILES, CHAIN) if is_older else ())):
                append_bytes(run.path / name, b"")
            for name in (*LINES, CHAIN):
                truncate_torn_line(run.path / name)
            for name in DIRECTORIES:
                make_directory(run.path / name)
            trials = run.trials()
            counted = {line["record"] for line in trials}
            _drop_uncounted(run, counted)
            for file in uncounted_files(run.path, counted):
                (run.path / file).unlink()
            links = _mended_links(run.path)
            writer._chain = Chain.restored(run.path, links)
        writer._records = len(trials)
        if is_older:
            writer._adopt([line["record"] for line in trials])
        return writer

    def _unseal(self) -> None:
        """The run goes on: what its manifest says of its end holds no more."""
        self.manifest.pop("summary", None)
        self.manifest.pop(SEAL, None)
        self.update_manifest(state="running")

    def _adopt(self, records: list[str]) -> None:
        """Of a run of an older version: what is there now is what is kept from now on."""
        for record in records:
            self._note_files(files_of(self.path, record))
        if records and self._chain is not None:
            self._append(CHAIN, self._chain.link(records[-1], b""))
        self._unseal()

    def discard(self) -> None:
        """Takes away a run directory that was created and has no record: what it was for was refused."""
        for name in (*LINES, FILES, CHAIN, MANIFEST):
            with suppress(OSError):
                (self.path / name).unlink()
        for place in (*(self.path / name for name in DIRECTORIES), *self._made):
            with suppress(OSError):
                place.rmdir()

    def append_trial(
        self,
        line: TrialLine,
        tasks: Iterable[TaskLine],
        events: Iterable[EventLine],
        copies: Iterable[CopyLine] = (),
        workflow: Iterable[WorkflowLine] = (),
        devices: Iterable[DeviceLine] = (),
        objects: Iterable[ObjectLine] = (),
    ) -> None:
        """Appends a phase: its tasks, copies, their workflows' tasks, where its files or objects are, events, the
        hashes of all that, and last the trial line that makes it count."""
        copies, tasks = list(copies), list(tasks)
        several = (
            (COPIES, copies),
            (WORKFLOW, workflow),
            (DEVICES, devices),
            (OBJECTS, objects),
            (TASKS, tasks),
            (EVENTS, events),
        )
        for name, more in several:
            self._append_lines(name, more)
        if self._gathered is None or line["record"] in self._gathered.with_files:
            with self._telling():
                settle_output(self.path, line["record"])
            self._note_files(files_of(self.path, line["record"]))
        trial = encode_line(line)
        size = None if self._chain is None else self._chain.size_bytes(TRIALS)
        if self._chain is not None:
            link = self._chain.link(line["record"], trial)
            self._append(CHAIN, link)
        if self._gathered is not None:
            self._gathered.add(TRIALS, trial, size)
            self._gathered.records += 1
            self._write_gathered(MOST_GATHERED_BYTES)
            return
        with self._telling():
            append_bytes(self.path / TRIALS, trial, size)
        self._records += 1

    @contextmanager
    def gathering(self) -> Iterator[None]:
        """Trials that are appended inside reach the disk together, in pieces of some MiB, and the last of them at its
        end. For a caller that still has all of its input, and starts again after a crash."""
        self._gathered = WriteBuffer()
        try:
            yield
            self._write_gathered(0)
        finally:
            self._gathered = None

    def _write_gathered(self, most_bytes: int) -> None:
        gathered = self._gathered
        if gathered is None or gathered.size_bytes <= most_bytes:
            return
        with self._telling():
            for name, data, size_bytes in gathered.taken():
                append_bytes(self.path / name, data, size_bytes)
        self._records += gathered.records
        gathered.records = 0

    def require_files(self, names: Iterable[str]) -> None:
        """RecordError where a file is not there that a record is about to promise."""
        name = missing(self.path, names)
        if name is not None:
            with self._telling():
                raise Lost(self.path / name, "it was removed while its phase ran", spoils=False)

    def output_directory(self, record: str) -> Path:
        """Makes the place for what the copies of a command say, and gives its absolute path."""
        directory = self.path.absolute() / OUTPUT / record
        with self._telling():
            make_directory(directory.parent)
            make_directory(directory)
        return directory

    def keep_original(self, name: str, data: bytes) -> None:
        """Keeps a file of another tool, from which trials were imported, as it is."""
        directory = self.path / ORIGINALS
        with self._telling():
            make_directory(directory)
            replace_file(directory / name, data)
        self._append(FILES, sums_line(f"{ORIGINALS}/{name}", sha256(data)))

    def write_series(self, trial: int, phase: str, rows: list[tuple[int, int, int, int]]) -> None:
        """Writes the series of a phase that another program ran: ``start_ns``, ``end_ns``, ``task``, ``bytes`` a
        row."""
        from tonnage import _native

        with self._telling():
            _native.write_series(str(self.path), record_name(trial, phase), rows)
        if self._gathered is not None:
            self._gathered.with_files.add(record_name(trial, phase))

    def append_events(self, events: Iterable[EventLine]) -> None:
        """Appends events that belong to the run (``record`` None) or to a phase."""
        self._append_lines(EVENTS, events)

    def update_manifest(self, **changes: Any) -> None:
        """Replaces the manifest by one with these keys changed, in one rename. While the run goes on its other files
        are not sealed."""
        self.manifest.update(changes)
        if not self._broken:
            self._write_manifest()

    def seal(self, **changes: Any) -> None:
        """As :meth:`update_manifest`, at the end of the run: ``SHA256SUMS`` is written before it, and the manifest has
        its hash."""
        if self._chain is None or self._broken:
            return
        text = self._chain.sums()
        with self._telling():
            self._require_whole(self._chain)
            replace_file(self.path / SUMS, text)
        self.manifest[SEAL] = {"sums_sha256": sha256(text)}
        self.update_manifest(**changes)

    def _require_whole(self, chain: Chain) -> None:
        """Lost where a file of the run is not what was written to it, or a file of a record is not there: a seal would
        call it recorded."""
        for name, digest in chain.digests().items():
            try:
                if file_sha256(self.path / name) != digest:
                    raise Lost(self.path / name, "it was changed while the run went on")
            except FileNotFoundError:
                raise Lost(self.path / name, "it was removed while the run went on") from None
        known = [line.decode().rstrip("\n").split("  ", 1)[1] for line in whole_lines(read_regular(self.path / FILES))]
        there = {room: _names_in(self.path / room) for room in {str(Path(name).parent) for name in known}}
        for name in known:
            if Path(name).name not in there[str(Path(name).parent)]:
                raise Lost(self.path / name, "it was removed while the run went on")

    def _note_files(self, names: Iterable[str]) -> None:
        with self._telling():
            sums = b"".join(sums_line(name, file_sha256(self.path / name)) for name in names)
        self._append(FILES, sums)

    def _append_lines(self, name: str, lines: Iterable[Mapping[str, object]]) -> None:
        self._append(name, b"".join(map(encode_line, lines)))

    def _append(self, name: str, data: bytes) -> None:
        if not data:
            return
        size = None if self._chain is None else self._chain.size_bytes(name)
        if self._gathered is not None:
            self._gathered.add(name, data, size)
        else:
            with self._telling():
                append_bytes(self.path / name, data, size)
        if self._chain is not None:
            self._chain.grew(name, data)

    def _write_manifest(self) -> None:
        data = sealed_manifest(self.manifest, sums_of(self.manifest))
        with self._telling():
            replace_file(self.path / MANIFEST, data)

    @contextmanager
    def _telling(self) -> Iterator[None]:
        """An OSError becomes what a user needs to know."""
        try:
            yield
        except OSError as error:
            self._broken = True
            raise RecordError(self._explained(error)) from error

    def _explained(self, error: OSError) -> str:
        why = os.strerror(error.errno) if error.errno else str(error)
        if not (self.path / MANIFEST).exists():
            return f"{self.path} was removed while it was written, and its records with it; hint: begin again"
        if isinstance(error, Lost):
            why = error.why
            if error.spoils:
                left = f"see what is left with `tonnage verify {typed(self.path)}`, then begin another run"
                return f"{error.filename} has lost what was recorded: {why}; hint: {left}"
        again = f"go on with `tonnage run --resume {typed(self.path)}`"
        if self.manifest.get("imported"):
            again = "import the files again into another directory"
        kept = f"the {self._records} records so far are kept" if self._records != 1 else "the one record so far is kept"
        mend = _HINTS.get(error.errno or 0)
        return (
            f"cannot write {error.filename or self.path}: {why}; {kept}; "
            f"hint: {mend + ', then ' if mend else ''}{again}"
        )


def _names_in(directory: Path) -> set[str]:
    try:
        return {entry.name for entry in os.scandir(directory)}
    except FileNotFoundError:
        return set()


def _check_seal(run: Path, manifest: Json) -> None:
    """RecordError where a run that ended is not as it was sealed."""
    hint = f"hint: `tonnage verify {typed(run)}` tells what it is"
    if SEAL not in manifest:
        # One that was killed while it took up a run of an older version has one record there, and no sums.
        if os.path.lexists(run / SUMS) or len(set(_linked(run))) > 1:
            raise RecordError(f"{run / MANIFEST} has lost its seal, so that the run cannot go on; {hint}")
        return
    if has_lost_sums(manifest):
        raise RecordError(f"{run / MANIFEST} has lost the hash of {SUMS}, so that the run cannot go on; {hint}")
    sums = sums_of(manifest)
    if not is_sealed(read_regular(run / MANIFEST), sums):
        raise RecordError(f"{run / MANIFEST} was altered since it was written, so that the run cannot go on; {hint}")
    if sums is None:
        return
    try:
        text = read_regular(run / SUMS)
        for line in whole_lines(text):
            digest, name = line.decode().rstrip("\n").split("  ", 1)
            if file_sha256(run / name) != digest:
                raise RecordError(f"{run / name} was altered since the run was sealed, which cannot go on; {hint}")
    except (OSError, ValueError):
        text = b""
    if sha256(text) != sums:
        raise RecordError(f"{run / SUMS} is not what the run was sealed with, so that it cannot go on; {hint}")


def _linked(run: Path) -> list[str]:
    """The records that ``chain.jsonl`` names; none where there is no such file."""
    try:
        return [str(json.loads(line)["record"]) for line in whole_lines(read_regular(run / CHAIN))]
    except FileNotFoundError:
        return []
    except (ValueError, LookupError, TypeError, RecursionError):
        raise RecordError(f"{run / CHAIN} is damaged; hint: see `tonnage verify {typed(run)}`") from None


def _drop_uncounted(run: Any, counted: set[str]) -> None:
    """Takes away lines of records that have no trial line."""
    written = (
        (TASKS, run.tasks),
        (EVENTS, run.events),
        (COPIES, run.copies),
        (WORKFLOW, run.workflow),
        (DEVICES, run.devices),
        (OBJECTS, run.objects),
    )
    for name, read in written:
        lines = read()
        kept = [line for line in lines if line.get("record") is None or line["record"] in counted]
        if len(kept) < len(lines):
            replace_file(run.path / name, b"".join(map(encode_line, kept)))


def _mended_links(run: Path) -> list[bytes]:
    """The lines of ``chain.jsonl`` whose trial lines are there. One that was killed before its trial line goes, and so
    do the hashes of its files."""
    every = whole_lines(read_regular(run / CHAIN))
    size = (run / TRIALS).stat().st_size
    try:
        ends = [{name: int(part["bytes"]) for name, part in json.loads(line)["files"].items()} for line in every]
        kept = [line for line, end in zip(every, ends, strict=True) if end[TRIALS] <= size]
    except (ValueError, LookupError, TypeError, AttributeError):
        raise RecordError(f"{run / CHAIN} is damaged; hint: see `tonnage verify {typed(run)}`") from None
    if len(every) - len(kept) > 1 or (kept and ends[len(kept) - 1][TRIALS] < size):
        wrong = f"{run / TRIALS} and {CHAIN} do not have the same records"
        raise RecordError(f"{wrong}; hint: see `tonnage verify {typed(run)}`")
    if len(kept) < len(every):
        replace_file(run / CHAIN, b"".join(kept))
    noted = max((end.get(FILES, 0) for end in ends[: len(kept)]), default=0)
    if noted < (run / FILES).stat().st_size:
        truncate(run / FILES, noted)
    return kept


def _remove_temporaries(run: Path) -> None:
    """What a killed writer was about to put in a file's place."""
    for place in (run, *(run / name for name in DIRECTORIES), *(run / OUTPUT).glob("*")):
        for path in place.glob(".*.tmp"):
            path.unlink(missing_ok=True)
