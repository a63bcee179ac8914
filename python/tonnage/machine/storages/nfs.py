"""A mounted NFS export: what client and server agreed on is in the mount's options."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from tonnage.machine.mountstats import read_mountstats
from tonnage.machine.storages.held import Looked, whole
from tonnage.machine.storages.spot import Gathering, Spot

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


def facts(spot: Spot) -> dict[str, Any]:
    """``version``, ``transport``, ``read_bytes`` and ``write_bytes`` (the most in one call), how long attributes are
    believed, ``hard``, ``synchronous``, ``attributes_cached`` and, where the kernel shows it, the mount's ``age_s``."""
    found = Gathering()
    # The kernel's own statistics have options that the mount table leaves out, such as those of the attribute cache.
    shown = found.ask("mountstats", lambda: _shown(spot))
    options = spot.mount.options
    if shown is not None:
        del found.facts["mountstats"]
        options = f"{options},{shown.options}"
        found.facts["age_s"] = shown.age_s
    found.facts |= of_options(options)
    return found.as_dict()


def of_options(options: str) -> dict[str, Any]:
    """Facts in ``rw,vers=4.2,rsize=1048576,hard,proto=tcp,timeo=600``; a name that comes twice says the same."""
    words = options.split(",")
    values = {key: value for key, separator, value in (word.partition("=") for word in words) if separator}
    found: dict[str, Any] = {name: values[key] for key, name in _WORDS.items() if key in values}
    found |= {
        name: int(values[key]) for key, name in _NUMBERS.items() if re.fullmatch(r"[0-9]{1,18}", values.get(key, ""))
    }
    return found | {
        "hard": "soft" not in words and "softerr" not in words,
        "synchronous": "sync" in words,
        "attributes_cached": "noac" not in words,
    }


def holders(spot: Spot, files: Sequence[tuple[str, int]]) -> Looked:
    """The server shows nothing below its export."""
    source = spot.mount.device
    host = source.partition(":/")[0].strip("[]") if ":/" in source else None
    held = {path: whole([source], size) for path, size in files}
    return Looked(holdings=held, devices=((source, host),), how=(f"mountinfo: {source}",))


def _shown(spot: Spot) -> Any:
    found = read_mountstats().get(spot.mount.mount_point)
    if found is None:
        raise ValueError("the kernel keeps no statistics of this mount")
    return found
