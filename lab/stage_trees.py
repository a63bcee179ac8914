"""Source and destination trees of a stage, a mover in a process that can be killed, and the checks that must hold at
any moment."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import random
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

LAB = Path(__file__).resolve().parent
STATE = ".tonnage-stage"
MIB = 1 << 20
PATIENCE_S = 120.0
"""Longer than anything here takes, on a machine that does other things as well."""

QUEUED, PLACING, DONE, CLEARED = range(4)
"""States in the journal, as ``crates/mover/src/journal_entry.rs`` numbers them."""


@contextlib.contextmanager
def memory_directory() -> Iterator[Path]:
    """A directory in memory, where a kill loses nothing that was written and a sync costs nothing."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None, prefix="tonnage-lab-") as work:
        yield Path(work)


@dataclass(frozen=True)
class Found:
    """One name of a tree. ``bytes`` is the digest of a file's, or a link's text."""

    kind: int
    mode: int
    size: int
    mtime_ns: int
    bytes: bytes
    names: frozenset[bytes]
    """All names of the tree that are the same file."""


def digest(path: bytes | Path) -> bytes:
    found = hashlib.sha256()
    with open(path, "rb", buffering=0) as stream:
        while piece := stream.read(MIB):
            found.update(piece)
    return found.digest()


def names(root: Path) -> Iterator[tuple[bytes, os.stat_result]]:
    """Yields every name below ``root`` but the mover's own directory, relative to it."""
    ahead = [b""]
    base = os.fsencode(root)
    while ahead:
        directory = ahead.pop()
        with os.scandir(os.path.join(base, directory)) as found:
            for entry in found:
                path = os.path.join(directory, entry.name)
                if path == STATE.encode():
                    continue
                about = entry.stat(follow_symlinks=False)
                yield path, about
                if stat.S_ISDIR(about.st_mode):
                    ahead.append(path)


def tree(root: Path) -> dict[bytes, Found]:
    """All that a copy must have; of a directory its size, and so its order of names, is the file system's own."""
    everything = dict(names(root))
    same: dict[int, set[bytes]] = {}
    for path, about in everything.items():
        same.setdefault(about.st_ino, set()).add(path)
    found = {}
    for path, about in everything.items():
        full = os.path.join(os.fsencode(root), path)
        kind = stat.S_IFMT(about.st_mode)
        text = digest(full) if kind == stat.S_IFREG else os.readlink(full) if kind == stat.S_IFLNK else b""
        found[path] = Found(
            kind,
            stat.S_IMODE(about.st_mode),
            about.st_size if kind == stat.S_IFREG else 0,
            about.st_mtime_ns,
            text,
            frozenset(same[about.st_ino]),
        )
    return found


def differences(wanted: dict[bytes, Found], found: dict[bytes, Found]) -> list[str]:
    """In words; empty where the trees are the same."""
    said = [f"missing: {path!r}" for path in sorted(wanted.keys() - found.keys())]
    said += [f"nobody's: {path!r}" for path in sorted(found.keys() - wanted.keys())]
    said += [
        f"{path!r}: {wanted[path]} became {found[path]}"
        for path in sorted(wanted)
        if path in found and wanted[path] != found[path]
    ]
    return said


def plant(root: Path, rng: random.Random, *, files: int = 30, large_bytes: int = 40 * MIB) -> None:
    """A tree of everything: odd names, links of both kinds, a FIFO, empty and sparse files, one that has chunks."""
    block = rng.randbytes(1 << 18)
    directories = [root, root / "a", root / "a" / "b c", root / "a\nb"]
    for directory in directories[1:]:
        directory.mkdir()
        directory.chmod(rng.choice((0o755, 0o700, 0o775)))
    (root / "empty").mkdir()
    for number in range(files):
        name = rng.choice(directories) / rng.choice((f"file {number}", f"{number}" + "x" * 200, f"\N{SNOWMAN}{number}"))
        size = rng.choice((0, 1, 4096, rng.randrange(200_000), 60_000))
        name.write_bytes(block[number : number + size])
        name.chmod(rng.choice((0o644, 0o600, 0o444, 0o755)))
        changed_ns = rng.randrange(10**18, 17 * 10**17)
        os.utime(name, ns=(changed_ns, changed_ns))
    with (root / "a" / "large").open("wb", buffering=0) as out:
        for number in range(0, large_bytes, 1 << 18):
            out.write(bytes([number >> 18 & 255]) + block[1:])
        out.truncate(large_bytes - rng.randrange(1 << 17))
    with (root / "sparse").open("wb") as out:
        out.seek(3 * MIB)
        out.write(block[:5000])
        out.truncate(5 * MIB)
    Path(os.fsdecode(os.fsencode(root) + b"/not \xff UTF-8")).write_bytes(b"odd")
    (root / "one").write_bytes(block[:70_000])
    os.link(root / "one", root / "a" / "two")
    (root / "link").symlink_to("a/large")
    (root / "dangling").symlink_to("../nowhere")
    os.mkfifo(root / "fifo")


@dataclass
class Stage:
    """Two trees below ``work`` and the movers between them, one at a time."""

    work: Path
    options: dict[str, Any] = field(default_factory=dict)
    """What differs from ``written()``'s own."""

    def __post_init__(self) -> None:
        self.source, self.to = self.work / "from", self.work / "to"
        self.source.mkdir(exist_ok=True)
        self.to.mkdir(exist_ok=True)
        self.state = self.source / STATE

    def written(self) -> Path:
        """Writes the options as a file."""
        given = {
            "from": str(self.source), "to": str(self.to), "state": str(self.state), "name": "lab",
            "include": [], "exclude": [], "first": [], "markers": [], "order": "oldest", "check": "written",
            "overwrite": "never", "clear": "never", "marks": None, "workers": 3, "limit_bytes_per_s": None,
            "limit_files_per_s": None, "gentle": "off", "settle_ns": 20_000_000, "rescan_ns": 60 * 10**9,
            "open_grace_ns": 10**9, "attempts": 4, "log": None, **self.options,
        }  # fmt: skip
        file = self.work / "options.json"
        file.write_text(json.dumps(given))
        return file

    @contextlib.contextmanager
    def mover(self, *, drain: bool = True) -> Iterator[Running]:
        """One in a process of its own, which is gone when the context ends."""
        from tonnage import _native

        words = [sys.executable, "-I", "-S", LAB / "bare_mover.py", _native.__file__, self.written()]
        pipe = subprocess.PIPE
        with subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
            running = Running(process)
            try:
                if drain:
                    running.drain()
                yield running
            finally:
                process.kill()

    def drained(self) -> dict[str, Any]:
        """Drains a mover and returns its status, whatever it left undone."""
        with self.mover() as running:
            return running.end()

    def temporaries(self) -> list[bytes]:
        """Those at either tree; may be asked while names come and go."""
        both = [name for root in (self.source, self.to) for _, _, found in os.walk(os.fsencode(root)) for name in found]
        return [name for name in both if name.startswith(b".tonnage-") and name.endswith(b".part")]

    def journal(self) -> list[tuple[bytes, int, int, int]]:
        """Path, state, size and bytes of chunks of each regular file that the journal knows; as it is after a kill."""
        file = self.state / "journal.sqlite"
        if not file.exists():
            return []
        # Of a copy, so that the log is recovered there and not under the mover.
        with tempfile.TemporaryDirectory(dir=self.work) as work:
            for part in self.state.glob("journal.sqlite*"):
                shutil.copy(part, work)
            with contextlib.closing(sqlite3.connect(Path(work) / "journal.sqlite")) as db:
                try:
                    rows = db.execute(
                        "SELECT path, name, state, size, (SELECT total(length) FROM chunk WHERE entry = entry.id)"
                        " FROM entry JOIN directory ON directory.id = dir WHERE kind = 0"
                    ).fetchall()
                except sqlite3.OperationalError:
                    return []  # killed before it had its tables
        return [(os.path.join(path, name), state, size, int(chunks)) for path, name, state, size, chunks in rows]


class Running:
    """A mover's process."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def drain(self) -> None:
        """No more is coming."""
        assert self.process.stdin
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.stdin = None

    def ended(self) -> bool:
        return self.process.poll() is not None

    def end(self) -> dict[str, Any]:
        """Drains; its last status, with its exit code as ``code``."""
        if self.process.stdin:
            self.drain()
        out, err = self.process.communicate(timeout=PATIENCE_S)
        assert out, f"the mover ended with {self.process.returncode}: {err}"
        status: dict[str, Any] = json.loads(out)
        return {**status, "code": self.process.returncode}

    def kill(self) -> int | None:
        """SIGKILL; the bytes it had written to all its files, or None where it had ended before."""
        pid = self.process.pid
        if self.ended():
            return None
        self.process.send_signal(signal.SIGSTOP)
        # Its death by SIGKILL is the same from here, and what it wrote until then can be read.
        how = os.waitid(os.P_PID, pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        assert how
        stopped = how.si_code == os.CLD_STOPPED
        said = Path(f"/proc/{pid}/io").read_text() if stopped else ""
        self.process.kill()
        self.process.wait()
        return int(said.split("wchar:")[1].split()[0]) if stopped else None
