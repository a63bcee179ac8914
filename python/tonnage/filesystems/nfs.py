"""NFS, v3 and v4: what client and server agreed on, and the server, are in the mount's source and options."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from tonnage.filesystems.file_holders import Looked, whole
from tonnage.filesystems.mounted_path import Facts, Gathering, MountedPath
from tonnage.filesystems.servers import Answer, Device, ObservedPath
from tonnage.machine.mountstats import read_mountstats

_NUMBERS = {
    "rsize": "read_bytes",
    "wsize": "write_bytes",
    "acregmin": "attributes_file_min_s",
    "acregmax": "attributes_file_max_s",
    "acdirmin": "attributes_directory_min_s",
    "acdirmax": "attributes_directory_max_s",
    "nconnect": "connections",
    "timeo": "timeout_tenths_s",
    "retrans": "retransmissions",
}
_WORDS = {
    "vers": "version",
    "proto": "transport",
    "sec": "security",
    "local_lock": "local_lock",
    "lookupcache": "lookup_cache",
}


def facts(mounted: MountedPath) -> Facts:
    """``version``, ``transport``, ``read_bytes`` and ``write_bytes`` (the most in one call), how long attributes are
    believed, ``hard``, ``synchronous``, ``attributes_cached`` and, where the kernel shows it, the mount's ``age_s``."""
    found = Gathering()
    # The kernel's own statistics have options that the mount table leaves out, such as those of the attribute cache.
    shown = found.ask("mountstats", lambda: _shown(mounted))
    options = mounted.mount.options
    if shown is not None:
        del found.facts["mountstats"]
        options = f"{options},{shown.options}"
        found.facts["age_s"] = shown.age_s
    found.facts |= of_options(options)
    return found.as_dict()


def of_options(options: str) -> Facts:
    """Facts in ``rw,vers=4.2,rsize=1048576,hard,proto=tcp,timeo=600``; a name that comes twice says the same."""
    words = options.split(",")
    values = {key: value for key, separator, value in (word.partition("=") for word in words) if separator}
    found: Facts = {name: values[key] for key, name in _WORDS.items() if key in values}
    found |= {
        name: int(values[key]) for key, name in _NUMBERS.items() if re.fullmatch(r"[0-9]{1,18}", values.get(key, ""))
    }
    return found | {
        "hard": "soft" not in words and "softerr" not in words,
        "synchronous": "sync" in words,
        "attributes_cached": "noac" not in words,
    }


def holders(mounted: MountedPath, files: Sequence[tuple[str, int]]) -> Looked:
    """The server shows nothing below its export."""
    source = mounted.mount.device
    host = _host(source)
    held = {path: whole([source], size) for path, size in files}
    return Looked(holdings=held, devices=((source, host),), how=(f"mountinfo: {source}",))


def _shown(mounted: MountedPath) -> Any:
    found = read_mountstats().get(mounted.mount.mount_point)
    if found is None:
        raise ValueError("the kernel keeps no statistics of this mount")
    return found


def served_by(observed: ObservedPath) -> Answer:
    """``server:/export`` with ``addr=``; the site file's name for either counts."""
    host, address = _host(observed.mount.device), observed.mount.option("addr")
    server = observed.spelled(host, address)
    if server is None:
        return Answer(
            problem=f"the mount table names no server in {observed.mount.device!r}; hint: is this an NFS mount?"
        )
    address_text = f" at {address}" if address and address != host else ""
    return Answer(
        servers=(server,),
        devices=(Device(observed.mount.device, server),),
        how=(f"mountinfo: {observed.mount.device}{address_text}",),
    )


def _host(source: str) -> str | None:
    """Of ``host:/export`` or ``[fe80::1]:/export``."""
    host = source.partition(":/")[0]
    return host.strip("[]") if ":/" in source and host else None
