"""What the source must be, by what was done to it: kept in memory, and never read back from a file system."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field

FILE, DIRECTORY, LINK, FIFO, SOCKET = "file", "directory", "link", "fifo", "socket"
STAGED = (FILE, DIRECTORY, LINK, FIFO)
TICK_NS = 20_000_000
"""A file system's clock may be so far behind."""

Times = tuple[int, int]
"""Earliest and latest nanosecond since 1970 that a time of change may be; equal where somebody set it."""


@dataclass(frozen=True)
class Version:
    """All that a copy must have of one state of a name."""

    kind: str
    mode: int
    owner: int
    times: Times
    digest: str = ""
    size: int = 0
    text: str = ""
    attributes: tuple[tuple[str, str], ...] = ()


@dataclass(eq=False)
class Node:
    """One inode."""

    kind: str
    times: Times
    mode: int = 0o644
    owner: int = 0
    data: bytes = b""
    text: str = ""
    attributes: dict[str, str] = field(default_factory=dict)
    children: dict[str, Node] = field(default_factory=dict)
    history: list[Version] = field(default_factory=list)
    seen: dict[str, int] = field(default_factory=dict)
    """Of each of its names, the version that it had when the name was last seen at the source."""
    former: set[str] = field(default_factory=set)
    """Paths from which it was renamed, itself or with a directory."""

    def now(self) -> Version:
        return Version(
            self.kind,
            self.mode if self.kind != LINK else 0o777,
            self.owner,
            self.times,
            digest(self.data) if self.kind == FILE else "",
            len(self.data),
            self.text,
            tuple(sorted(self.attributes.items())),
        )

    def changed(self) -> None:
        """Records a change; callers call it after every change of the source."""
        self.history.append(self.now())

    def since(self, path: str) -> list[Version]:
        """The versions that a copy may have which was made, at the earliest, when ``path`` was last seen."""
        return self.history[self.seen.get(path, len(self.history) - 1) :]


def digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def parent_of(path: str) -> str:
    return path.rpartition("/")[0]


class Source:
    """The source tree, and of what the mover took off it what must lie at the destination instead."""

    def __init__(self) -> None:
        self.root = Node(DIRECTORY, (0, 1 << 62), 0o755)
        self.cleared: dict[str, tuple[Node, list[Version]]] = {}
        """Path to the file, and to the versions of which one must lie there."""

    def find(self, path: str) -> Node | None:
        node: Node | None = self.root
        for part in path.split("/") if path else ():
            node = node.children.get(part) if node else None
        return node

    def walk(self, node: Node | None = None, at: str = "") -> Iterator[tuple[str, Node]]:
        """Every name but the root, each directory before what lies in it."""
        for name, child in sorted((node or self.root).children.items()):
            path = f"{at}/{name}" if at else name
            yield path, child
            if child.kind == DIRECTORY:
                yield from self.walk(child, path)

    def names(self, node: Node) -> list[str]:
        return [path for path, other in self.walk() if other is node]

    def _put(self, path: str, node: Node, times: Times) -> None:
        above = self.find(parent_of(path))
        assert above
        above.children[path.rpartition("/")[2]] = node
        above.times = times
        above.changed()
        self.cleared.pop(path, None)
        node.seen[path] = len(node.history) - 1

    def _take(self, path: str, times: Times) -> Node:
        above = self.find(parent_of(path))
        assert above
        above.times = times
        above.changed()
        return above.children.pop(path.rpartition("/")[2])

    def take_off(self, path: str) -> None:
        """The mover has cleared it: its directory's times are none of its business."""
        above, node = self.find(parent_of(path)), self.find(path)
        assert above and node
        self.cleared[path] = node, node.since(path)
        del above.children[path.rpartition("/")[2]]

    def come_back(self, path: str) -> None:
        """The mover had set it aside, and has put it back."""
        above = self.find(parent_of(path))
        if above and path in self.cleared:
            above.children[path.rpartition("/")[2]] = self.cleared.pop(path)[0]

    def stored(self, path: str, data: bytes, times: Times, held: list[str]) -> None:
        """The bytes of a file, which is made where it is not there. ``held``: its names while it was open."""
        node = self.find(path)
        if not node:
            node = Node(FILE, times)
            node.history.append(node.now())
            self._put(path, node, times)
        self.stored_in(node, data, times, held)

    def stored_in(self, node: Node, data: bytes, times: Times, held: list[str]) -> None:
        node.data, node.times = data, times
        node.changed()
        for name in held:
            node.seen[name] = len(node.history) - 1

    def made(self, path: str, node: Node, times: Times) -> None:
        node.changed()
        self._put(path, node, times)

    def linked(self, path: str, other: str, times: Times) -> None:
        node = self.find(path)
        assert node
        self._put(other, node, times)

    def removed(self, path: str, times: Times) -> None:
        node = self._take(path, times)
        self._orphans(path, node)

    def _orphans(self, path: str, node: Node) -> None:
        """A directory could go: the mover had cleared what the model had in it."""
        for name, child in list(self.walk(node, path)) if node.kind == DIRECTORY else []:
            if child.kind == FILE:
                self.cleared[name] = child, child.since(name)

    def renamed(self, path: str, other: str, times: Times) -> None:
        node, there = self.find(path), self.find(other)
        if node is there:
            return
        assert node
        if there and there.kind == DIRECTORY:
            self._orphans(other, there)
        self._moved(path, other, node, times)
        self._put(other, self._take(path, times), times)

    def exchanged(self, path: str, other: str, times: Times) -> None:
        one, two = self.find(path), self.find(other)
        if one is two:
            return
        assert one and two
        self._moved(path, other, one, times)
        self._moved(other, path, two, times)
        self._put(other, one, times)
        self._put(path, two, times)

    def _moved(self, path: str, other: str, node: Node, times: Times) -> None:
        below = list(self.walk(node, path)) if node.kind == DIRECTORY else []
        for name, child in [(path, node), *below]:
            child.former.add(name)
            new = other + name[len(path) :]
            child.seen[new] = child.seen.get(name, len(child.history) - 1)
            self.cleared.pop(new, None)
        if node.kind == DIRECTORY:
            # Whether its own time moves with its name is the file system's affair.
            node.times = widened(node.times, times)
            node.changed()

    def touched(self, node: Node, times: Times) -> None:
        node.times = times
        node.changed()


def widened(old: Times, now: Times) -> Times:
    """Where a call may move the time or not."""
    return min(old[0], now[0]), max(old[1], now[1])


def altered(data: bytes, offset: int, new: bytes) -> bytes:
    """``data`` with ``new`` at ``offset``; what lies between is zeros."""
    return data[:offset].ljust(offset, b"\0") + new + data[offset + len(new) :]
