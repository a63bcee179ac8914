"""What a resolver is asked, and what it answers. Each file system has one: a function from ``Place`` to ``Answer``."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tonnage.machine.bounded import in_time
from tonnage.machine.mounts import Mount
from tonnage.machine.tool import ask
from tonnage.placement.site.model import Site
from tonnage.placement.where.located import Device

_SIDE_ROOMS = ("/usr/sbin", "/sbin", "/usr/lpp/mmfs/bin", "/opt/beegfs/sbin")
"""Where tools are that an ordinary user may run, though his PATH seldom has them."""


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
class Place:
    """A path on a mount, as far as it could be looked at."""

    path: str
    """Without links; where it does not exist yet, of the nearest parent that does."""
    mount: Mount
    mounts: tuple[Mount, ...]
    site: Site
    timeout_s: float
    answers: bool = True
    """False: touching it may hang or is not allowed, so that only the mount table speaks."""
    is_directory: bool = True
    size_bytes: int = 0
    inode: int = 0
    below: Callable[[str], Answer] = field(repr=False)
    """Asks again for another path: what an overlay or an image is made of."""

    def tool(self, *argv: str) -> str:
        """What a tool prints. ToolError as of ``tonnage.machine.tool``."""
        beside = None if shutil.which(argv[0]) else shutil.which(argv[0], path=os.pathsep.join(_SIDE_ROOMS))
        return ask([beside or argv[0], *argv[1:]], timeout_s=self.timeout_s, directory="/").out

    def attribute(self, *names: str) -> str | None:
        """The first of these extended attributes that the file system gives; None if none. TimeoutError, OSError."""
        path = self.path

        def read() -> str | None:
            for name in names:
                try:
                    return os.getxattr(path, name).decode("utf-8", "surrogateescape").rstrip("\0")
                except OSError as error:
                    last = error
            raise last

        value: str | None = in_time(read, timeout_s=self.timeout_s)
        return value

    def spelled(self, *names: str | None) -> str | None:
        """Of several names of one server the one that the site file knows, else the first."""
        given = [name for name in names if name]
        return next((name for name in given if self.site.named(name)), given[0] if given else None)


def several(names: Sequence[str | None]) -> tuple[str, ...]:
    """Each once, in order, those that nobody knows left out."""
    return tuple(dict.fromkeys(name for name in names if name))
