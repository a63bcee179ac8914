"""XFS: its geometry by the system call that ``xfs_info`` uses, open to all who may open the directory."""

from __future__ import annotations

import fcntl
import os
import struct

from tonnage.filesystems.local import add_device, holders
from tonnage.filesystems.mounted_path import Facts, Gathering, MountedPath
from tonnage.machine.time_limit import in_time

__all__ = ["facts", "holders"]
SNAPSHOTS = "reflink"
"""The means, as a campaign file has it. Whether this one takes snapshots the engine says when it tries."""
_GEOMETRY = 0x80705864
"""``XFS_IOC_FSGEOMETRY_V1`` (xfs_fs.h): ``_IOR('X', 100, struct xfs_fsop_geom_v1)``, 112 bytes."""
_FIELDS = "=8I4Q16s7I4x"
_REFLINK, _RMAP, _BIGTIME = 1 << 20, 1 << 19, 1 << 21


def facts(mounted: MountedPath) -> Facts:
    """Returns ``block_bytes``, ``sector_bytes``, ``allocation_groups``, ``stripe_unit_bytes`` and
    ``stripe_width_bytes`` (of a RAID below, 0 without), ``log_bytes``, ``log_internal``, ``reflink``, ``rmap``."""
    found = Gathering()
    add_device(mounted, found)
    geometry = found.ask("geometry", lambda: in_time(lambda: _ask(mounted.path), timeout_s=mounted.timeout_s))
    if geometry is not None:
        del found.facts["geometry"]
        found.facts |= geometry
    return found.as_dict()


def _ask(path: str) -> Facts:
    directory = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return read_geometry(fcntl.ioctl(directory, _GEOMETRY, bytes(struct.calcsize(_FIELDS))))
    finally:
        os.close(directory)


def read_geometry(data: bytes) -> Facts:
    """Of ``struct xfs_fsop_geom_v1``; ValueError where it is not that long."""
    if len(data) != struct.calcsize(_FIELDS):
        raise ValueError(f"a geometry of {len(data)} bytes")
    (block, _, _, groups, log_blocks, sector, _, _, _, _, _, log_start, _, unit, width, _, flags, *_) = struct.unpack(
        _FIELDS, data
    )
    return {
        "block_bytes": block,
        "sector_bytes": sector,
        "allocation_groups": groups,
        "stripe_unit_bytes": unit * block,
        "stripe_width_bytes": width * block,
        "log_bytes": log_blocks * block,
        "log_internal": log_start != 0,
        "reflink": bool(flags & _REFLINK),
        "rmap": bool(flags & _RMAP),
        "big_time": bool(flags & _BIGTIME),
    }
