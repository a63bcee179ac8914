"""Checks that a run's files are, byte for byte, what was recorded: by the hashes that were taken when they were
written."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from tonnage.records.file_names import (
    APPENDED,
    CHAIN,
    FILES,
    LINES,
    MANIFEST,
    ORIGINALS,
    OUTPUT,
    SUFFIXES,
    SUMS,
    TRIALS,
)
from tonnage.records.hash_chain import (
    MOST_HOLES,
    SEAL,
    ChainLink,
    ChainPart,
    NotRegular,
    file_sha256,
    has_lost_sums,
    is_fill,
    is_record,
    is_sealed,
    link_line,
    read_regular,
    sha256,
    sums_of,
    whole_lines,
)
from tonnage.records.jobs_jsonl import JOBS, altered_jobs
from tonnage.records.reader import Run

_SUM = re.compile(rb"([0-9a-f]{64})  ([^\\]+)\n")
_MOST_OUTPUT_HOLES = 16 << 30
_DIRECTORIES = (*SUFFIXES, OUTPUT, ORIGINALS)


SealKind = Literal["sealed", "open", "none"]


@dataclass(slots=True)
class Seal:
    """What the hashes of a run say."""

    sha256: str
    """Hash of ``manifest.json``: a copy kept elsewhere identifies this run, also against one whose hashes were all
    recomputed."""
    kind: SealKind = "sealed"
    """``sealed``; ``open``: it goes on, or was killed; ``none``: made by an older version, or the seal was removed."""
    wrong: list[str] = field(default_factory=list)
    """Sentences, one for each file that is not as it was recorded."""
    damaged: set[str] = field(default_factory=set)
    """Names of these files."""
    torn: list[str] = field(default_factory=list)
    """Names of files with a tail that a killed writer left: it counts for nothing."""
    counted: set[str] | None = None
    """The records that count; None where that is not known."""

    def say(self, name: str, what: str) -> None:
        """Something is wrong with a file; one sentence each is enough."""
        if name not in self.damaged:
            self.damaged.add(name)
            self.wrong.append(what)


def examine(run: Run) -> Seal:
    """Reads all files of the run once. Whatever is wrong with one is a sentence, and never an error."""
    digest, trouble = _trouble(lambda: _sha256(run.path / MANIFEST))
    data = _read(run.path / MANIFEST)
    seal = Seal(sha256(data or b""))
    if digest is None:
        seal.say(MANIFEST, f"{MANIFEST} {trouble}")
    if SEAL not in run.manifest:
        _without_seal(run, seal)
        return seal
    sums = sums_of(run.manifest)
    if data is None or not is_sealed(data, sums):
        seal.say(MANIFEST, f"{MANIFEST} was altered since it was written")
    elif has_lost_sums(run.manifest):
        state = run.manifest.get("state")
        seal.say(MANIFEST, f"{MANIFEST}: state is {state!r}, and the hash of {SUMS} was removed")
    seal.kind = "open" if sums is None else "sealed"
    contents = {name: _content(run.path, name, seal) for name in (*APPENDED, CHAIN)}
    ends = _chain(contents, seal)
    if seal.kind == "sealed":
        _sums(run.path, sums, contents, seal)
    seal.counted = _counted(contents[TRIALS] or b"")
    if seal.kind == "open":
        _tails(contents, ends, seal)
    _files(run.path, contents[FILES], ends.get(FILES, 0), seal)
    _jobs(run.path, seal)
    return seal


def altered(run: Run) -> str | None:
    """What is wrong with the manifest, or with the first of the files of lines that is not as it was when the run was
    sealed; None where all are, and where the run was never sealed. It checks nothing else: :func:`examine` does."""
    sums = sums_of(run.manifest)
    if SEAL in run.manifest and not is_sealed(_read(run.path / MANIFEST) or b"", sums):
        return f"{MANIFEST} was altered since it was written"
    if has_lost_sums(run.manifest):
        return f"the hash of {SUMS} was removed from {MANIFEST}"
    if sums is None:
        return None
    digest, trouble = _trouble(lambda: _sha256(run.path / SUMS))
    if digest != sums:
        return f"{SUMS} {trouble or 'was altered since the run was sealed'}"
    said = _sums_in(_read(run.path / SUMS) or b"")
    for name in LINES:
        if name in said or os.path.lexists(run.path / name):
            digest, trouble = _trouble(lambda name=name: _sha256(run.path / name))  # type: ignore[misc]
            if digest != said.get(name):
                return f"{name} {trouble or 'was altered since the run was sealed'}"
    return None


def _without_seal(run: Run, seal: Seal) -> None:
    seal.kind = "none"
    left = [name for name in (CHAIN, FILES, SUMS) if os.path.lexists(run.path / name)]
    if left:
        seal.say(MANIFEST, f"{MANIFEST} has no seal, and there is {left[0]}")


def _sha256(path: Path) -> str:
    # A command may print zeros, which some file systems keep as holes.
    return file_sha256(path, _MOST_OUTPUT_HOLES if path.parent.parent.name == OUTPUT else MOST_HOLES)


def _read(path: Path) -> bytes | None:
    try:
        return read_regular(path)
    except (OSError, NotRegular):
        return None


def digest_of(path: Path) -> str | None:
    """Of a file; None where it is not there, cannot be read or is no regular file."""
    return _trouble(lambda: _sha256(path))[0]


def _trouble(act: Callable[[], str]) -> tuple[str | None, str]:
    """What ``act`` gives, or why it does not."""
    try:
        return act(), ""
    except FileNotFoundError:
        return None, "is missing"
    except OSError as error:
        return None, f"cannot be read: {error.strerror}"
    except NotRegular as error:
        return None, error.what


def _content(run: Path, name: str, seal: Seal) -> bytes | None:
    """The bytes of one of the run's own files; None where there is none."""
    if not os.path.lexists(run / name):
        if name in (TRIALS, CHAIN, FILES):
            seal.say(name, f"{name} is missing")
        return None
    digest, trouble = _trouble(lambda: _sha256(run / name))
    if digest is None:
        seal.say(name, f"{name} {trouble}")
        return None
    return _read(run / name)


def _chain(contents: dict[str, bytes | None], seal: Seal) -> dict[str, int]:
    """Compares each record's lines with its link; up to which byte the links cover each file."""
    ends: dict[str, int] = {}
    lines = whole_lines(contents[CHAIN] or b"")
    previous = None
    for number, line in enumerate(lines, 1):
        link = _link(line)
        if link is None or link["previous"] != previous:
            seal.say(CHAIN, f"{CHAIN}, line {number}: altered since it was recorded")
            break
        previous = sha256(line)
        size = len(contents[TRIALS] or b"")
        trials = link["files"].get(TRIALS)
        if seal.kind == "open" and number == len(lines) and trials is not None and trials["bytes"] > size:
            seal.torn.append(CHAIN)  # killed before the trial line, which did not come to count
            break
        for name, part in link["files"].items():
            _compare(name, contents[name], ends.get(name, 0), part, link["record"], seal)
            ends[name] = part["bytes"]
    size = (contents[TRIALS] or b"").rfind(b"\n") + 1
    if CHAIN not in seal.damaged and TRIALS not in seal.damaged and size > ends.get(TRIALS, 0):
        seal.say(TRIALS, f"{TRIALS} has lines that no line of {CHAIN} knows")
    return ends


def _link(line: bytes) -> ChainLink | None:
    """A line of ``chain.jsonl``; None where it is none."""
    try:
        link: ChainLink = json.loads(line)
        known = all(
            name in APPENDED and set(part) == {"bytes", "sha256"} and type(part["bytes"]) is int and part["bytes"] >= 0
            for name, part in link["files"].items()
        )
        same = link_line(link) == line and set(link) == {"record", "previous", "files"}
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None
    return link if known and same else None


def _compare(name: str, data: bytes | None, start: int, part: ChainPart, record: str, seal: Seal) -> None:
    if data is None:
        seal.say(name, f"{name} is missing")
    elif len(data) < part["bytes"]:
        seal.say(name, f"{name} has lost its end, from {record} on")
    elif sha256(data[start : part["bytes"]]) != part["sha256"]:
        first = data.count(b"\n", 0, start) + 1
        last = first + max(data.count(b"\n", start, part["bytes"]) - 1, 0)
        lines = f"line {first}" if first == last else f"lines {first} to {last}"
        seal.say(name, f"{name}, {lines} ({record}): altered since it was recorded")


def _sums(run: Path, sums_sha256: Any, contents: dict[str, bytes | None], seal: Seal) -> None:
    """Compares the whole files of a run that has ended with ``SHA256SUMS``."""
    digest, trouble = _trouble(lambda: _sha256(run / SUMS))
    if digest != sums_sha256:
        seal.say(SUMS, f"{SUMS} {trouble or f'was altered since the run was sealed, or the seal in {MANIFEST} was'}")
        return
    said = _sums_in(_read(run / SUMS) or b"")
    for name, data in contents.items():
        if name not in said:
            if data is not None:
                seal.say(name, f"{name} was added since the run was sealed")
        elif data is None:
            seal.say(name, f"{name} is missing")
        elif sha256(data) != said[name]:
            seal.say(name, f"{name} was altered since the run was sealed")


def _sums_in(data: bytes) -> dict[str, str]:
    """Name → hash of the lines of a file as ``sha256sum`` prints it."""
    found = [_SUM.fullmatch(line) for line in whole_lines(data)]
    return {os.fsdecode(one[2]): one[1].decode() for one in found if one}


def _counted(data: bytes) -> set[str] | None:
    """The records that have a line in ``trials.jsonl``; None where not all lines can be read."""
    try:
        return {str(json.loads(line)["record"]) for line in whole_lines(data)}
    except (ValueError, LookupError, TypeError, RecursionError):
        return None


def _tails(contents: dict[str, bytes | None], ends: dict[str, int], seal: Seal) -> None:
    """What a killed writer left behind the last record that counts."""
    for name in LINES:
        data = contents[name] or b""
        tail = data[ends.get(name, 0) :]
        lines = whole_lines(tail)
        if name not in seal.damaged and (
            (not tail.endswith(b"\n") and tail) or not all(_stays(one, seal) for one in lines)
        ):
            seal.torn.append(name)


def _stays(line: bytes, seal: Seal) -> bool:
    """Whether a line after the last link is of the run, or of a record that counts."""
    try:
        record = json.loads(line).get("record")
    except (ValueError, AttributeError, RecursionError):
        return False
    return record is None or record in (seal.counted or ())


def _files(run: Path, data: bytes | None, end: int, seal: Seal) -> None:
    """Compares the files of the records, and others that are kept whole, with ``files.sha256``."""
    known = _sums_in(data or b"")
    said = _sums_in((data or b"")[:end]) if seal.kind == "open" else known
    for name, digest in said.items():
        if name.partition("/")[0] not in _DIRECTORIES or ".." in name.split("/"):
            continue  # such a line was not recorded, and its file has been told of
        found, trouble = _trouble(lambda name=name: _sha256(run / name))  # type: ignore[misc]
        if found != digest:
            seal.say(name, f"{name} {trouble or 'was altered since it was recorded'}")
    if FILES in seal.damaged or seal.counted is None:
        return
    for name in _there(run, seal):
        if name not in known:
            seal.say(name, f"{name} was added since its record was made")


def _there(run: Path, seal: Seal) -> Iterable[str]:
    """Names of all files in the directories of a run; not those that a killed writer may have left where it goes on."""
    for directory in _DIRECTORIES:
        if (run / directory).is_symlink():
            seal.say(directory, f"{directory} is a symbolic link, and a run's directories are none")
            continue
        for found in _names(run / directory):
            record = found if directory == OUTPUT else found.removesuffix(f".{SUFFIXES.get(directory)}")
            if record in (seal.counted or ()) and directory == OUTPUT and _is_directory(run / directory / found):
                yield from (f"{directory}/{found}/{inner}" for inner in _names(run / directory / found))
            elif record in (seal.counted or ()) or not (
                is_fill(record) or (seal.kind != "sealed" and is_record(record))
            ):
                yield f"{directory}/{found}"


def _is_directory(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _names(directory: Path) -> list[str]:
    return sorted(entry.name for entry in os.scandir(directory)) if directory.is_dir() else []


def _jobs(run: Path, seal: Seal) -> None:
    if not os.path.lexists(run / JOBS):
        return
    digest, trouble = _trouble(lambda: _sha256(run / JOBS))
    if digest is None:
        seal.say(JOBS, f"{JOBS} {trouble}")
        return
    for number in altered_jobs(_read(run / JOBS) or b""):
        seal.say(JOBS, f"{JOBS}, line {number}: altered since it was written")
