"""What a file system's ``served_by`` is asked, an ``ObservedPath``, and what it answers."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tonnage.filesystems.file_holders import Facts, MountedPath
from tonnage.machine.mounts import Mount
from tonnage.machine.site_tools import ToolError, ask


@dataclass(frozen=True, slots=True)
class Device:
    """One of the places that a file system spreads its data over: an OST, a brick, an OSD, a disk."""

    name: str
    """As its own tools call it, with the file system's name where numbers repeat: ``scratch-OST0003``."""
    server: str | None
    """The host that serves it, as its own tools call it; None where they do not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What one file system's tools say; the fields are those of ``Located``."""

    servers: tuple[str, ...] = ()
    devices: tuple[Device, ...] = ()
    striped: bool = False
    local: bool = False
    how: tuple[str, ...] = ()
    problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedPath(MountedPath):
    """A path on a mount, as far as it could be examined; where it does not exist yet, the nearest parent that does."""

    mounts: tuple[Mount, ...]
    is_known: Callable[[str], object]
    """Whether the site knows a server of such a name: true or false."""
    answers: bool = True
    """False: accessing it may hang or is not allowed, so that only the mount table is used."""
    is_directory: bool = True
    size_bytes: int = 0
    inode: int = 0
    below: Callable[[str], Answer] = field(repr=False)
    """Asks again for another path: what an overlay or an image is made of."""

    def spelled(self, *names: str | None) -> str | None:
        """Of several names of one server the one that the site knows, else the first."""
        given = [name for name in names if name]
        return next((name for name in given if self.is_known(name)), given[0] if given else None)


def several(names: Sequence[str | None]) -> tuple[str, ...]:
    """Returns each one once, in order, without unknown ones."""
    return tuple(dict.fromkeys(name for name in names if name))


LIMIT_S = 30
"""A tool that hangs (a server that is gone) does not hang the run."""
_MOST_TEXT = 4096
"""Characters kept of what a tool prints."""


@dataclass(frozen=True, slots=True)
class Striping:
    """What is wanted; ``None`` is the file system's own."""

    count: int | None = None
    """Devices a file is spread over; -1: all."""
    size_bytes: int | None = None
    """Bytes on one of them before the next."""
    osts: tuple[int, ...] = ()
    """Numbers of the OSTs (Lustre) or bricks (GlusterFS)."""
    pool: str | None = None
    """A pool of devices; on MooseFS a storage class."""
    pools: tuple[str, ...] = ()
    """One for each of several directories, in turn, instead of ``pool``."""
    start: int | None = None
    """Lustre: number of the OST on which a file begins."""

    def of_device(self, number: int, devices: int) -> Striping:
        """That of the ``number``-th of several directories: it is pinned to one OST alone, or to one of the pools."""
        if self.pools:
            return replace(self, pool=self.pools[number % len(self.pools)], pools=())
        if devices == 1 or not self.osts:
            return self
        return Striping(1, self.size_bytes, (self.osts[number % len(self.osts)],), None)


@dataclass(frozen=True, slots=True)
class Striped:
    """The result in one directory."""

    path: str
    tool: str | None
    """Which tool was asked."""
    problem: str | None
    """Why the directory is not striped as wanted, one sentence; None if it is."""
    found: Facts
    """What the file system says of the directory afterwards."""
    pin: str = ""
    """What the names of new files in it have to end in while they are made."""

    def as_dict(self) -> Facts:
        """As it stands in the manifest."""
        return {"path": self.path, "tool": self.tool, "problem": self.problem, "found": self.found, "pin": self.pin}


def by_tool(directory: Path, setting: Sequence[str], asking: Sequence[str], read: Callable[[str], Facts]) -> Striped:
    """Sets, and asks what is set; the directory is the last argument of both."""
    found: Facts = {}
    problem, _ = _run([*setting, str(directory)])
    if shutil.which(asking[0]):
        unread, text = _run([*asking, str(directory)])
        found = read(text) if unread is None else found
    return Striped(str(directory), setting[0], problem, found)


def _run(argv: list[str]) -> tuple[str | None, str]:
    """What went wrong in one sentence (None: nothing), and what it printed."""
    try:
        return None, ask(argv, timeout_s=LIMIT_S).out[:_MOST_TEXT]
    except ToolError as error:
        return str(error), ""
