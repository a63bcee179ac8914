"""Whether a run that goes on would measure the storage that it began with."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tonnage.campaign.target import Target
from tonnage.errors import RequestError
from tonnage.machine.identity import identity
from tonnage.machine.mounts import Mount, mount_of

_KEPT_IDS = frozenset({"ext2", "ext3", "ext4", "btrfs"})
"""File systems whose ``f_fsid`` is made of their UUID; that of others is a device's number, or new with each mount."""
_BY_UUID = re.compile(r"local:[^:]*:[0-9A-Fa-f]{4,}-[0-9A-Fa-f-]+(:.*)?")
"""An identity that a restart of the host does not change; the names of block devices may."""


def storage_of(path: Path, mount: Mount | None) -> dict[str, str | None]:
    """What says of a directory of the target, also after a restart, which storage it is on."""
    return {
        "real_path": os.path.realpath(path),
        "identity": None if mount is None else identity(mount, str(path)),
        "file_system_id": _file_system_id(path, mount),
    }


def _file_system_id(path: Path, mount: Mount | None) -> str | None:
    if mount is None or mount.file_system not in _KEPT_IDS:
        return None
    try:
        return f"{os.statvfs(path).f_fsid & 0xFFFF_FFFF_FFFF_FFFF:016x}"
    except OSError:
        return None


def check_same_target(manifest: Mapping[str, Any], target: Target, *, by_job: bool) -> None:
    """RequestError where a directory of the target is on another storage than when the run was begun, or is another
    directory. What an older version did not keep is not compared.

    A scheduler's job (``by_job``), or several processes, may go on with it on other hosts than it was begun on: those
    have the same storage only where that is shared.
    """
    known = (manifest.get("target") or {}).get("directories") or []
    if not isinstance(known, list) or len(known) != len(target.paths):
        return
    hostname = (manifest.get("host") or {}).get("hostname")
    elsewhere = (by_job or bool(manifest.get("launcher"))) and hostname != platform.node()
    for path, then in zip(target.paths, known, strict=True):
        if not isinstance(then, dict):
            continue
        mount = mount_of(path)
        now = {"file_system": mount.file_system if mount else None, **storage_of(path, mount)}
        for what in _differences(then, now, elsewhere=elsewhere):
            raise RequestError(
                f"{path} is not what the run was begun on: {what}; "
                "hint: make it lead there again, or begin another run: one run measures one storage"
            )


def _differences(then: Mapping[str, Any], now: Mapping[str, str | None], *, elsewhere: bool) -> Iterator[str]:
    kept = {key: (then.get(key), now[key]) for key in now if isinstance(then.get(key), str)}
    before, here = kept.get("identity", ("", ""))
    if elsewhere and not (before and _is_shared(before)):
        return
    kinds = kept.get("file_system", ("", ""))
    paths = kept.get("real_path", ("", ""))
    if paths[0] != paths[1] and not elsewhere:
        yield f"it leads to {paths[1]}, and led to {paths[0]}"
    if kinds[0] != kinds[1] and not elsewhere:
        yield f"its file system is {kinds[1] or 'of an unknown type'}, and was {kinds[0]}"
    ids = kept.get("file_system_id", ("", ""))
    if before and _stays(before) != _stays(here or ""):
        yield f"its storage is {here or 'unknown'}, and was {before}"
    if ids[0] != ids[1] and not elsewhere:
        yield f"its file system is another {kinds[0]} (identifier {ids[1] or 'unknown'}, and was {ids[0]})"


def _is_shared(name: str) -> bool:
    return not name.startswith("local:")


def _stays(name: str) -> str:
    """The part of an identity that a restart of the host does not change."""
    if _is_shared(name) or _BY_UUID.fullmatch(name):
        return name
    return ":".join(name.split(":")[:2])
