"""What a file system's ``served_by`` is asked, an ``ObservedPath``, and what it answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tonnage.filesystems.mounted_path import MountedPath
from tonnage.machine.mounts import Mount


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
