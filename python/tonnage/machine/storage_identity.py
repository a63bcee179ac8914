"""A storage's name that stays: what a measured load line belongs to.

A network file system has the same name on every host: ``nfs:server:/export``, ``lustre:scratch``, ``ceph:<fsid>``.
What is local has its host in it: ``local:host:<UUID>``. Two paths in one file system have one name, over bind mounts
too.
"""

from __future__ import annotations

import os
import platform
import re
from contextlib import suppress
from pathlib import Path

from tonnage.machine.block_devices import backing_file, block_name, block_number, file_system_uuid
from tonnage.machine.mounts import Mount, find_mount, read_mounts
from tonnage.machine.time_limit import in_time

_XATTR_LIMIT_S = 2.0
_MOST_LAYERS = 4
"""Overlay on a loop device on an overlay… ends somewhere."""
_KIND = {"nfs4": "nfs", "smb3": "cifs", "fuse.ceph-fuse": "ceph", "fuse.ceph": "ceph"}
_ANONYMOUS = frozenset({"zfs", "btrfs", "bcachefs"})
"""On this host's devices, though their device number is none of a block device."""


def identity(mount: Mount, path: str) -> str:
    """The identity of the storage that ``mount`` is of. Only CephFS is asked for its own, at ``path``, within 2 s."""
    return _identity(mount, path, read_mounts(), _MOST_LAYERS)


def lustre_name(device: str) -> str | None:
    """Returns the file system's name, ``scratch`` of ``10.0.0.1@tcp:10.0.0.2@tcp:/scratch/part``."""
    match = re.search(r":/([^/]+)", device)
    return match[1] if match else None


def beegfs_management(mount: Mount) -> str | None:
    """The management host of the client's configuration file that a BeeGFS mount names."""
    if host := mount.option("sysMgmtdHost"):
        return host
    with suppress(OSError):
        text = Path(mount.option("cfgFile") or "/etc/beegfs/beegfs-client.conf").read_text(errors="replace")
        if match := re.search(r"^\s*sysMgmtdHost\s*=\s*(\S+)", text, re.MULTILINE):
            return match[1]
    return None


def is_local(mount: Mount) -> bool:
    """Whether it is on a block device or in the memory of this host, as far as the mount table says."""
    return mount.memory_backed or mount.file_system in _ANONYMOUS or block_name(block_number(mount)) is not None


def _identity(mount: Mount, path: str, mounts: list[Mount], layers: int) -> str:
    below = _below(mount) if layers else None
    lower = find_mount([other for other in mounts if other.number != mount.number], below) if below else None
    if below is not None and lower is not None:
        found = _identity(lower, below, mounts, layers - 1)
        return found if mount.file_system == "overlay" else f"{found}:{below}"
    whole = _whole(mount, mounts)
    kind = _KIND.get(mount.file_system, mount.file_system)
    if kind == "ceph":
        return f"ceph:{_cluster(whole, path)}"
    if kind == "lustre":
        return f"lustre:{lustre_name(mount.device) or mount.device}"
    if kind == "beegfs":
        return f"beegfs:{beegfs_management(mount) or mount.device}"
    if kind == "gpfs":
        return f"gpfs:{mount.option('dev') or mount.device.removeprefix('/dev/')}"
    if kind == "nfs":
        host, separator, export = whole.device.partition(":/")
        return f"nfs:{host.lower()}{separator}{export}"
    if kind == "fuse.sshfs":
        return f"sshfs:{mount.device.rpartition('@')[2]}"
    host = platform.node()
    block = block_name(block_number(mount))
    if mount.file_system in _ANONYMOUS or block:
        return f"local:{host}:{file_system_uuid(mount) or block or mount.device}"
    if is_local(mount) or kind == "overlay":
        return f"local:{host}:{kind}:{whole.mount_point}"
    if kind.startswith("fuse") and not re.search("[:/]", whole.device):
        # A program's name, which does not identify the storage.
        return f"{kind.removeprefix('fuse.')}:{host}:{whole.mount_point}"
    return f"{kind.removeprefix('fuse.')}:{whole.device}"


def _below(mount: Mount) -> str | None:
    """Where the data of an overlay, or the image behind a loop device, is in turn."""
    if mount.file_system == "overlay":
        upper = mount.option("upperdir")
        return upper if upper and upper.startswith("/") else None
    return backing_file(block_number(mount))


def _whole(mount: Mount, mounts: list[Mount]) -> Mount:
    """Of the mounts of the same file system the one that shows most of it: bind mounts show parts. NFS shows the part
    in its source, all others in their root."""
    same = [other for other in mounts if other.device_number == mount.device_number and other.device_number]
    ordered = sorted(same, key=lambda other: (len(other.device), len(other.root)))
    return ordered[0] if ordered and ordered[0].file_system == mount.file_system else mount


def _cluster(mount: Mount, path: str) -> str:
    """The cluster's own identifier; where it does not tell, the monitors (or file system) that the mount names."""
    with suppress(OSError):
        return in_time(
            lambda: os.getxattr(path, "ceph.cluster_fsid").decode("ascii", "replace"), timeout_s=_XATTR_LIMIT_S
        )
    return re.sub(r":?/.*$", "", mount.device)
