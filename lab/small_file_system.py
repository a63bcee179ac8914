"""File systems of a few MiB, and how full they became."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

MIB = 1 << 20
_PAUSE_S = 0.001


@contextlib.contextmanager
def file_system(work: Path, kind: str, mib: int, *making: str, options: str = "") -> Iterator[Path]:
    """A mounted one of that size, gone afterwards; skips where none can be made. ``making``: words for its mkfs,
    ``options``: of its mount."""
    needed = ("mount",) if kind == "tmpfs" else ("mount", f"mkfs.{kind}")
    if os.geteuid() or not all(map(shutil.which, needed)):
        pytest.skip(f"a {kind} of its own needs root and {', '.join(needed)}")
    path = work / f"{kind}-{len(list(work.iterdir()))}"
    image = path.with_suffix(".image")
    path.mkdir()
    more = f",{options}" if options else ""
    if kind == "tmpfs":
        mount = ["mount", "-t", "tmpfs", "-o", f"size={mib}M{more}", "none", path]
    else:
        with image.open("xb") as stream:
            stream.truncate(mib * MIB)
        subprocess.run([f"mkfs.{kind}", "-q", *making, image], check=True, capture_output=True)
        mount = ["mount", "-o", f"loop{more}", image, path]
    subprocess.run(mount, check=True, capture_output=True)
    try:
        yield path
    finally:
        subprocess.run(["umount", "--lazy", path], check=True, capture_output=True)


def free(path: Path) -> int:
    facts = os.statvfs(path)
    # Btrfs says that nothing is available as soon as its metadata is short, however much is free.
    return (facts.f_bavail or facts.f_bfree) * facts.f_frsize


def names(path: Path) -> int:
    return os.statvfs(path).f_favail


class Watched:
    """The least that was free while it was watched: bytes, or what else ``count`` says."""

    def __init__(self, path: Path, count: Callable[[Path], int] = free) -> None:
        self.path, self.count = path, count
        self.before = self.least = count(path)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def _watch(self) -> None:
        # What a trial writes stays for longer than this pause; without one the watch has a processor for itself.
        while not self._ended.wait(_PAUSE_S):
            if self.count(self.path) < self.least:
                self.least = min(self.least, self._settled())

    def _settled(self) -> int:
        """What is free once no allocation is under way: while ext4 makes one, its two counters both have it."""
        looked, found = time.monotonic(), self.count(self.path)
        while time.monotonic() < looked + 0.02:
            found = max(found, self.count(self.path))
        return found

    def __enter__(self) -> Watched:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    @property
    def used_most(self) -> int:
        return self.before - self.least
