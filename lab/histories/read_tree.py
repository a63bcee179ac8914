"""A tree as it is on a file system, every byte of it read."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from stage_trees import STATE

from histories.source_model import DIRECTORY, FIFO, FILE, LINK, SOCKET, Version, digest

_KINDS = {
    stat.S_IFREG: FILE,
    stat.S_IFDIR: DIRECTORY,
    stat.S_IFLNK: LINK,
    stat.S_IFIFO: FIFO,
    stat.S_IFSOCK: SOCKET,
}
PIECE = 1 << 20


@dataclass(frozen=True)
class Seen:
    """One name."""

    version: Version
    ino: int

    @property
    def kind(self) -> str:
        return self.version.kind

    @property
    def digest(self) -> str:
        return self.version.digest


def of_file(path: str) -> str:
    """Returns the digest of its bytes."""
    found = hashlib.blake2b(digest_size=16)
    with open(path, "rb", buffering=0) as stream:
        while piece := stream.read(PIECE):
            found.update(piece)
    return found.hexdigest()


def attribute(value: bytes) -> str:
    """How the model writes one down: its size and its digest."""
    return f"{len(value)}:{digest(value)}"


def _attributes(path: str) -> tuple[tuple[str, str], ...]:
    names = [name for name in os.listxattr(path, follow_symlinks=False) if name.startswith("user.")]
    return tuple(sorted((name[5:], attribute(os.getxattr(path, name, follow_symlinks=False))) for name in names))


def one(path: str) -> Seen:
    about = os.lstat(path)
    kind = _KINDS[stat.S_IFMT(about.st_mode)]
    version = Version(
        kind,
        stat.S_IMODE(about.st_mode),
        about.st_uid,
        (about.st_mtime_ns, about.st_mtime_ns),
        of_file(path) if kind == FILE else "",
        about.st_size if kind == FILE else 0,
        os.readlink(path) if kind == LINK else "",
        _attributes(path) if kind in (FILE, DIRECTORY) else (),
    )
    return Seen(version, about.st_ino)


def tree(root: Path) -> dict[str, Seen]:
    """Returns every name below ``root`` but the mover's own directory."""
    found: dict[str, Seen] = {}
    ahead = [""]
    while ahead:
        directory = ahead.pop()
        for name in os.listdir(f"{root}/{directory}"):
            path = f"{directory}/{name}" if directory else name
            if path == STATE:
                continue
            found[path] = one(f"{root}/{path}")
            if found[path].kind == DIRECTORY:
                ahead.append(path)
    return found


def set_aside_digests(root: Path) -> set[str]:
    """Digests of what the mover has set aside on its source."""
    below = root / STATE / "cleared"
    if not below.is_dir():
        return set()
    return {of_file(os.fspath(found)) for found in below.rglob("*") if found.is_file() and not found.is_symlink()}


def clearing(root: Path) -> set[str]:
    """Directories from which the mover was taking files: those that it made like them beside what it set aside."""
    below = root / STATE / "cleared"
    made = (found.relative_to(below).parts[1:] for found in below.rglob("*") if found.is_dir())
    return {os.sep.join(parts) for parts in made if parts}


def unlisted(root: Path, *, by_bytes: bool) -> set[str]:
    """Names of the destination that none of its manifests shows to be a mover's: those in none, FIFOs, and, without the
    checksums of ``by_bytes``, files."""
    listed = set()
    for manifest in (root / STATE).glob("manifest-*.jsonl"):
        for line in manifest.read_bytes().splitlines():
            with contextlib.suppress(ValueError):
                listed.add(json.loads(line).get("path"))
    unknown = {FIFO} if by_bytes else {FIFO, FILE, LINK}
    return {path for path, seen in tree(root).items() if path not in listed or seen.kind in unknown}
