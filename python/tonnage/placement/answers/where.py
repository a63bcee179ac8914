"""Of ``tonnage where``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from tonnage.filesystems import Device
from tonnage.placement.indices import Reading
from tonnage.placement.lines import Found
from tonnage.placement.site import Line, Server
from tonnage.placement.where import Located
from tonnage.records.load_lines import KeptLine


@dataclass(frozen=True, kw_only=True)
class MountTold:
    """Of a mount, what names it."""

    mount_point: str
    file_system: str
    device: str


@dataclass(frozen=True, kw_only=True)
class LocatedTold:
    """Where a path's data lives: ``tonnage.placement.where.Located``."""

    path: str
    real_path: str
    mount: MountTold | None
    target: str
    servers: tuple[str, ...]
    devices: tuple[Device, ...]
    striped: bool
    local: bool
    how: tuple[str, ...]
    problem: str | None


@dataclass(frozen=True, kw_only=True)
class FileServer:
    """A server that holds the path, as the site file has it."""

    name: str
    hosts: tuple[str, ...]
    queue: str | None
    slots: int | None
    load: Reading | None


@dataclass(frozen=True, kw_only=True)
class StatedLine:
    """A load line of the site file."""

    tasks: int
    plateau: int | None
    """Bytes per second."""


@dataclass(frozen=True, kw_only=True)
class Answer(LocatedTold):
    """What was located, and each of its servers."""

    file_servers: tuple[FileServer, ...]
    load_line: KeptLine | StatedLine | None


def told(located: Located) -> LocatedTold:
    """What is printed of it."""
    return LocatedTold(**_values(located))


def answer(located: Located, servers: Sequence[Server], readings: Mapping[str, Reading], line: Found | None) -> Answer:
    """``readings``: by the servers' names."""
    return Answer(
        **_values(located),
        file_servers=tuple(
            FileServer(
                name=server.name,
                hosts=server.hosts,
                queue=server.queue,
                slots=server.slots,
                load=readings.get(server.name),
            )
            for server in servers
        ),
        load_line=StatedLine(**line.model_dump()) if isinstance(line, Line) else line,
    )


def _values(located: Located) -> dict[str, Any]:
    mount = located.mount and MountTold(
        mount_point=located.mount.mount_point, file_system=located.mount.file_system, device=located.mount.device
    )
    return {**{field.name: getattr(located, field.name) for field in fields(LocatedTold)}, "mount": mount}
