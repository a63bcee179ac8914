"""sshfs: the server is in the mount's source."""

from __future__ import annotations

from tonnage.placement.where.located import Device
from tonnage.placement.where.place import Answer, Place


def resolve(place: Place) -> Answer:
    """``user@host:path``; an IPv6 address is in brackets."""
    host = place.mount.device.rpartition("@")[2].rpartition(":")[0].strip("[]")
    server = place.spelled(host)
    if server is None:
        return Answer(problem=f"the mount's source {place.mount.device!r} names no host; hint: is this an sshfs mount?")
    return Answer(
        servers=(server,), devices=(Device(place.mount.device, server),), how=(f"mountinfo: {place.mount.device}",)
    )
