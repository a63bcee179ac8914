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

    @property
    def memory_backed(self) -> bool:
        return self.file_system in MEMORY_BACKED


def mount_of(path: str | os.PathLike[str]) -> Mount | None:
    """The mount that holds ``path``; None where the system does not say."""
    try:
        text = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return None
    return find_mount(parse_mountinfo(text), os.path.realpath(path))


def parse_mountinfo(text: str) -> list[Mount]:
    """All mounts, in the kernel's order (a later one hides an earlier one at the same place)."""
    mounts = []
    for line in text.splitlines():
        left, separator, right = line.partition(" - ")
        fields, tail = left.split(" "), right.split(" ")
        if not separator or len(fields) < 6 or len(tail) < 2:
            continue
        own, superblock = fields[5], tail[2] if len(tail) > 2 else ""
        options = list(dict.fromkeys([*own.split(","), *filter(None, superblock.split(","))]))
        mounts.append(Mount(_unescape(fields[4]), tail[0], _unescape(tail[1]), _unescape(",".join(options))))
    return mounts


def find_mount(mounts: list[Mount], real_path: str) -> Mount | None:
    """The last one of those with the longest mount point above ``real_path`` (absolute, no links)."""
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
