"""What a resolver is asked, and what it answers. Each file system has one: a function from ``Place`` to ``Answer``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tonnage.machine.mounts import Mount
from tonnage.machine.storages.spot import Spot
from tonnage.placement.site.model import Site
from tonnage.placement.where.located import Device


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
class Place(Spot):
    """A path on a mount, as far as it could be looked at; where it does not exist yet, the nearest parent that does."""

    mounts: tuple[Mount, ...]
    site: Site
    answers: bool = True
    """False: touching it may hang or is not allowed, so that only the mount table speaks."""
    is_directory: bool = True
    size_bytes: int = 0
    inode: int = 0
    below: Callable[[str], Answer] = field(repr=False)
    """Asks again for another path: what an overlay or an image is made of."""

    def spelled(self, *names: str | None) -> str | None:
        """Of several names of one server the one that the site file knows, else the first."""
        given = [name for name in names if name]
        return next((name for name in given if self.site.named(name)), given[0] if given else None)


def several(names: Sequence[str | None]) -> tuple[str, ...]:
    """Each once, in order, those that nobody knows left out."""
    return tuple(dict.fromkeys(name for name in names if name))
