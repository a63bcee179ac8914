"""Any other file system: its server is the host that its source or its options name, if any."""

from __future__ import annotations

import re

from tonnage.filesystems.servers import Answer, Device, ObservedPath

_SOURCES = (
    re.compile(r"//(?P<host>[^/]+)/"),  # cifs: //server/share
    re.compile(r"\w+://(?:[^@/]*@)?(?P<host>\[[^]]+\]|[^/:]+)"),  # pvfs2: tcp://host:3334/fs
    re.compile(
        r"(?:[^@/:]+[@#])?(?P<host>\[[^]]+\]|[A-Za-z0-9][A-Za-z0-9.-]*)(?::[0-9]+)?:?/"
    ),  # host:/path, mfs#host:9421/
)


def served_by(observed: ObservedPath) -> Answer:
    """The host that ``addr=`` or the source names."""
    source = observed.mount.device
    match = next((found for pattern in _SOURCES if (found := pattern.match(source))), None)
    host = match["host"].strip("[]") if match else None
    address = observed.mount.option("addr") or observed.mount.option("ip")
    server = observed.spelled(host, address)
    if server is None:
        return Answer(
            problem=f"{observed.mount.file_system} at {observed.mount.mount_point} does not say its servers; "
            f'hint: give its server holds = ["{source}"] or ["{observed.mount.mount_point}"] in tonnage.toml'
        )
    address_text = f" at {address}" if address and address != host else ""
    return Answer(servers=(server,), devices=(Device(source, server),), how=(f"mountinfo: {source}{address_text}",))
