"""Of ``tonnage doctor``, which asks one of two things."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from tonnage.placement.doctor import Complaint
from tonnage.placement.doctor.hosts.look import Host, Link


@dataclass(frozen=True, kw_only=True)
class SiteChecked:
    """The site file against the world."""

    well: bool
    files: tuple[str, ...]
    scheduler: str
    complaints: tuple[Complaint, ...]


@dataclass(frozen=True, kw_only=True)
class LinkTold(Link):
    """A link, with its rate as a field like others: pydantic passes over one that ``__init__`` does not take."""

    bytes_per_s: int | None


@dataclass(frozen=True, kw_only=True)
class HostsChecked:
    """``--hosts``."""

    well: bool
    target: str | None
    hosts: tuple[Host, ...]
    links: tuple[LinkTold, ...]
    complaints: tuple[Complaint, ...]


Answer: TypeAlias = SiteChecked | HostsChecked
