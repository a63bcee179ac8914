"""Hashes of what a run directory holds, taken as it is recorded: of each file, of each record's lines, and of those
that came before. ``docs/record-format.md`` says how they are recomputed without Tonnage."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import stat
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from tonnage.errors import RecordError
from tonnage.records.file_names import APPENDED, CHAIN, ODD_BYTES, OUTPUT, SUFFIXES, TRIALS

if TYPE_CHECKING:
    from hashlib import _Hash

SEAL = "seal"
"""The manifest's last key, on a line of its own."""
_RECORD = re.compile(r"[0-9]{4,}-[a-z-]+")
_FILL = re.compile(r"[0-9]{4,}-fill-[0-9]+")
_SEAL_LINE = b'  "seal": '
_BLOCK_BYTES = 1 << 20
MOST_HOLES = 64 << 20
"""A machine that stopped may leave a short hole at the end of a file."""


class NotRegular(RecordError):
    """What lies in a file's place is none."""

    def __init__(self, path: Path, what: str) -> None:
        super().__init__(f"{path} {what}")
        self.what = what


def sha256(data: bytes) -> str:
    """Returns the hash in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def file_sha256(path: Path, most_holes: int | None = None) -> str:
    """Of a regular file, read in blocks. OSError where it cannot be read; NotRegular where it is anything else, a
    symbolic link too. ``most_holes``: as of :func:`refuse_holes`; None takes it as it is."""
    handle = open_regular(path, os.O_NOFOLLOW)
    found = hashlib.sha256()
    with os.fdopen(handle, "rb", buffering=0) as file:
        if most_holes is not None:
            refuse_holes(path, handle, most_holes)
        while block := file.read(_BLOCK_BYTES):
            found.update(block)
    return found.hexdigest()


def open_regular(path: Path, flags: int = 0) -> int:
    """A descriptor to read a regular file. What lies there may be of another make: a pipe would wait for its writer for
    ever. OSError where it cannot be opened, NotRegular where it is no such file."""
    if flags & os.O_NOFOLLOW and path.is_symlink():
        raise NotRegular(path, "is a symbolic link, and a run's files are none")
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | flags)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise NotRegular(path, "is no regular file")
    return handle


def read_regular(path: Path) -> bytes:
    """Reads the bytes of a regular file; OSError and NotRegular as :func:`open_regular`, and as
    :func:`refuse_holes`."""
    with os.fdopen(open_regular(path), "rb") as file:
        refuse_holes(path, file.fileno())
        return file.read()


def refuse_holes(path: Path, handle: int, most_bytes: int = MOST_HOLES) -> None:
    """NotRegular where more of a file than ``most_bytes`` was never written: to make a file that long costs nothing,
    and to read it takes hours."""
    size, at, holes = os.fstat(handle).st_size, 0, 0
    while at < size and size > most_bytes:
        begin = os.lseek(handle, at, os.SEEK_HOLE)
        try:
            at = os.lseek(handle, begin, os.SEEK_DATA)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            at = size  # Nothing but a hole follows.
        holes += at - begin
        if holes > most_bytes:
            raise NotRegular(path, f"has {size} bytes, of which at least {holes} were never written")
    os.lseek(handle, 0, os.SEEK_SET)


def sealed_manifest(manifest: Mapping[str, Any], sums_sha256: str | None) -> bytes:
    """The manifest's bytes with their own seal: the hash of all lines but the seal's, and that of ``SHA256SUMS``, None
    while the run goes on."""
    plain = {key: value for key, value in manifest.items() if key != SEAL}
    text = json.dumps(plain, indent=2, ensure_ascii=False, allow_nan=False)
    head, tail = text.removesuffix("\n}").encode(errors=ODD_BYTES) + b",\n", b"}\n"
    return head + _seal_line(sha256(head + tail), sums_sha256) + tail


def _seal_line(manifest_sha256: str, sums_sha256: str | None) -> bytes:
    seal = {"manifest_sha256": manifest_sha256, "sums_sha256": sums_sha256}
    return _SEAL_LINE + json.dumps(seal).encode() + b"\n"


def is_sealed(data: bytes, sums_sha256: str | None) -> bool:
    """Whether the manifest's bytes are those that its seal was made for."""
    lines = whole_lines(data)
    others = b"".join(line for line in lines if not line.startswith(_SEAL_LINE))
    return data == others[:-2] + _seal_line(sha256(others), sums_sha256) + b"}\n"


def sums_of(manifest: Mapping[str, Any]) -> str | None:
    """The hash of ``SHA256SUMS`` that the manifest has; None of a run that goes on, or of an older version."""
    seal = manifest.get(SEAL)
    found: str | None = seal.get("sums_sha256") if isinstance(seal, dict) else None
    return found


def has_lost_sums(manifest: Mapping[str, Any]) -> bool:
    """Whether a sealed manifest says that the run ended, and has no hash of ``SHA256SUMS``: the two are written in one
    rename, and a resume takes both back in one, so that no kill leaves this."""
    return SEAL in manifest and sums_of(manifest) is None and manifest.get("state", "running") != "running"


def sums_line(name: str, digest: str) -> bytes:
    """A line as ``sha256sum`` prints it. Names of a run have neither a newline nor a backslash."""
    return f"{digest}  {name}\n".encode()


def files_of(run: Path, record: str) -> Iterator[str]:
    """Names, relative to the run, of the files that belong to a record and are there, in their order."""
    for room, suffix in SUFFIXES.items():
        name = f"{room}/{record}.{suffix}"
        if os.path.lexists(f"{run}/{name}"):
            yield name
    # Most records have none, and a path costs more than the look.
    if os.path.lexists(f"{run}/{OUTPUT}/{record}") and (output := run / OUTPUT / record).is_dir():
        yield from sorted(f"{OUTPUT}/{record}/{path.name}" for path in output.iterdir())


def uncounted_files(run: Path, counted: Collection[str]) -> Iterator[str]:
    """Names, relative to the run, of files of records that do not count: a phase that was killed left them."""
    for room, suffix in SUFFIXES.items():
        for path in sorted((run / room).glob(f"[0-9]*-*.{suffix}")):
            if _RECORD.fullmatch(path.stem) and path.stem not in counted:
                yield f"{room}/{path.name}"


def is_fill(name: str) -> bool:
    """Whether files of a tree that is laid out before a phase are called that: no record counts them."""
    return _FILL.fullmatch(name) is not None


def is_record(name: str) -> bool:
    """Whether a record may be called that."""
    return _RECORD.fullmatch(name) is not None


@dataclass(slots=True)
class _Growing:
    """A file that is only appended to."""

    whole: _Hash = field(default_factory=hashlib.sha256)
    new: _Hash = field(default_factory=hashlib.sha256)
    """Of what came after the last link."""
    size_bytes: int = 0
    linked_bytes: int = 0

    def grow(self, data: bytes) -> None:
        self.whole.update(data)
        self.new.update(data)
        self.size_bytes += len(data)


class ChainPart(TypedDict):
    """What a link says of one file."""

    bytes: int
    """Its size up to here."""
    sha256: str
    """Of the bytes since the link before."""


class ChainLink(TypedDict):
    """A line of ``chain.jsonl``."""

    record: str
    previous: str | None
    """The hash of the line before; None in the first one."""
    files: dict[str, ChainPart]


class Chain:
    """The hashes of a run that is being written."""

    def __init__(self) -> None:
        self._files: dict[str, _Growing] = {}
        self._previous: str | None = None

    @classmethod
    def restored(cls, run: Path, links: list[bytes]) -> Chain:
        """Of a run whose ``chain.jsonl`` has these lines; what its files have beyond them goes into the next link."""
        chain = cls()
        ends: dict[str, int] = {}
        chain.grew(CHAIN, b"")
        for link in links:
            ends.update({name: part["bytes"] for name, part in json.loads(link)["files"].items()})
            chain.grew(CHAIN, link)
        for name in APPENDED:
            end = ends.get(name, 0)
            try:
                data = read_regular(run / name)
            except FileNotFoundError:
                if not end:
                    continue
                data = b""
            if len(data) < end:
                raise RecordError(f"{run / name} has lost {end - len(data)} bytes since they were recorded")
            chain.grew(name, data[:end])
            chain._close(name)
            chain.grew(name, data[end:])
        chain._previous = sha256(links[-1]) if links else None
        return chain

    def link(self, record: str, trial: bytes) -> bytes:
        """The next line of ``chain.jsonl``: of all that came since the last one, and of the trial line that will make
        it count."""
        self.grew(TRIALS, trial)
        files: dict[str, ChainPart] = {}
        for name in APPENDED:
            growing = self._files.get(name)
            if growing is not None and growing.size_bytes > growing.linked_bytes:
                files[name] = {"bytes": growing.size_bytes, "sha256": growing.new.hexdigest()}
                self._close(name)
        line = link_line({"record": record, "previous": self._previous, "files": files})
        self._previous = sha256(line)
        return line

    def size_bytes(self, name: str) -> int | None:
        """How much was appended to a file; None of one that there is none of yet."""
        growing = self._files.get(name)
        return None if growing is None else growing.size_bytes

    def digests(self) -> dict[str, str]:
        """Returns the hash of each file."""
        return {name: growing.whole.hexdigest() for name, growing in self._files.items()}

    def sums(self) -> bytes:
        """Returns the text of ``SHA256SUMS``."""
        names = [name for name in (*APPENDED, CHAIN) if name in self._files]
        return b"".join(sums_line(name, self._files[name].whole.hexdigest()) for name in sorted(names))

    def grew(self, name: str, data: bytes) -> None:
        """``data`` was appended to a file of ``APPENDED``, or to ``chain.jsonl``."""
        self._files.setdefault(name, _Growing()).grow(data)

    def _close(self, name: str) -> None:
        growing = self._files[name]
        growing.new, growing.linked_bytes = hashlib.sha256(), growing.size_bytes


def link_line(link: ChainLink) -> bytes:
    """A link in the only form that it has."""
    return json.dumps(link, separators=(",", ":")).encode() + b"\n"


def whole_lines(data: bytes) -> list[bytes]:
    """With their newlines; what follows the last one is a line that is being written, or was when it was killed."""
    return [line + b"\n" for line in data.split(b"\n")[:-1]]
