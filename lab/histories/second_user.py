"""The second user of the destination, who makes, replaces, renames and removes files, and the expected state of these
files."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from histories import read_tree
from histories.application import body
from histories.source_model import DIRECTORY, FILE, LINK, digest


@dataclass(frozen=True)
class Foreign:
    """What he put under a name."""

    kind: str
    digest: str = ""
    mtime_ns: int = 0


class Actor:
    """Each method is a verb. What makes no sense does nothing."""

    def __init__(self, root: Path) -> None:
        self._root = os.fspath(root)
        self._count = 0
        self.files: dict[str, Foreign] = {}
        """What is his, by path."""
        self.harmed: set[str] = set()
        """Paths whose copy by the mover he took away or replaced."""
        self.directories: set[str] = set()
        """Those he made."""
        self.touched: set[str] = set()
        """Those in which he made or took a name."""

    def at(self, path: str) -> str:
        return f"{self._root}/{path}"

    def _above(self, path: str) -> None:
        parts = path.split("/")[:-1]
        self.touched.add("/".join(parts))
        for number in range(1, len(parts) + 1):
            above = "/".join(parts[:number])
            if not os.path.lexists(self.at(above)):
                os.mkdir(self.at(above))
                self.directories.add(above)
                self.touched.add("/".join(parts[: number - 1]))

    def _is_copy(self, path: str) -> bool:
        """Whether the name is the mover's, who may have been allowed to replace what was put there before."""
        if not os.path.lexists(self.at(path)):
            return False
        his, there = self.files.get(path), read_tree.one(self.at(path))
        return not his or his.kind != there.kind or his.digest != (there.version.text or there.digest)

    def put(self, path: str, data: bytes, mtime_ns: int, over: bool) -> None:
        """A file, under a name that is free or, with ``over``, taken."""
        self._above(path)
        self._count += 1
        temporary = self.at(path) + f".his-{self._count}"
        with open(temporary, "xb") as out:
            out.write(data)
        if mtime_ns:
            os.utime(temporary, ns=(mtime_ns, mtime_ns))
        about = os.stat(temporary)
        try:
            if over:
                was_copy = self._is_copy(path)
                os.rename(temporary, self.at(path))
                self.harmed |= {path} if was_copy else set()
            else:
                os.link(temporary, self.at(path))
            self.files[path] = Foreign(FILE, digest(data), about.st_mtime_ns)
        finally:
            if os.path.lexists(temporary):
                os.unlink(temporary)

    def new(self, path: str, size: int, seed: int, mtime_ns: int) -> None:
        self.put(path, body(size, seed), mtime_ns, over=False)

    def over(self, path: str, size: int, seed: int, mtime_ns: int) -> None:
        self.put(path, body(size, seed), mtime_ns, over=True)

    def directory(self, path: str) -> None:
        self._above(path)
        os.mkdir(self.at(path))
        self.files[path] = Foreign(DIRECTORY)
        self.directories.add(path)

    def symlink(self, path: str, text: str) -> None:
        self._above(path)
        os.symlink(text, self.at(path))
        self.files[path] = Foreign(LINK, text, os.lstat(self.at(path)).st_mtime_ns)

    def take(self, path: str) -> None:
        was_copy = self._is_copy(path)
        self._above(path)
        os.unlink(self.at(path))
        self.files.pop(path, None)
        self.harmed |= {path} if was_copy else set()

    def shift(self, path: str, other: str) -> None:
        if self.files.get(path, Foreign(DIRECTORY)).kind == DIRECTORY:
            return
        was_copy = self._is_copy(other)
        self._above(path)
        self._above(other)
        os.rename(self.at(path), self.at(other))
        self.files[other] = self.files.pop(path)
        self.harmed |= {other} if was_copy else set()
