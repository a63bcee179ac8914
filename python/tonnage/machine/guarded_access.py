"""Accesses files in a child process where a server could block the access, and in this process otherwise."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

from tonnage.machine.mounts import Mount, find_mount, is_local, read_mounts
from tonnage.machine.time_limit import in_time

_T = TypeVar("_T")
_MOST_LINKS = 40
"""As many as the kernel follows."""


def carefully(call: Callable[[], _T], paths: Iterable[str | os.PathLike[str]], *, timeout_s: float) -> _T:
    """What ``call`` returns, which looks at absolute ``paths`` and above them.

    Where each of them stays on this host's own devices and memory, also through links, it is called right here; else as
    by :func:`tonnage.machine.time_limit.in_time`, with its errors.
    """
    mounts = read_mounts()
    if all(stays_here(mounts, os.fspath(path)) for path in paths):
        return call()
    return in_time(call, timeout_s=timeout_s)


def stays_here(mounts: list[Mount], path: str) -> bool:
    """Whether resolving an absolute path, as far as it exists, contacts no server."""
    if not path.startswith("/"):
        return False
    at, ahead, links = Path("/"), list(reversed(Path(path).parts)), 0
    known: set[Mount] = set()
    while ahead:
        part = ahead.pop()
        at = Path("/") if part == "/" else at.parent if part == ".." else at / part
        mount = find_mount(mounts, str(at))
        if mount is None:
            return False
        if mount not in known:
            if mount.file_system != "overlay" and not is_local(mount):
                return False
            known.add(mount)
        try:
            link = at.readlink()
        except OSError:
            continue  # no link, or not there
        links += 1
        if links > _MOST_LINKS:
            return False
        at = at.parent
        ahead.extend(reversed(link.parts))
    return True
