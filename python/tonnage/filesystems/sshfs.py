"""sshfs: the server is in the mount's source."""

from __future__ import annotations

from tonnage.filesystems.servers import Answer, Device, ObservedPath


def served_by(observed: ObservedPath) -> Answer:
    """``user@host:path``; an IPv6 address is in brackets."""
    host = observed.mount.device.rpartition("@")[2].rpartition(":")[0].strip("[]")
    server = observed.spelled(host)
    if server is None:
        return Answer(
            problem=f"the mount's source {observed.mount.device!r} names no host; hint: is this an sshfs mount?"
        )
    return Answer(
        servers=(server,),
        devices=(Device(observed.mount.device, server),),
        how=(f"mountinfo: {observed.mount.device}",),
    )
