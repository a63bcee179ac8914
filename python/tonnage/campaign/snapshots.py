"""Which means of snapshots a target has: what ``snapshot = "auto"`` of a checkpoint stands for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tonnage.filesystems import snapshots_of, type_of
from tonnage.machine.mounts import mount_of

if TYPE_CHECKING:
    from tonnage.campaign.target import Target

_OF_SCHEMES = {"rados": "rados", "sim": "model"}


def means_of(target: Target) -> str | None:
    """The means, as a campaign file has it; None where the target has none. Of directories all must have the same."""
    if target.scheme != "path":
        return _OF_SCHEMES.get(target.scheme)
    found = {snapshots_of(kind) for kind in _file_systems(target)}
    return found.pop() if len(found) == 1 else None


def why_none(target: Target) -> str:
    """The reason, for a message."""
    kinds = sorted(set(_file_systems(target)))
    if not kinds:
        return f"{target.uri} has no snapshots"
    if len(kinds) > 1:
        return f"the directories of {target.uri} are on {', '.join(kinds)}, which have no snapshots in common"
    return f"{target.name} is on {kinds[0]}, which has no snapshots that Tonnage knows"


def _file_systems(target: Target) -> list[str]:
    mounts = (mount_of(path) for path in dict.fromkeys(target.paths))
    return ["an unknown file system" if mount is None else type_of(mount) for mount in mounts]
