"""A file system that is mounted as ``fuse.examplefs`` from ``HOST:/VOLUME``."""

from __future__ import annotations

from typing import Any

from tonnage.filesystems import Answer, Device, ObservedPath
from tonnage.filesystems.mounted_path import MountedPath


def facts(mounted: MountedPath) -> dict[str, Any]:
    """For the manifest of a run. What nobody says, and why, belongs under ``unknown``."""
    return {"volume": mounted.mount.device.partition(":")[2], "unknown": {}}


def served_by(observed: ObservedPath) -> Answer:
    """For placement. ``spelled`` takes the name that the site file knows."""
    host = observed.mount.device.partition(":")[0]
    server = observed.spelled(host)
    if server is None:
        return Answer(problem=f"{observed.mount.device!r} names no host; hint: mount it as HOST:/VOLUME")
    return Answer(
        servers=(server,),
        devices=(Device(observed.mount.device, server),),
        how=(f"mountinfo: {observed.mount.device}",),
    )
