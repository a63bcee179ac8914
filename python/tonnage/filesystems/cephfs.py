"""CephFS, by the kernel or by FUSE: the layout is an attribute; which OSD has an object follows from the cluster's map,
which ``ceph`` prints to users who have a key."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from typing import Any

from tonnage.filesystems.file_holders import FileShare, Holding, Looked
from tonnage.filesystems.mounted_path import Facts, Gathering, MountedPath
from tonnage.filesystems.servers import Answer, Device, ObservedPath, several
from tonnage.machine.mounts import Mount
from tonnage.machine.site_tools import ToolError
from tonnage.machine.time_limit import in_time

_MASK = 0xFFFFFFFF
_GOLDEN = 0x9E3779B9
_SHIFTS = ((13, -8, 13), (12, -16, 5), (3, -10, 15))
"""Of the three rounds of a mix: right, left (negative) and right again."""


def rjenkins(text: bytes) -> int:
    """Computes the 32 bits of the hash of a name."""
    a = b = _GOLDEN
    c = 0
    at = 0
    while len(text) - at >= 12:
        a, b, c = _mix(a + _word(text, at), b + _word(text, at + 4), c + _word(text, at + 8))
        at += 12
    rest = text[at:]
    # The lowest byte of the last word is the length's.
    last = rest[8:]
    c = c + len(text) + (int.from_bytes(last, "little") << 8)
    a, b = a + int.from_bytes(rest[:4], "little"), b + int.from_bytes(rest[4:8], "little")
    return _mix(a, b, c)[2]


def placement_group(name: str, groups: int, *, namespace: str = "") -> int:
    """The number of the group, of ``groups`` in its pool, that an object is in."""
    key = f"{namespace}\x1f{name}" if namespace else name
    return stable_mod(rjenkins(key.encode()), groups)


def stable_mod(value: int, groups: int) -> int:
    """``value`` modulo the power of two at or above ``groups``, or half of that where there is no such group."""
    mask = (1 << max(groups - 1, 0).bit_length()) - 1
    return value & mask if value & mask < groups else value & (mask >> 1)


def _word(text: bytes, at: int) -> int:
    return int.from_bytes(text[at : at + 4], "little")


def _mix(a: int, b: int, c: int) -> tuple[int, int, int]:
    a, b, c = a & _MASK, b & _MASK, c & _MASK
    for first, second, third in _SHIFTS:
        a = _stir(a - b - c, c, first)
        b = _stir(b - c - a, a, second)
        c = _stir(c - a - b, b, third)
    return a, b, c


def _stir(value: int, other: int, shift: int) -> int:
    return (value ^ (other >> shift if shift > 0 else other << -shift)) & _MASK


SNAPSHOTS = "cephfs"
"""The means, as a campaign file has it. Whether this one takes snapshots the engine says when it tries."""
_OPTIONS = {
    "caps_max": "most_capabilities",
    "rasize": "read_ahead_bytes",
    "rsize": "read_bytes",
    "wsize": "write_bytes",
}
_SIZES = ("stripe_unit", "stripe_count", "object_size")


def facts(mounted: MountedPath) -> Facts:
    """``layout`` of the directory (``pool``, ``stripe_unit``, ``stripe_count``, ``object_size`` in bytes; a directory
    without one of its own has that of the nearest above, ``layout_of``), ``client`` (``kernel`` or ``fuse``) and the
    options that limit its cache."""
    found = Gathering()
    found.facts["client"] = "kernel" if mounted.mount.file_system == "ceph" else "fuse"
    layout_found = found.ask("layout", lambda: in_time(lambda: _layout_above(mounted), timeout_s=mounted.timeout_s))
    if layout_found is not None:
        found.facts |= {"layout": layout_sizes(layout_found[1]), "layout_of": layout_found[0]}
    for option, name in _OPTIONS.items():
        if (value := mounted.mount.option(option)) and value.isdecimal():
            found.facts[name] = int(value)
    return found.as_dict()


def layout_of(text: str) -> dict[str, str]:
    """Parses ``stripe_unit=4194304 stripe_count=1 object_size=4194304 pool=data``."""
    return dict(re.findall(r"(\w+)=(\S+)", text))


def layout_sizes(text: str) -> Facts:
    """Returns the same with its numbers as integers."""
    return {key: int(value) if key in _SIZES and value.isdecimal() else value for key, value in layout_of(text).items()}


def command_line(mount: Mount, timeout_s: float, *more: str) -> list[str]:
    """Returns the command line of a question to the cluster, as the user of the mount."""
    user = mount.option("name")
    identity = ["--id", user] if user else []
    return ["ceph", *identity, "--connect-timeout", str(max(1, round(timeout_s))), *more, "--format", "json"]


def _layout_above(mounted: MountedPath) -> tuple[str, str]:
    """The directory that gives new files their layout, and that layout."""
    at = mounted.path
    while True:
        try:
            return at, os.getxattr(at, "ceph.dir.layout").decode("ascii", "replace")
        except OSError:
            if at == mounted.mount.mount_point or at == "/":
                raise
            at = os.path.dirname(at)  # noqa: PTH120


def holders(mounted: MountedPath, files: Sequence[tuple[str, int]]) -> Looked:
    """Returns the OSDs of every object of each file: from two questions to the cluster, whatever the number of
    files."""

    def ask() -> list[list[Any]]:
        return [[os.stat(path).st_ino, os.getxattr(path, "ceph.file.layout").decode("ascii")] for path, _ in files]  # noqa: PTH116

    answers = in_time(ask, timeout_s=mounted.timeout_s)
    layouts = [layout_sizes(text) for _, text in answers]
    maps = {pool: _acting(mounted, pool) for pool in {layout["pool"] for layout in layouts}}
    held: dict[str, Holding] = {}
    for (path, size), (inode, _), layout in zip(files, answers, layouts, strict=True):
        groups, acting = maps[layout["pool"]]
        parts: list[FileShare] = []
        for number, length in objects(size, layout):
            group = placement_group(f"{inode:x}.{number:08x}", groups, namespace=layout.get("pool_namespace", ""))
            if not (osds := acting.get(group)):
                raise ValueError(f"placement group {group:x} of pool {layout['pool']} is on no OSD now")
            parts += [FileShare(f"osd.{osd}", length, copy) for copy, osd in enumerate(osds)]
        if parts:
            held[path] = Holding(tuple(parts))
    return Looked(holdings=held, devices=_osds(mounted), how=("ceph.file.layout, ceph pg ls-by-pool: acting OSDs",))


def objects(size: int, layout: Facts) -> Iterator[tuple[int, int]]:
    """(number, bytes) of each object of a file: ``stripe_count`` objects take turns of ``stripe_unit`` until each has
    ``object_size``."""
    unit, count, whole = (layout[name] for name in _SIZES)
    for begin in range(0, size, whole * count):
        length = min(size - begin, whole * count)
        rows, rest = divmod(length, unit * count)
        for column in range(count):
            held = rows * unit + min(max(rest - column * unit, 0), unit)
            if held:
                yield begin // whole + column, held


def _acting(mounted: MountedPath, pool: str) -> tuple[int, dict[int, list[int]]]:
    """How many placement groups a pool has, and the OSDs of each, the primary first: none of one that no OSD serves, or
    of which the cluster's manager has not heard yet. ToolError, ValueError."""
    listing = _ask(mounted, "pg", "ls-by-pool", pool)
    rows = listing["pg_stats"] if isinstance(listing, dict) else listing
    acting: dict[int, list[int]] = {}
    for row in rows:
        primary = row["acting_primary"]
        others = [osd for osd in row["acting"] if osd != primary and 0 <= osd < 1 << 30]
        acting[int(row["pgid"].partition(".")[2], 16)] = [primary, *others] if primary >= 0 else []
    if not acting:
        raise ValueError(f"the cluster names no placement groups of pool {pool}")
    return len(acting), acting


def _osds(mounted: MountedPath) -> tuple[tuple[str, str | None], ...]:
    return tuple((node["name"], host) for node, host in _osd_hosts(mounted))


def _osd_hosts(mounted: MountedPath) -> list[tuple[Facts, str | None]]:
    """Each OSD of the cluster, with the host that it is on."""
    nodes = _ask(mounted, "osd", "tree")["nodes"]
    host = {child: node["name"] for node in nodes if node["type"] == "host" for child in node["children"]}
    return [(node, host.get(node["id"])) for node in nodes if node["type"] == "osd"]


def _ask(mounted: MountedPath, *question: str) -> Any:
    return json.loads(mounted.tool(*command_line(mounted.mount, mounted.timeout_s, *question)))


def served_by(observed: ObservedPath) -> Answer:
    """The OSD that serves a file of one object; of larger files and of directories all that are up."""
    notes: list[str] = []
    try:
        layout = _layout(observed, notes)
        small = (
            layout is not None and not observed.is_directory and 0 < observed.size_bytes <= int(layout["object_size"])
        )
        devices = _of_object(observed, layout["pool"], notes) if layout is not None and small else _all(observed, notes)
    except ToolError as error:
        return monitors(observed, (*notes, str(error)))
    except (ValueError, KeyError, TypeError) as error:
        return monitors(observed, (*notes, f"ceph gave an answer that is none: {error!r}"))
    if not devices:
        return monitors(observed, (*notes, "ceph osd tree: no OSD is up"))
    return Answer(
        servers=several([device.server for device in devices]),
        devices=tuple(devices),
        striped=len(devices) > 1,
        how=tuple(notes),
    )


def _layout(observed: ObservedPath, notes: list[str]) -> dict[str, str] | None:
    """A directory has one if it was given one."""
    if not observed.answers:
        return None
    name = "ceph.dir.layout" if observed.is_directory else "ceph.file.layout"
    try:
        text = observed.attribute(name) or ""
    except OSError as error:
        if not observed.is_directory:
            notes.append(f"attribute {name}: {error.strerror or 'no answer'}")
        return None
    layout = layout_of(text)
    notes.append(f"attribute {name}: pool {layout.get('pool')}")
    return layout if {"pool", "object_size"} <= layout.keys() else None


def _of_object(observed: ObservedPath, pool: str, notes: list[str]) -> list[Device]:
    """An object is the inode's number and the object's, in hexadecimal; its first OSD serves it."""
    found = _ask(observed, "osd", "map", pool, f"{observed.inode:x}.00000000")
    number = found["acting_primary"]
    host = _ask(observed, "osd", "find", str(number))
    server = observed.spelled(*_names(host))
    notes.append(f"ceph osd map, osd find: osd.{number} on {server}")
    return [Device(f"osd.{number}", server)]


def _names(found: Facts) -> list[str | None]:
    """Of an OSD's host: as it calls itself, as the CRUSH map does, and its address."""
    addresses = [entry.get("addr") for entry in (found.get("addrs") or {}).get("addrvec", [])]
    address = next(
        (str(entry).rpartition(":")[0].strip("[]") for entry in [*addresses, found.get("ip")] if entry), None
    )
    return [found.get("host"), (found.get("crush_location") or {}).get("host"), address]


def _all(observed: ObservedPath, notes: list[str]) -> list[Device]:
    up = [(node, host) for node, host in _osd_hosts(observed) if node.get("status", "up") == "up"]
    notes.append(f"ceph osd tree: it is spread over {len(up)} OSDs")
    return [Device(node["name"], observed.spelled(host)) for node, host in up]


def monitors(observed: ObservedPath, notes: tuple[str, ...]) -> Answer:
    """Parses ``mon1:6789,mon2:6789:/path``, or in newer kernels ``user@fsid.name=/path`` with
    ``mon_addr=a:3300/b:3300``."""
    text = observed.mount.option("mon_addr") or (
        "" if "=" in observed.mount.device else observed.mount.device.rpartition(":/")[0]
    )
    hosts = [re.sub(r":[0-9]+$", "", part).strip("[]") for part in re.split(r"[,/]", text) if part]
    servers = several([observed.spelled(host) for host in hosts])
    if servers:
        return Answer(servers=servers, striped=True, how=(*notes, "mountinfo: the monitors, in the place of the OSDs"))
    return Answer(
        striped=True,
        how=notes,
        problem=f"nobody says which hosts hold it ({notes[-1]}); "
        f'hint: give its servers holds = ["{observed.mount.mount_point}"] in tonnage.toml, or get a key for `ceph`',
    )
