"""Which file system a path is on, from /proc/self/mountinfo (format: proc(5))."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

MEMORY_BACKED = frozenset({"tmpfs", "ramfs", "hugetlbfs", "devtmpfs"})
"""File systems that live in memory: their reads never come from a device."""


@dataclass(frozen=True, slots=True)
class Mount:
    """One mount: what the manifest keeps of the file system under test."""

    mount_point: str
    file_system: str
    device: str
    options: str
    """The mount's own options and the file system's, comma separated."""
    root: str = "/"
    """The directory of the file system that is mounted; another than ``/`` is a bind mount or a subvolume."""
    device_number: str = ""
    """``major:minor`` of its superblock: the same for all mounts of one file system."""
    number: int = 0
    """The kernel's own number of the mount."""

    @property
    def memory_backed(self) -> bool:
        return self.file_system in MEMORY_BACKED

    def option(self, name: str) -> str | None:
        """What follows ``name=`` among the options; None if it is not there."""
        for option in self.options.split(","):
            key, separator, value = option.partition("=")
            if separator and key == name:
                return value
        return None


def read_mounts() -> list[Mount]:
    """All mounts that this process sees; empty where the system does not say. Touches none of them."""
    try:
        text = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return []
    return parse_mountinfo(text)


def mount_of(path: str | os.PathLike[str]) -> Mount | None:
    """The mount that holds ``path``; None where the system does not say."""
    return find_mount(read_mounts(), os.path.realpath(path))


def parse_mountinfo(text: str) -> list[Mount]:
    """All mounts, in the kernel's order (a later one hides an earlier one at the same place)."""
    mounts = []
    for line in text.splitlines():
        left, separator, right = line.partition(" - ")
        fields, tail = left.split(" "), right.split(" ")
        if not separator or len(fields) < 6 or len(tail) < 2 or not fields[0].isdecimal():
            continue
        own, superblock = fields[5], tail[2] if len(tail) > 2 else ""
        options = list(dict.fromkeys([*own.split(","), *filter(None, superblock.split(","))]))
        mounts.append(
            Mount(
                mount_point=_unescape(fields[4]),
                file_system=tail[0],
                device=_unescape(tail[1]),
                options=_unescape(",".join(options)),
                root=_unescape(fields[3]),
                device_number=fields[2],
                number=int(fields[0]),
            )
        )
    return mounts


def find_mount(mounts: list[Mount], real_path: str) -> Mount | None:
    """Returns the last one of those with the longest mount point above ``real_path`` (absolute, no links)."""
    found = None
    for mount in mounts:
        point = mount.mount_point.rstrip("/")
        inside = real_path == mount.mount_point or real_path.startswith(f"{point}/")
        if inside and (found is None or len(mount.mount_point) >= len(found.mount_point)):
            found = mount
    return found


def _unescape(text: str) -> str:
    """The kernel writes blank, tab, newline and backslash as three octal digits."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)
