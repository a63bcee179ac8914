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
    "overlay": "overlay",
    "autofs": "autofs",
}


def resolver(mount: Mount) -> Resolver:
    """Who knows the servers of such a mount. Without a resolver: local, or a host in its source, or nobody."""
    name = _RESOLVERS.get(mount.file_system) or ("local" if is_local(mount) else "remote")
    found: Resolver = import_module(f"tonnage.placement.where.{name}").resolve
    return found
