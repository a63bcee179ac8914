"""Striping and pinning: the request, the result, and how a file system's user tool sets it and reads it back.

Nothing here needs privileges; what a tool refuses is reported. A file system that can has ``stripe(directory,
wanted)``."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tonnage.filesystems.mounted_path import Facts
from tonnage.machine.site_tools import ToolError, ask

LIMIT_S = 30
"""A tool that hangs (a server that is gone) does not hang the run."""
_MOST_TEXT = 4096
"""Characters kept of what a tool prints."""


@dataclass(frozen=True, slots=True)
class Striping:
    """The wanted striping; ``None`` is the file system's own."""

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
