"""GlusterFS: the bricks of a file are in an attribute that its client makes up, and the client's own layers with their
limits in the directory ``.meta`` of the mount's root. Both are open to ordinary users."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tonnage.machine.bounded import in_time
from tonnage.machine.storages.held import Holding, Looked, whole
from tonnage.machine.storages.spot import Gathering, Spot, first_attribute

PATHINFO = ("glusterfs.pathinfo", "trusted.glusterfs.pathinfo")
_LIMITS = {
    ("performance/write-behind", "window_size"): "write_behind_bytes",
    ("performance/write-behind", "flush_behind"): "flush_behind",
    ("performance/io-cache", "cache_size"): "io_cache_bytes",
    ("performance/io-cache", "cache_timeout"): "io_cache_s",
    ("performance/read-ahead", "page_count"): "read_ahead_pages",
    ("performance/quick-read", "max_file_size"): "quick_read_bytes",
    ("performance/md-cache", "timeout"): "attribute_cache_s",
}
"""(layer's type, name in what it shows of itself) → fact."""
_FOLD = re.compile(r"<POSIX\(([^)]*)\):([^:>]+):")


def facts(spot: Spot) -> dict[str, Any]:
    """``volume``, ``layers`` (types of the client's translators), ``bricks`` (what files are spread over, in the
    volume's order, as ``name``, ``subvolumes`` of a replica set, ``server``), ``version`` and the client's limits."""
    found = Gathering()
    found.facts["volume"] = spot.mount.device.rpartition(":/")[2] or spot.mount.device
    shown = found.ask("client", lambda: in_time(lambda: _shown(spot.mount.mount_point), timeout_s=spot.timeout_s))
    if shown is not None:
        del found.facts["client"]
        found.facts |= shown
    return found.as_dict()


def subvolumes(mount_point: str) -> tuple[str, list[str]]:
    """The name of the layer that spreads files, and what it spreads them over, in the volume's order. OSError or
    LookupError where the client does not show it."""
    active = Path(mount_point, ".meta/graphs/active")
    for layer in sorted(active.iterdir()):
        if layer.is_dir() and _text(layer / "type") == "cluster/distribute":
            below = layer / "subvolumes"
            numbers = sorted(below.iterdir(), key=lambda entry: int(entry.name))
            return layer.name, [_text(entry / "name") for entry in numbers]
    raise LookupError("the volume has no layer that spreads files")


def suffix(mount_point: str, number: int, *, timeout_s: float) -> str:
    """What a name ends in whose file is to be made on that brick: the layer takes it off again (``dht`` in GlusterFS'
    ``dht-helper.c``). IndexError where there are fewer bricks; else as ``subvolumes``, and TimeoutError."""
    layer, names = in_time(lambda: list(subvolumes(mount_point)), timeout_s=timeout_s)
    if number >= len(names):
        raise IndexError(f"the volume has {len(names)} bricks, counted from 0, and no {number}")
    return f"@{layer}:{names[number]}"


def bricks(text: str) -> list[tuple[str, str]]:
    """(host, directory) of each ``<POSIX(/brick):host:/brick/path>``, each once."""
    return list(dict.fromkeys((host, brick) for brick, host in _FOLD.findall(text)))


def brick_name(host: str, brick: str) -> str:
    """As the report and ``tonnage where`` call it."""
    return f"{host}:{brick}"


def holders(spot: Spot, files: Sequence[tuple[str, int]]) -> Looked:
    """The brick of each file, or all its replicas. Of an erasure-coded file nobody says how many bytes each has."""

    def ask() -> list[str | None]:
        found: list[str | None] = []
        for path, _ in files:
            try:
                found.append(first_attribute(path, PATHINFO))
            except OSError:
                found.append(None)
        return found

    told: list[str | None] = in_time(ask, timeout_s=spot.timeout_s)
    held: dict[str, Holding] = {}
    coded = 0
    for (path, size), text in zip(files, told, strict=True):
        names = [brick_name(*brick) for brick in bricks(text or "")]
        if text and ("EC:" in text or "STRIPE:" in text):
            coded += 1
        elif names:
            held[path] = whole(names, size)
    problem = "no file told its brick" if not held else None
    if coded:
        problem = f"GlusterFS does not tell how {coded} erasure-coded files are spread"
    return Looked(holdings=held, devices=_all(spot), how=(f"attribute {PATHINFO[0]}: bricks",), problem=problem)


def _all(spot: Spot) -> tuple[tuple[str, str | None], ...]:
    """All bricks that share the files of the mount's root."""
    try:
        text = in_time(lambda: first_attribute(spot.mount.mount_point, PATHINFO), timeout_s=spot.timeout_s)
    except OSError:
        return ()
    return tuple((brick_name(host, brick), host) for host, brick in bricks(text))


def _shown(mount_point: str) -> dict[str, Any]:
    active = Path(mount_point, ".meta/graphs/active")
    layers = {layer.name: _text(layer / "type") for layer in sorted(active.iterdir()) if layer.is_dir()}
    found: dict[str, Any] = {"layers": sorted({kind for kind in layers.values() if kind != "meta"})}
    for name, kind in layers.items():
        if kind.startswith("performance/"):
            found |= limits(kind, _text(active / name / "private"))
    _, spread = subvolumes(mount_point)
    found["bricks"] = [{"name": name, "server": _server(active / name)} for name in spread]
    version = re.search(r'"Package Version":\s*"([^"]+)"', _text(Path(mount_point, ".meta/version")))
    return found | ({"version": version[1]} if version else {})


def limits(kind: str, text: str) -> dict[str, int]:
    """Of what a layer shows of itself: ``window_size = 1048576``."""
    values = dict(re.findall(r"^([\w.-]+) = ([0-9]+)$", text, re.MULTILINE))
    return {fact: int(values[key]) for (layer, key), fact in _LIMITS.items() if layer == kind and key in values}


def _server(layer: Path) -> str | None:
    try:
        return _text(layer / "options/remote-host")
    except OSError:
        return None  # a set of replicas, on several


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace").strip()
