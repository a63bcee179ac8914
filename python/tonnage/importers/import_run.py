"""Makes an ordinary run directory of other tools' files, and keeps the files in it unchanged."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from fnmatch import fnmatchcase
from pathlib import Path, PurePath
from typing import TypedDict

from tonnage.errors import RecordError, RequestError
from tonnage.importers.file_kinds import kinds_of, reader
from tonnage.importers.imported_lines import Placed, with_distinct_settings, with_others_noted, write_phases
from tonnage.importers.imported_phases import ImportedFile, instant
from tonnage.importers.trace import MOST_BYTES
from tonnage.importers.unwrap_text import unwrapped
from tonnage.records import RunWriter
from tonnage.records.line_types import Manifest

_FACTOR = re.compile(r"(?:(?P<pattern>.+):)?(?P<name>[a-z][a-z0-9_]{0,60})=(?P<value>.+)", re.DOTALL)
_OF_THE_FILE = frozenset({"kind", "op", "tasks", "workload", "apart"})
"""No name of a factor: every file says these, or they are ours."""
_WORDS = {"yes": True, "no": False}


@dataclass(frozen=True, slots=True)
class StatedFactor:
    """One that a user states."""

    pattern: str | None
    """Of the names of files; None: of all of them."""
    name: str
    value: str | int | bool
    text: str
    """As it was typed."""

    def is_of(self, file: str) -> bool:
        """Whether a file of this name, or below this path, has it."""
        return self.pattern is None or any(fnmatchcase(name, self.pattern) for name in (file, PurePath(file).name))


def parse_factor(text: str) -> StatedFactor:
    """``[PATTERN:]NAME=VALUE``; RequestError where it is none."""
    found = _FACTOR.fullmatch(text)
    if found is None:
        raise RequestError(f"{text!r} states no factor; hint: write NAME=VALUE, or PATTERN:NAME=VALUE of some files")
    if found["name"] in _OF_THE_FILE:
        raise RequestError(f"{found['name']} is nothing that can be stated of a file; hint: choose another name")
    value: str | int | bool = _WORDS.get(found["value"], found["value"])
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,18}", value, re.ASCII):
        value = int(value)
    return StatedFactor(found["pattern"], found["name"], value, text)


def factors_of(files: Sequence[str], stated: Sequence[StatedFactor]) -> list[Mapping[str, str | int | bool]]:
    """Of each file what is stated of it; of one name the last one that fits. RequestError where a pattern fits none."""
    for factor in stated:
        if not any(factor.is_of(file) for file in files):
            raise RequestError(f"{factor.pattern!r} of {factor.text!r} is the name of no file that was given")
    return [{factor.name: factor.value for factor in stated if factor.is_of(file)} for file in files]


_UNKNOWN = ("target", "host", "hosts", "load_before", "load_after", "ceilings", "cost", "seed", "campaign")
"""Of the manifest: what no file of another tool says, or only in part."""

_LONGEST = 60
"""Characters of a file's name that its copy bears, and so no more bytes than any file system takes."""


class Kept(TypedDict):
    """An entry of ``imported.files`` of the manifest."""

    name: str
    kept: str
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Imported:
    """A run directory, and what its files did not say."""

    path: Path
    trials: int
    problems: tuple[str, ...]
    """Sentences, each with its file and line."""
    twice: tuple[str, ...] = ()
    """A sentence for each file that was given before, under whatever name: it counts once."""


def import_files(
    kind: str,
    files: Sequence[str],
    out: Path,
    run_id: str,
    *,
    directory: str,
    command_line: Sequence[str],
    version: str,
    link_bytes_per_s: int | None = None,
    factors: Sequence[StatedFactor] = (),
) -> Imported:
    """Reads the files, of which the first is the oldest, and writes one run with all of their trials.
    ``link_bytes_per_s``: what the link between the hosts and the storage carries, as its user says; ``factors``: what
    the files do not state, and their user does.

    RequestError where nothing can be read, or ``out`` is taken; then nothing was written.
    """
    read = reader(kind)
    contents, twice = _once([(name, _content(name)) for name in files])
    files = [name for name, _ in contents]
    founds = [read(data, name) for name, data in contents]
    problems = [
        # A binary file has no lines.
        f"{_printable(name)}{', ' if problem.startswith('line ') else ': '}{problem}"
        for name, found in zip(files, founds, strict=True)
        for problem in found.problems
    ]
    if not any(found.phases for found in founds):
        line = "" if b"\0" in contents[0][1] else ", line 1"
        why = problems[0] if problems else f"{_printable(files[0])}{line}: it has no result"
        raise RequestError(f"nothing to import: {_with_hint(why, kind, files[0], contents[0][1])}")
    of_files = factors_of(files, factors)
    placed = [
        Placed(number, _printable(Path(files[number]).name), phase, of_files[number])
        for number, found in enumerate(founds)
        for phase in found.phases
    ]
    phases = with_distinct_settings(with_others_noted(placed))
    _refuse_taken(out)
    words = [_printable(word) for word in command_line]
    made = {"tonnage_version": version, "run_id": run_id, "directory": _printable(directory), "command_line": words}
    manifest = {**made, **_manifest(kind, founds, problems)}
    manifest["imported"]["factors"] = [_printable(factor.text) for factor in factors]
    if link_bytes_per_s is not None:
        manifest["ceilings"] = [{"name": "link", "bytes_per_s": link_bytes_per_s, "source": "stated at the import"}]
        unknown = manifest["imported"]["unknown"]
        unknown.remove("ceilings")
    try:
        writer = RunWriter.create(out, manifest)
    except RecordError as error:
        raise RequestError(str(error)) from None
    kept = [_keep(writer, number, name, data) for number, (name, data) in enumerate(contents)]
    trials = write_phases(writer, phases)
    imported = {**manifest["imported"], "files": kept}
    writer.seal(imported=imported, state="incomplete" if problems else "complete")
    return Imported(writer.path, trials, tuple(problems), tuple(twice))


def _once(contents: Sequence[tuple[str, bytes]]) -> tuple[list[tuple[str, bytes]], list[str]]:
    """Each content once, under the first of its names, and what is to be said of the others."""
    kept: dict[str, tuple[str, bytes]] = {}
    notes = []
    for name, data in contents:
        # Compressed, in another encoding or with other ends of lines it is the same.
        text = unwrapped(data).data.replace(b"\r\n", b"\n") or data
        digest = hashlib.sha256(text).hexdigest()
        if digest in kept:
            notes.append(f"{_printable(name)} has the same as {_printable(kept[digest][0])}, and counts once")
        else:
            kept[digest] = name, data
    return list(kept.values()), notes


_RESULTS = ("result.txt", "result_summary.txt")
"""Of a result directory of IO500, the one that says most first."""


def result_files(names: Sequence[str]) -> list[str]:
    """With the file that has the results in the place of each directory that holds such a file."""
    found = []
    for name in names:
        inside = (os.path.join(name, result) for result in _RESULTS)  # noqa: PTH118 - a name may be no text
        found.append(next((file for file in inside if os.path.isfile(file)), name))  # noqa: PTH113
    return found


def kind_of(files: Sequence[str]) -> str:
    """The kind of the files, by their content; RequestError where it is unknown or they are of several kinds."""
    found: dict[str, str] = {}
    for name in files:
        data = _content(name)
        kinds = kinds_of(data, name)
        if not kinds and (problem := unwrapped(data).problem):
            raise RequestError(f"{_printable(name)}: {problem}")
        if len(kinds) != 1:
            what = f"may be of {' or '.join(kinds)}" if kinds else "has no mark of any kind that is read here"
            raise RequestError(f"{_printable(name)} {what}; hint: give its KIND first, `tonnage import KIND FILE`")
        found[kinds[0]] = name
    if len(found) > 1:
        kinds_text = " and ".join(f"{_printable(name)} is {kind}" for kind, name in list(found.items())[:2])
        raise RequestError(f"{kinds_text}; hint: import them into different runs")
    return next(iter(found))


def _with_hint(why: str, kind: str, name: str, data: bytes) -> str:
    """Why a kind can read nothing of a file, and what to do about it: one hint."""
    others = [other for other in kinds_of(data, name) if other != kind]
    if len(others) == 1:
        what = why.partition("; hint: ")[0]
        return f"{what}; hint: it looks like {others[0]}: `tonnage import {others[0]} {_printable(name)}`"
    return why if "; hint: " in why else f"{why}; hint: `tonnage import --help` tells what each kind reads"


def _content(name: str) -> bytes:
    try:
        with Path(name).open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise RequestError(f"{name} cannot be read: {error.strerror}; hint: give files that are there") from None
    except ValueError:
        raise RequestError(f"{name!r} is no name of a file; hint: give files that are there") from None
    if len(data) > MOST_BYTES:
        raise RequestError(f"{name} has more than {MOST_BYTES >> 20} MiB; hint: import parts of it")
    return data


def _refuse_taken(out: Path) -> None:
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise RequestError(f"{out} is there already and is not empty; hint: give another --out")


def _printable(name: str) -> str:
    """A name of a file may be no UTF-8, and JSON must be."""
    return os.fsencode(name).decode("utf-8", "replace")


def _keep(writer: RunWriter, number: int, name: str, data: bytes) -> Kept:
    # A line of `sha256sum` has neither a newline nor a backslash in a name.
    plain = "".join(sign if sign.isprintable() and sign != "\\" else "_" for sign in _printable(Path(name).name))
    kept = f"{number:04d}-{plain[-_LONGEST:]}"
    writer.keep_original(kept, data)
    return {"name": _printable(name), "kept": kept, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def _manifest(kind: str, founds: Sequence[ImportedFile], problems: Sequence[str]) -> Manifest:
    """What is known of where the figures come from; the rest is null, and ``imported.unknown`` names it."""

    def one(values: Sequence[str | None]) -> str | None:
        """What all files say alike."""
        said = set(values)
        return said.pop() if len(said) == 1 else None

    path = one([found.path for found in founds])
    host = one([found.host for found in founds])
    instants = sorted(phase.started for found in founds for phase in found.phases if phase.started)
    # The first file is the oldest; a clock without a zone does not compare with one that has.
    others = [known for found in founds if (known := instant(found.began) or found.printed)]
    return {
        "created": next(iter([*instants, *others]), None),
        "state": "running",
        "campaign": None,
        "campaign_text": None,
        "seed": None,
        "target": {"name": path, "kind": "imported", "file_system": None},
        "host": {"hostname": host} if host else None,
        "load_before": None,
        "load_after": None,
        "ceilings": [],
        "cost": None,
        "costs": [],
        "launcher": None,
        "hosts": {},
        "imported": {
            "kind": kind,
            "at": datetime.now(timezone.utc).isoformat(timespec="seconds"),
            "tools": [
                {"tool": found.tool, "version": found.version, "command": found.command, "began": found.began}
                for found in founds
            ],
            "files": [],
            "problems": list(problems),
            "unknown": list(_UNKNOWN),
        },
    }
