"""NFS, v3 and v4: the server is in the mount's source and, as an address, in its options."""

from __future__ import annotations

from tonnage.placement.where.located import Device
from tonnage.placement.where.place import Answer, Place


def resolve(place: Place) -> Answer:
    """``server:/export`` with ``addr=``; the site file's name for either counts."""
    host, address = _host(place.mount.device), place.mount.option("addr")
    server = place.spelled(host, address)
    if server is None:
        return Answer(problem=f"the mount table names no server in {place.mount.device!r}; hint: is this an NFS mount?")
    told = f" at {address}" if address and address != host else ""
    return Answer(
        servers=(server,),
        devices=(Device(place.mount.device, server),),
        how=(f"mountinfo: {place.mount.device}{told}",),
    )


def _host(source: str) -> str | None:
    """Of ``host:/export`` or ``[fe80::1]:/export``."""
    host = source.partition(":/")[0]
    return host.strip("[]") if ":/" in source and host else None
