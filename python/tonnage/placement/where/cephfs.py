"""CephFS, by the kernel or by FUSE: the layout is an attribute, the OSD of an object and its host are the cluster's.

``ceph`` needs a key that may read the cluster's maps, which not every user of a mount has: then its monitors are all
that is known.
"""

from __future__ import annotations

import json
import re
from typing import Any

from tonnage.machine.storages.cephfs import layout_of, words
from tonnage.machine.tool import ToolError
from tonnage.placement.where.located import Device
from tonnage.placement.where.place import Answer, Place, several


def resolve(place: Place) -> Answer:
    """The OSD that serves a file of one object; of larger files and of directories all that are up."""
    notes: list[str] = []
    try:
        layout = _layout(place, notes)
        small = layout is not None and not place.is_directory and 0 < place.size_bytes <= int(layout["object_size"])
        devices = _of_object(place, layout["pool"], notes) if layout is not None and small else _all(place, notes)
    except ToolError as error:
        return monitors(place, (*notes, str(error)))
    except (ValueError, KeyError, TypeError) as error:
        return monitors(place, (*notes, f"ceph gave an answer that is none: {error!r}"))
    if not devices:
        return monitors(place, (*notes, "ceph osd tree: no OSD is up"))
    return Answer(
        servers=several([device.server for device in devices]),
        devices=tuple(devices),
        striped=len(devices) > 1,
        how=tuple(notes),
    )


def _layout(place: Place, notes: list[str]) -> dict[str, str] | None:
    """A directory has one if it was given one."""
    if not place.answers:
        return None
    name = "ceph.dir.layout" if place.is_directory else "ceph.file.layout"
    try:
        text = place.attribute(name) or ""
    except OSError as error:
        if not place.is_directory:
            notes.append(f"attribute {name}: {error.strerror or 'no answer'}")
        return None
    layout = layout_of(text)
    notes.append(f"attribute {name}: pool {layout.get('pool')}")
    return layout if {"pool", "object_size"} <= layout.keys() else None


def _of_object(place: Place, pool: str, notes: list[str]) -> list[Device]:
    """An object is the inode's number and the object's, in hexadecimal; its first OSD serves it."""
    found = _ask(place, "osd", "map", pool, f"{place.inode:x}.00000000")
    number = found["acting_primary"]
    host = _ask(place, "osd", "find", str(number))
    server = place.spelled(*_names(host))
    notes.append(f"ceph osd map, osd find: osd.{number} on {server}")
    return [Device(f"osd.{number}", server)]


def _names(found: dict[str, Any]) -> list[str | None]:
    """Of an OSD's host: as it calls itself, as the CRUSH map does, and its address."""
    addresses = [entry.get("addr") for entry in (found.get("addrs") or {}).get("addrvec", [])]
    address = next(
        (str(entry).rpartition(":")[0].strip("[]") for entry in [*addresses, found.get("ip")] if entry), None
    )
    return [found.get("host"), (found.get("crush_location") or {}).get("host"), address]


def _all(place: Place, notes: list[str]) -> list[Device]:
    nodes = _ask(place, "osd", "tree")["nodes"]
    host = {child: node["name"] for node in nodes if node["type"] == "host" for child in node["children"]}
    up = [node for node in nodes if node["type"] == "osd" and node.get("status", "up") == "up"]
    notes.append(f"ceph osd tree: it is spread over {len(up)} OSDs")
    return [Device(node["name"], place.spelled(host.get(node["id"]))) for node in up]


def _ask(place: Place, *question: str) -> Any:
    return json.loads(place.tool(*words(place.mount, place.timeout_s, *question)))


def monitors(place: Place, notes: tuple[str, ...]) -> Answer:
    """``mon1:6789,mon2:6789:/path``, or in newer kernels ``user@fsid.name=/path`` with ``mon_addr=a:3300/b:3300``."""
    text = place.mount.option("mon_addr") or (
        "" if "=" in place.mount.device else place.mount.device.rpartition(":/")[0]
    )
    hosts = [re.sub(r":[0-9]+$", "", part).strip("[]") for part in re.split(r"[,/]", text) if part]
    servers = several([place.spelled(host) for host in hosts])
    if servers:
        return Answer(servers=servers, striped=True, how=(*notes, "mountinfo: the monitors, in the place of the OSDs"))
    return Answer(
        striped=True,
        how=notes,
        problem=f"nobody says which hosts hold it ({notes[-1]}); "
        f'hint: give its servers holds = ["{place.mount.mount_point}"] in tonnage.toml, or get a key for `ceph`',
    )
