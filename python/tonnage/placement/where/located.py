"""What is known of where a path's data lives."""

from __future__ import annotations

from dataclasses import dataclass

from tonnage.filesystems.servers import Device
from tonnage.machine.mounts import Mount


@dataclass(frozen=True, slots=True, kw_only=True)
class Located:
    """Where a path's data lives, as the file system's own tools tell it. The site file gives servers their names."""

    path: str
    """As it was asked for, absolute."""
    real_path: str = ""
    """The same without symbolic links: this one counts."""
    other_names: tuple[str, ...] = ()
    """The same through links of the site file's own spelling."""
    mount: Mount | None
    target: str
    """The storage's identity (``tonnage.machine.identity``): what a kept load line belongs to."""
    servers: tuple[str, ...] = ()
    """Hosts that serve it, best first: names or addresses as the tools print them, or, where none does, names of the
    site file. Empty: nobody says."""
    devices: tuple[Device, ...] = ()
    striped: bool = False
    """The data is spread over the servers: they are a set that carries load, not a place to pin a job to."""
    local: bool = False
    """It is on this host's own device or memory; ``servers`` is this host."""
    how: tuple[str, ...] = ()
    """How that is known: sentences that name the tool or file that said so, in the order of the questions."""
    problem: str | None = None
    """Why the servers are not known: one sentence with a hint; None where they are."""
