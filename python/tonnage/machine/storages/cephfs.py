"""CephFS, by the kernel or by FUSE: the layout is an attribute; which OSD has an object follows from the cluster's map,
which ``ceph`` tells to those who have a key."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from typing import Any

from tonnage.machine.bounded import in_time
from tonnage.machine.mounts import Mount
from tonnage.machine.storages.ceph_hash import placement_group
from tonnage.machine.storages.held import Holding, Looked, Part
from tonnage.machine.storages.spot import Gathering, Spot

_OPTIONS = {
    "caps_max": "most_capabilities",
    "rasize": "read_ahead_bytes",
    "rsize": "read_bytes",
    "wsize": "write_bytes",
}
_SIZES = ("stripe_unit", "stripe_count", "object_size")


def facts(spot: Spot) -> dict[str, Any]:
    """``layout`` of the directory (``pool``, ``stripe_unit``, ``stripe_count``, ``object_size`` in bytes; a directory
    without one of its own has that of the nearest above, ``layout_of``), ``client`` (``kernel`` or ``fuse``) and the
    options that limit its cache."""
    found = Gathering()
    found.facts["client"] = "kernel" if spot.mount.file_system == "ceph" else "fuse"
    told = found.ask("layout", lambda: in_time(lambda: _layout_above(spot), timeout_s=spot.timeout_s))
    if told is not None:
        found.facts |= {"layout": layout_sizes(told[1]), "layout_of": told[0]}
    for option, name in _OPTIONS.items():
        if (value := spot.mount.option(option)) and value.isdecimal():
            found.facts[name] = int(value)
    return found.as_dict()


def layout_of(text: str) -> dict[str, str]:
    """``stripe_unit=4194304 stripe_count=1 object_size=4194304 pool=data``."""
    return dict(re.findall(r"(\w+)=(\S+)", text))


def layout_sizes(text: str) -> dict[str, Any]:
    """The same with its numbers as such."""
    return {key: int(value) if key in _SIZES and value.isdecimal() else value for key, value in layout_of(text).items()}


def words(mount: Mount, timeout_s: float, *more: str) -> list[str]:
    """The command line of a question to the cluster, as the user of the mount."""
    user = mount.option("name")
    identity = ["--id", user] if user else []
    return ["ceph", *identity, "--connect-timeout", str(max(1, round(timeout_s))), *more, "--format", "json"]


def _layout_above(spot: Spot) -> tuple[str, str]:
    """The directory that gives new files their layout, and that layout."""
    at = spot.path
    while True:
        try:
            return at, os.getxattr(at, "ceph.dir.layout").decode("ascii", "replace")
        except OSError:
            if at == spot.mount.mount_point or at == "/":
                raise
            at = os.path.dirname(at)  # noqa: PTH120


def holders(spot: Spot, files: Sequence[tuple[str, int]]) -> Looked:
    """The OSDs of every object of each file: from two questions to the cluster, whatever the number of files."""

    def ask() -> list[list[Any]]:
        return [[os.stat(path).st_ino, os.getxattr(path, "ceph.file.layout").decode("ascii")] for path, _ in files]  # noqa: PTH116

    told = in_time(ask, timeout_s=spot.timeout_s)
    layouts = [layout_sizes(text) for _, text in told]
    maps = {pool: _acting(spot, pool) for pool in {layout["pool"] for layout in layouts}}
    held: dict[str, Holding] = {}
    for (path, size), (inode, _), layout in zip(files, told, layouts, strict=True):
        groups, acting = maps[layout["pool"]]
        parts: list[Part] = []
        for number, length in objects(size, layout):
            group = placement_group(f"{inode:x}.{number:08x}", groups, namespace=layout.get("pool_namespace", ""))
            if not (osds := acting.get(group)):
                raise ValueError(f"placement group {group:x} of pool {layout['pool']} is on no OSD now")
            parts += [Part(f"osd.{osd}", length, copy) for copy, osd in enumerate(osds)]
        if parts:
            held[path] = Holding(tuple(parts))
    return Looked(holdings=held, devices=_osds(spot), how=("ceph.file.layout, ceph pg ls-by-pool: acting OSDs",))


def objects(size: int, layout: dict[str, Any]) -> Iterator[tuple[int, int]]:
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


def _acting(spot: Spot, pool: str) -> tuple[int, dict[int, list[int]]]:
    """How many placement groups a pool has, and the OSDs of each, the primary first: none of one that no OSD serves, or
    of which the cluster's manager has not heard yet. ToolError, ValueError."""
    told = _ask(spot, "pg", "ls-by-pool", pool)
    rows = told["pg_stats"] if isinstance(told, dict) else told
    acting: dict[int, list[int]] = {}
    for row in rows:
        primary = row["acting_primary"]
        others = [osd for osd in row["acting"] if osd != primary and 0 <= osd < 1 << 30]
        acting[int(row["pgid"].partition(".")[2], 16)] = [primary, *others] if primary >= 0 else []
    if not acting:
        raise ValueError(f"the cluster names no placement groups of pool {pool}")
    return len(acting), acting


def _osds(spot: Spot) -> tuple[tuple[str, str | None], ...]:
    nodes = _ask(spot, "osd", "tree")["nodes"]
    host = {child: node["name"] for node in nodes if node["type"] == "host" for child in node["children"]}
    return tuple((node["name"], host.get(node["id"])) for node in nodes if node["type"] == "osd")


def _ask(spot: Spot, *question: str) -> Any:
    return json.loads(spot.tool(*words(spot.mount, spot.timeout_s, *question)))
