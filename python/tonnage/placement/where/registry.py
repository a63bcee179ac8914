"""The resolvers there are, by file-system type as the mount table prints it; each is imported when it is needed."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from tonnage.machine.identity import is_local
from tonnage.machine.mounts import Mount
from tonnage.placement.where.place import Answer, Place

Resolver = Callable[[Place], Answer]

_RESOLVERS = {
    "nfs": "nfs",
    "nfs4": "nfs",
    "lustre": "lustre",
    "beegfs": "beegfs",
    "ceph": "cephfs",
    "fuse.ceph": "cephfs",
    "fuse.ceph-fuse": "cephfs",
    "gpfs": "gpfs",
    "fuse.glusterfs": "glusterfs",
    "fuse.sshfs": "sshfs",
    "fuse.s3fs": "objects",
    "fuse.goofys": "objects",
    "fuse.rclone": "objects",
    "fuse.mount-s3": "objects",
    "overlay": "overlay",
    "fuse.fuse-overlayfs": "overlay",
    "autofs": "autofs",
}
_SOURCES = {"mountpoint-s3": "objects", "s3fs": "objects"}
"""What calls itself plain ``fuse``, by its source."""


def resolver(mount: Mount) -> Resolver:
    """Who knows the servers of such a mount. Without a resolver: local, or a host in its source, or nobody."""
    named = _RESOLVERS.get(mount.file_system) or (_SOURCES.get(mount.device) if mount.file_system == "fuse" else None)
    name = named or ("local" if is_local(mount) else "remote")
    found: Resolver = import_module(f"tonnage.placement.where.{name}").resolve
    return found
