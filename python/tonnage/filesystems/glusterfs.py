"""GlusterFS: the bricks of a file are in an attribute that its client makes up, and the client's own layers with their
limits in the directory ``.meta`` of the mount's root. Both are open to ordinary users."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from tonnage.filesystems.file_holders import Holding, Looked, whole
from tonnage.filesystems.mounted_path import Facts, Gathering, MountedPath, first_attribute
from tonnage.filesystems.servers import Answer, Device, ObservedPath, several
from tonnage.filesystems.striping import LIMIT_S, Striped, Striping
from tonnage.machine.mounts import mount_of
from tonnage.machine.time_limit import in_time

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


def facts(mounted: MountedPath) -> Facts:
    """``volume``, ``layers`` (types of the client's translators), ``bricks`` (what files are spread over, in the
    volume's order, as ``name``, ``subvolumes`` of a replica set, ``server``), ``version`` and the client's limits."""
    found = Gathering()
    found.facts["volume"] = mounted.mount.device.rpartition(":/")[2] or mounted.mount.device
    shown = found.ask("client", lambda: in_time(lambda: _shown(mounted.mount.mount_point), timeout_s=mounted.timeout_s))
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
    """Returns (host, directory) of each ``<POSIX(/brick):host:/brick/path>``, each once."""
    return list(dict.fromkeys((host, brick) for brick, host in _FOLD.findall(text)))


def brick_name(host: str, brick: str) -> str:
    """Returns the name that the report and ``tonnage where`` give it."""
    return f"{host}:{brick}"


def holders(mounted: MountedPath, files: Sequence[tuple[str, int]]) -> Looked:
    """The brick of each file, or all its replicas. The bytes on each brick of an erasure-coded file are unknown."""

    def ask() -> list[str | None]:
        found: list[str | None] = []
        for path, _ in files:
            try:
                found.append(first_attribute(path, PATHINFO))
            except OSError:
                found.append(None)
        return found

    attributes: list[str | None] = in_time(ask, timeout_s=mounted.timeout_s)
    held: dict[str, Holding] = {}
    coded = 0
    for (path, size), text in zip(files, attributes, strict=True):
        names = [brick_name(*brick) for brick in bricks(text or "")]
        if text and ("EC:" in text or "STRIPE:" in text):
            coded += 1
        elif names:
            held[path] = whole(names, size)
    problem = "no file told its brick" if not held else None
    if coded:
        problem = f"GlusterFS does not tell how {coded} erasure-coded files are spread"
    return Looked(holdings=held, devices=_all(mounted), how=(f"attribute {PATHINFO[0]}: bricks",), problem=problem)


def _all(mounted: MountedPath) -> tuple[tuple[str, str | None], ...]:
    """All bricks that share the files of the mount's root."""
    try:
        text = in_time(lambda: first_attribute(mounted.mount.mount_point, PATHINFO), timeout_s=mounted.timeout_s)
    except OSError:
        return ()
    return tuple((brick_name(host, brick), host) for host, brick in bricks(text))


def _shown(mount_point: str) -> Facts:
    active = Path(mount_point, ".meta/graphs/active")
    layers = {layer.name: _text(layer / "type") for layer in sorted(active.iterdir()) if layer.is_dir()}
    found: Facts = {"layers": sorted({kind for kind in layers.values() if kind != "meta"})}
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


def served_by(observed: ObservedPath) -> Answer:
    """The bricks of a file (each of its replicas holds it whole), or of a directory all that share its files."""
    if not observed.answers:
        return _by_source(observed, "mountinfo alone")
    try:
        text = observed.attribute(*PATHINFO) or ""
    except TimeoutError:
        return _by_source(observed, f"{PATHINFO[0]} did not come within {observed.timeout_s:g} s")
    except OSError as error:
        return _by_source(observed, f"{PATHINFO[0]}: {error.strerror}")
    found = bricks(text)
    if not found:
        return _by_source(observed, f"{PATHINFO[0]} names no brick")
    spread = "EC:" in text or "STRIPE:" in text or (observed.is_directory and "DISTRIBUTE:" in text)
    devices = tuple(Device(brick_name(host, brick), observed.spelled(host)) for host, brick in found)
    told = ", ".join(device.name for device in devices)
    return Answer(
        servers=several([device.server for device in devices]),
        devices=devices,
        striped=spread and len(devices) > 1,
        how=(f"attribute {PATHINFO[0]}: {told}",),
    )


def _by_source(observed: ObservedPath, why: str) -> Answer:
    """The server whose volume file was mounted: one of the volume's, and all that is known."""
    host, separator, _ = observed.mount.device.partition(":/")
    if not separator or not host:
        return Answer(
            how=(why,),
            problem=f"nothing says where the bricks of {observed.mount.device} are; "
            f'hint: give its servers holds = ["{observed.mount.mount_point}"] in tonnage.toml',
        )
    server = observed.spelled(host)
    return Answer(servers=several([server]), striped=True, how=(why, f"mountinfo: {observed.mount.device}"))


def stripe(directory: Path, wanted: Striping) -> Striped:
    """GlusterFS places a file by its name, and takes the brick's name in it as an order."""
    path, how = str(directory), "@layer:brick"
    if len(wanted.osts) != 1 or wanted.pool is not None or wanted.size_bytes is not None or wanted.start is not None:
        return Striped(path, how, "GlusterFS pins a directory's files to one brick: give osts, and nothing else", {})
    mount = mount_of(directory)
    try:
        pin = suffix(mount.mount_point if mount else "/", wanted.osts[0], timeout_s=LIMIT_S)
    except TimeoutError:
        return Striped(path, how, f"GlusterFS did not answer within {LIMIT_S} s", {})
    except (OSError, LookupError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        return Striped(path, how, f"GlusterFS does not tell its bricks: {why}", {})
    return Striped(path, how, None, {"brick": pin.partition(":")[2]}, pin)
