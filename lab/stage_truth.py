"""The expected content of the two trees of a mover, known from the writes of the test, and the differences from it."""

from __future__ import annotations

import contextlib
import json
import os
import random
import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from stage_trees import CLEARED, DONE, MIB, PLACING, STATE, Found, Stage, digest, names, tree

NATIVE_FAULTS = ("missing", "kind_differs", "size_differs", "checksum_differs", "unreadable")
EARLY_NS, OLD_NS, NEW_NS = 1_500_000_000 * 10**9, 1_600_000_000 * 10**9, 4_000_000_000 * 10**9
"""When the tree was last changed, with a time before that, and one after everything."""


def plant(source: Path) -> None:
    """One of each: a small file, an empty one, one with attributes, two names of one file, a link, a FIFO, a sparse
    file, one that goes in chunks and one that does so with holes."""
    noise = random.Random(18).randbytes(MIB)
    for name in ("d", "d/deep", "empty directory"):
        (source / name).mkdir()
    (source / "plain").write_bytes(noise[:3000])
    (source / "empty").touch()
    (source / "d" / "file").write_bytes(noise[:60_000])
    os.setxattr(source / "d" / "file", "user.note", b"kept")
    (source / "d" / "file").chmod(0o640)
    (source / "one").write_bytes(noise[1000:9000])
    os.link(source / "one", source / "d" / "deep" / "two")
    (source / "link").symlink_to("d/file")
    os.mkfifo(source / "fifo")
    with (source / "sparse").open("wb") as out:
        out.seek(256 << 10)
        out.write(noise[:5000])
        out.truncate(512 << 10)
    with (source / "large").open("wb", buffering=0) as out:
        for number in range(9):
            out.write(bytes([number]) + noise[1:])
    with (source / "hollow").open("wb") as out:
        for at in (1, 5):
            out.seek(at * MIB)
            out.write(noise[:9000])
        out.truncate(9 * MIB + 5)
    for path, _ in sorted(names(source), reverse=True):
        os.utime(os.path.join(os.fsencode(source), path), ns=(OLD_NS, OLD_NS), follow_symlinks=False)


def attributes(root: Path, path: bytes) -> dict[str, bytes]:
    full = os.path.join(os.fsencode(root), path)
    if not stat.S_ISREG(os.lstat(full).st_mode):
        return {}
    return {name: os.getxattr(full, name) for name in os.listxattr(full)}


class Truth:
    """What was written at the source, and by others at the destination."""

    def __init__(self, stage: Stage, planted: dict[bytes, Found] | None = None) -> None:
        """``planted``: the source as it is, where that is known; an empty one is filled."""
        self.stage = stage
        self.whole: dict[bytes, set[bytes]] = {}
        """Every digest that a file's name had at the source."""
        self.foreign: dict[bytes, bytes] = {}
        """Digest by the name at the destination that somebody else gave it; these must stay."""
        self.loose: set[bytes] = set()
        """Names that somebody else gave to files which the policy replaces, if it meets them."""
        self.first: set[bytes] = set()
        """Of these names, those that were free when somebody else took them."""
        self.same: set[bytes] = set()
        """Names that somebody else gave to the same bytes: they stay his once the source has others."""
        self.made_by_others: set[bytes] = set()
        """Directories at the destination whose mode and times are not the mover's to set."""
        self.moves_out = False
        """Whether the destination cannot exchange two names: while a new copy takes the place of an old one, none has
        it, and the manifest's line of the old one stands; the journal knows."""
        self.links = True
        """Whether a file can have several names at the destination. Where not, that is told."""
        self.changed = False
        """Whether the application wrote while the mover ran."""
        self.observe(planted)

    def observe(self, known: dict[bytes, Found] | None = None) -> None:
        """The source, all of which is the application's, as it is now."""
        self.source = dict(known or tree(self.stage.source))
        if known is not None:
            known.update(self.source)
        self.attributes = {path: attributes(self.stage.source, path) for path in self.source}
        for path, found in self.source.items():
            self.whole.setdefault(path, set()).add(found.bytes)

    def written_late(self, path: bytes) -> None:
        """The application wrote to one file, in whatever state the rest is."""
        self.changed = True
        now = tree(self.stage.source)[path]
        for name in self.source[path].names:
            if name in self.same:
                self.stays(name)
            self.whole[name].add(now.bytes)
            known = self.source[name]
            self.source[name] = Found(now.kind, now.mode, now.size, now.mtime_ns, now.bytes, known.names)

    def stays(self, path: bytes) -> None:
        """What has this name at the destination is somebody else's, and stays."""
        self.foreign[path] = digest(os.path.join(os.fsencode(self.stage.to), path))
        self.first.add(path)

    def may_go(self, path: bytes) -> None:
        """Notes a file that somebody else put there, which need not stay."""
        if self.foreign.pop(path, None):
            self.loose.add(path)
            self.first.discard(path)

    def blocked(self) -> set[bytes]:
        """What cannot be staged, as somebody else's file has its name, or that of a directory above it."""
        taken = tuple(path + b"/" for path in self.foreign)
        below = {path for path in self.source if path.startswith(taken)} | self.foreign.keys() | self.loose
        return {name for path in below if path in self.source for name in self.source[path].names}

    def foreign_arrives(self, path: bytes, *, replaces: bool) -> bool:
        """Somebody puts a file of their own under a name at the destination; False where it cannot come."""
        to = os.path.join(os.fsencode(self.stage.to), path)
        if not os.path.isdir(os.path.dirname(to)) or os.path.isdir(to):
            return False
        fresh = os.path.join(os.fsencode(self.stage.work), b"foreign")
        Path(os.fsdecode(fresh)).write_bytes(b"of somebody else: " + path)
        os.utime(fresh, ns=(NEW_NS, NEW_NS))
        found = digest(fresh)
        try:
            os.link(fresh, to)
        except FileExistsError:
            if replaces:
                os.rename(fresh, to)
                self.foreign[path] = found
                return True
            return False
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(fresh)
        self.foreign[path] = found
        self.first.add(path)
        return True

    def set_aside(self) -> Iterator[Path]:
        """What lies in the mover's own directory at the source."""
        yield from (path for path in (self.stage.state / "cleared").rglob("*") if path.is_file())


def called_done(stage: Stage, moves_out: bool) -> set[bytes]:
    """The files that the journal or a manifest calls done."""
    said, placing = set(), set()
    with contextlib.suppress(sqlite3.DatabaseError):  # damaged: it says nothing
        rows = stage.journal()
        said = {path for path, state, *_ in rows if state in (DONE, CLEARED)}
        placing = {path for path, state, *_ in rows if state == PLACING}
    for manifest in stage.to.glob(f"{STATE}/manifest-*.jsonl"):
        for line in manifest.read_bytes().splitlines():
            with contextlib.suppress(ValueError):
                about = json.loads(line)
                if about["kind"] == "file":
                    said.add(os.fsencode(about["path"]) if "path" in about else bytes.fromhex(about["path_hex"]))
    return said - placing if moves_out else said


def wrong_at_once(truth: Truth) -> list[str]:
    """What must hold at any moment: nothing is lost, and what is called done is whole."""
    stage, wrong = truth.stage, []
    done, aside = called_done(stage, truth.moves_out), {digest(path) for path in truth.set_aside()}
    source, to = os.fsencode(stage.source), os.fsencode(stage.to)
    for path, found in truth.source.items():
        if not stat.S_ISREG(found.kind) or path in truth.foreign or path in truth.loose:
            continue
        there = os.path.join(to, path)
        here = os.path.lexists(os.path.join(source, path)) or found.bytes in aside
        whole = os.path.isfile(there) and not os.path.islink(there) and digest(there) in truth.whole[path]
        if path in done and not whole:
            wrong.append(f"LIE {path!r} is called done and is {'torn' if os.path.lexists(there) else 'missing'}")
        if not here and not (whole and digest(there) == found.bytes) and not still_has(truth, found):
            wrong.append(f"LOST {path!r} is neither at the source nor whole at the destination")
    return wrong + wrong_with_foreign(truth, [], now=True)


def still_has(truth: Truth, found: Found) -> bool:
    """Whether another name of a file has its bytes, in either tree."""
    both = [
        Path(os.fsdecode(os.path.join(os.fsencode(root), name)))
        for root in (truth.stage.source, truth.stage.to)
        for name in found.names
    ]
    return any(not path.is_symlink() and path.is_file() and digest(path) == found.bytes for path in both)


def wrong_with_foreign(truth: Truth, said: list[str], *, now: bool) -> list[str]:
    """Nobody else's file is harmed: it has its name, or at least lies beside it, and that is told."""
    wrong = []
    for path, found in truth.foreign.items():
        here = os.path.join(os.fsencode(truth.stage.to), path)
        if os.path.isfile(here) and digest(here) == found:
            continue
        beside = [
            name
            for name, about in names(truth.stage.to)
            if stat.S_ISREG(about.st_mode) and digest(os.path.join(os.fsencode(truth.stage.to), name)) == found
        ]
        if not beside:
            wrong.append(f"FOREIGN {path!r} of somebody else is gone")
        elif not now and not any(os.fsdecode(os.path.basename(name)) in text for name in beside for text in said):
            wrong.append(f"FOREIGN {path!r} of somebody else is now {beside[0]!r}, and nobody was told")
    return wrong


def wrong_at_the_end(
    truth: Truth, status: dict[str, Any], clears: bool, clears_all: bool, report: dict[str, Any]
) -> list[str]:
    """What must hold when a mover without faults has ended."""
    stage = truth.stage
    blocked = truth.blocked()
    said = [*status.get("notes", []), *(f"{found['path']}: {found['reason']}" for found in status.get("failures", []))]
    wrong = wrong_at_once(truth) + wrong_with_foreign(truth, said, now=False)
    here, there = tree(stage.source), tree(stage.to)
    for path, found in truth.source.items():
        if path in blocked:
            continue
        wrong += [f"{what} {path!r}" for what in unlike(truth, path, found, there.get(path))]
        kept = any(os.fsdecode(path) in text for text in said) or (not truth.links and len(found.names) > 1)
        if clears_all and stat.S_ISREG(found.kind) and path in here and not (kept or truth.foreign):
            wrong.append(f"KEPT {path!r} stays at the source, and nobody was told")
        if not clears and path not in here:
            wrong.append(f"LOST {path!r} is no longer at the source")
    beside = {path for path in there.keys() - truth.source.keys() if there[path].bytes in truth.foreign.values()}
    wrong += [f"LEFT {path!r} at the destination" for path in sorted(there.keys() - truth.source.keys() - beside)]
    wrong += [f"LEFT {path!r} at the source" for path in sorted(here.keys() - truth.source.keys())]
    wrong += [f"LEFT {path.name} is still set aside" for path in truth.set_aside()]
    if not truth.links and not any("hard links" in text for text in status.get("notes", [])):
        wrong.append("SILENT names of one file became files of their own, and nobody was told")
    failed = {found["path"] for found in status["failures"]} - {os.fsdecode(path) for path in blocked}
    if status["progress"] != "finished" or status["queued"]["files"] or failed:
        wrong.append(f"STUCK {status['progress']}, {status['queued']['files']} queued, {status['failures']}")
    if not status["failed"]["files"] and (unstaged := blocked & truth.first):
        wrong.append(f"SILENT {sorted(unstaged)} could not be staged, and nobody was told")
    for key in NATIVE_FAULTS:
        if found := [path for path in report[key] if os.fsencode(path.split(": ")[0]) not in blocked]:
            wrong.append(f"VERIFY says {key}: {found}")
    return list(dict.fromkeys(wrong))


def unlike(truth: Truth, path: bytes, wanted: Found, found: Found | None) -> list[str]:
    """How a copy differs."""
    if found is None:
        return ["MISSING at the destination:"]
    said = []
    if (wanted.kind, wanted.size, wanted.bytes) != (found.kind, found.size, found.bytes):
        said.append("DIFFERS at the destination:")
    if path not in truth.made_by_others and wanted.mode != found.mode:
        said.append(f"MODE {wanted.mode:o} became {found.mode:o} of")
    still = not truth.changed and not truth.foreign and not truth.loose and path not in truth.made_by_others
    if still and wanted.mtime_ns != found.mtime_ns:
        said.append("TIME of change of")
    if truth.links and not truth.foreign and not truth.loose and wanted.names != found.names:
        said.append(f"LINKS {sorted(wanted.names)} became {sorted(found.names)} of")
    if truth.attributes[path] != attributes(truth.stage.to, path):
        said.append("ATTRIBUTES of")
    return said
