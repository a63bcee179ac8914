"""Lustre: layouts by ``lfs``, the client's limits and the host of each OST by ``lctl``; both open to users. An OST is
known by its file system's name and its number, since numbers repeat."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tonnage.filesystems.file_holders import FileShare, Holding, Looked, striped
from tonnage.filesystems.mounted_path import Facts, Gathering, MountedPath
from tonnage.filesystems.servers import Answer, Device, ObservedPath, several
from tonnage.filesystems.striping import Striped, Striping, by_tool
from tonnage.machine.mounts import lustre_name
from tonnage.machine.site_tools import ToolError

_BATCH = 128
_MOST_TEXT = 4096
_LIMITS = {
    "max_cached_mb": ("cache_bytes", 1 << 20),
    "max_read_ahead_mb": ("read_ahead_bytes", 1 << 20),
    "max_dirty_mb": ("dirty_bytes_per_ost", 1 << 20),
    "max_rpcs_in_flight": ("rpcs_in_flight_per_ost", 1),
    "max_pages_per_rpc": ("pages_per_rpc", 1),
}


def facts(mounted: MountedPath) -> Facts:
    """``name`` of the file system, ``layout`` of new files in the directory (keys of :func:`of_directory`), and what
    the client keeps: ``cache_bytes``, ``read_ahead_bytes``, ``dirty_bytes_per_ost``, ``rpcs_in_flight_per_ost`` …"""
    found = Gathering()
    name = lustre_name(mounted.mount.device)
    found.facts["name"] = name
    found.ask("layout", lambda: of_directory(mounted.tool("lfs", "getstripe", "-d", mounted.path)[:_MOST_TEXT]))
    words = [f"{'llite' if key in ('max_cached_mb', 'max_read_ahead_mb') else 'osc'}.{name}-*.{key}" for key in _LIMITS]
    limits = found.ask("client", lambda: of_parameters(mounted.tool("lctl", "get_param", *words)))
    if limits is not None:
        del found.facts["client"]
        found.facts |= limits
    return found.as_dict()


def of_directory(text: str) -> Facts:
    """``stripe_count``, ``stripe_size_bytes``, ``stripe_offset``, ``pattern`` and ``pool`` of the last component (a
    plain layout has one), ``components`` where there are several, and the text."""
    found: Facts = {"text": text.strip()}
    for key, value in re.findall(r"\b(?:lmm_)?(stripe_count|stripe_size|stripe_offset|pattern|pool):\s+(\S+)", text):
        name = "stripe_size_bytes" if key == "stripe_size" else key
        found[name] = int(value) if re.fullmatch(r"-?[0-9]+", value) else value
    if components := re.findall(r"\blcm_entry_count:\s+([0-9]+)", text):
        found["components"] = int(components[0])
    return found


def of_parameters(text: str) -> dict[str, int]:
    """The smallest of each limit over all OSTs: ``osc.scratch-OST0000-osc-ffff….max_dirty_mb=2000``, and
    ``max_cached_mb``, which is a list of its own, with a line of that name."""
    found: dict[str, int] = {}
    for key, (name, unit) in _LIMITS.items():
        values = re.findall(rf"(?:\.{key}=|^{key}:\s*)([0-9]+)(?:\.[0-9]+)?\s*$", text, re.MULTILINE)
        if values:
            found[name] = min(map(int, values)) * unit
    return found


class Layout:
    """What ``lfs getstripe`` says of a file, or of the files to come in a directory."""

    def __init__(self, text: str) -> None:
        # Plain layouts are a table (obdidx, objid, objid, group), those of several components a list.
        rows = re.findall(r"^\s*([0-9]+)\s+[0-9]+\s+0x[0-9a-f]+\s+\S+", text, re.MULTILINE)
        objects = re.findall(r"\bl_ost_idx:\s*([0-9]+)", text)
        self.devices = [int(number) for number in dict.fromkeys(objects or rows)]
        """OST numbers that hold objects of it, in the order of its components."""
        patterns = re.findall(r"\b(?:lmm_)?pattern:\s+(\S+)", text)
        self.on_mdt = bool(patterns) and patterns[0] in ("mdt", "100")
        offsets = re.findall(r"\b(?:lmm_)?stripe_offset:\s+(-?[0-9]+)", text)
        counts = re.findall(r"\b(?:lmm_)?stripe_count:\s+(-?[0-9]+)", text)
        self.mdt = max(0, int(offsets[0])) if self.on_mdt and offsets else 0
        pool = re.search(r"\b(?:lmm_)?pool:\s+(\S+)", text)
        self.pool = pool[1] if pool else None
        self.start = int(offsets[-1]) if offsets and len(offsets) == len(counts) else -1
        """OST on which a new file begins; -1: any."""
        self.count = int(counts[-1]) if counts else 1


@dataclass(frozen=True, slots=True)
class Component:
    """A part of a file from byte ``start`` to ``end`` (None: to its end), in turn on ``osts``."""

    start: int
    end: int | None
    unit: int
    osts: tuple[int, ...]
    """Empty: not there yet, or on the metadata target (``mdt``)."""
    mdt: int | None = None
    mirror: int = 0


def components(text: str) -> list[Component]:
    """Returns the components of one file's layout, a plain one as a single component."""
    blocks = re.split(r"^\s*(?=lcme_id:)", text, flags=re.MULTILINE)
    return [_component(block) for block in (blocks[1:] if len(blocks) > 1 else blocks)]


def _component(text: str) -> Component:
    layout = Layout(text)
    begin = re.search(r"lcme_extent\.e_start:\s*([0-9]+)", text)
    end = re.search(r"lcme_extent\.e_end:\s*([0-9]+)", text)
    mirror = re.search(r"lcme_mirror_id:\s*([0-9]+)", text)
    unit = re.search(r"\b(?:lmm_)?stripe_size:\s+([0-9]+)", text)
    return Component(
        start=int(begin[1]) if begin else 0,
        end=int(end[1]) if end else None,
        unit=int(unit[1]) if unit else 1 << 20,
        osts=tuple(layout.devices),
        mdt=layout.mdt if layout.on_mdt else None,
        mirror=int(mirror[1]) if mirror else 0,
    )


def holding(text: str, size: int, name: str) -> Holding:
    """Where a file of ``size`` bytes is. The first mirror counts as the copy that is read."""
    found = components(text)
    mirrors = list(dict.fromkeys(component.mirror for component in found))
    parts: list[FileShare] = []
    for component in found:
        length = min(size, size if component.end is None else component.end) - component.start
        copy = mirrors.index(component.mirror)
        if component.mdt is not None and length > 0:
            parts.append(FileShare(f"{name}-MDT{component.mdt:04x}", length, copy))
        elif component.osts:
            names = [f"{name}-OST{number:04x}" for number in component.osts]
            parts += striped(names, max(length, 0), max(component.unit, 1), copy=copy, start=component.start)
    return Holding(tuple(part for part in parts if part.bytes) or tuple(parts[:1]))


def holders(mounted: MountedPath, files: Sequence[tuple[str, int]]) -> Looked:
    """The OSTs of each file, with the bytes that its layout puts there."""
    name = lustre_name(mounted.mount.device) or mounted.mount.device
    held: dict[str, Holding] = {}
    for begin in range(0, len(files), _BATCH):
        batch = files[begin : begin + _BATCH]
        texts = by_file(mounted.tool("lfs", "getstripe", *(path for path, _ in batch)), [path for path, _ in batch])
        found = {path: holding(texts[path], size, name) for path, size in batch if path in texts}
        held |= {path: one for path, one in found.items() if one.parts}
    return Looked(holdings=held, how=("lfs getstripe: OSTs",))


def by_file(text: str, paths: Sequence[str]) -> dict[str, str]:
    """What ``lfs getstripe`` prints of several files, by file: each begins with its path on a line of its own."""
    found: dict[str, list[str]] = {}
    lines: list[str] | None = None
    for line in text.splitlines():
        if line in paths:
            lines = found.setdefault(line, [])
        elif lines is not None:
            lines.append(line)
    return {path: "\n".join(lines) + "\n" for path, lines in found.items()}


def connections(text: str) -> dict[str, str]:
    """Parses ``lctl get_param``'s ``osc.scratch-OST0003-osc-ffff….ost_conn_uuid=10.0.0.5@tcp``: device to network
    address."""
    pattern = r"^\w+\.(\S+-(?:OST|MDT)[0-9a-f]{4})-\w+-\w+\.\w+_conn_uuid=(\S+)"
    return dict(re.findall(pattern, text, re.MULTILINE))


def served_by(observed: ObservedPath) -> Answer:
    """The OSTs of a file; of a directory those on which its new files may be. A small file may be on an MDT alone."""
    name = lustre_name(observed.mount.device)
    if name is None:
        return Answer(
            problem=f"the mount's source {observed.mount.device!r} has no file system's name; hint: is it Lustre?"
        )
    notes: list[str] = []
    layout = _layout(observed, notes)
    if layout is None or layout.devices or not layout.on_mdt:
        found = _osts(observed, name, layout, notes)
    else:
        found = _hosts(observed, name, "mdc", "mds_conn_uuid", [f"{name}-MDT{layout.mdt:04x}"], notes)
    servers = several([device.server for device in found])
    problem = None
    if not servers:
        every = ", ".join(device.name for device in found[:3]) or f"{name}-OST0000"
        problem = (
            f"no tool says which hosts serve {name}; hint: give each server what it holds in tonnage.toml, like "
            f'holds = ["{every.partition(",")[0]}"]'
        )
    return Answer(servers=servers, devices=tuple(found), striped=len(found) > 1, how=tuple(notes), problem=problem)


def _layout(observed: ObservedPath, notes: list[str]) -> Layout | None:
    """None where unknown: then the data may be anywhere in the file system."""
    if not observed.answers:
        return None
    words = ["getstripe", *(["-d"] if observed.is_directory else []), observed.path]
    try:
        text = observed.tool("lfs", *words)
    except ToolError as error:
        notes.append(f"{error}: any OST may hold it")
        return None
    layout = Layout(text)
    if layout.devices:
        notes.append(f"lfs getstripe: on OST {', '.join(map(str, layout.devices))}")
    elif layout.on_mdt and not observed.is_directory:
        notes.append("lfs getstripe: on a metadata target alone (DoM)")
    elif layout.start >= 0 and layout.count == 1:
        notes.append(f"lfs getstripe: new files are on OST {layout.start}")
    else:
        notes.append("lfs getstripe: new files are on any OST" + (f" of pool {layout.pool}" if layout.pool else ""))
    layout.on_mdt = layout.on_mdt and not observed.is_directory
    return layout


def _osts(observed: ObservedPath, name: str, layout: Layout | None, notes: list[str]) -> list[Device]:
    wanted: list[str] = []
    if layout is not None and layout.devices:
        wanted = [f"{name}-OST{number:04x}" for number in layout.devices]
    elif layout is not None and layout.start >= 0 and layout.count == 1:
        wanted = [f"{name}-OST{layout.start:04x}"]
    elif layout is not None and layout.pool:
        wanted = _names(observed, name, notes, "pool_list", f"{name}.{layout.pool}")
    found = _hosts(observed, name, "osc", "ost_conn_uuid", wanted, notes)
    return found or [Device(ost, None) for ost in _names(observed, name, notes, "osts", observed.mount.mount_point)]


def _hosts(
    observed: ObservedPath, name: str, kind: str, parameter: str, wanted: list[str], notes: list[str]
) -> list[Device]:
    """The wanted devices (empty: all of the file system) with the address that this client is connected to."""
    try:
        known = connections(observed.tool("lctl", "get_param", f"{kind}.{name}-*.{parameter}"))
    except ToolError as error:
        notes.append(str(error))
        known = {}
    if known:
        notes.append(f"lctl get_param {kind}.*.{parameter}: their servers")
    ours = sorted(device for device in known if device.startswith(f"{name}-"))
    return [
        Device(device, observed.spelled(known[device], known[device].partition("@")[0]) if device in known else None)
        for device in wanted or ours
    ]


def _names(observed: ObservedPath, name: str, notes: list[str], *words: str) -> list[str]:
    """OSTs as ``lfs osts`` and ``lfs pool_list`` print them: ``scratch-OST0003_UUID``."""
    if not observed.answers:
        return []
    try:
        text = observed.tool("lfs", *words)
    except ToolError as error:
        notes.append(str(error))
        return []
    return list(dict.fromkeys(re.findall(rf"\b({re.escape(name)}-OST[0-9a-f]{{4}})(?:_UUID)?\b", text)))


def stripe(directory: Path, wanted: Striping) -> Striped:
    """Stripes a directory by ``lfs setstripe``, and reads it back by ``lfs getstripe``."""
    asked = ["lfs", "getstripe", "-d"]
    return by_tool(directory, ["lfs", *stripe_arguments(wanted)], asked, of_directory)


def stripe_arguments(wanted: Striping) -> list[str]:
    """Returns the arguments of ``lfs setstripe``."""
    arguments = ["setstripe"]
    count = len(wanted.osts) if wanted.count is None and wanted.osts else wanted.count
    if count is not None:
        arguments += ["-c", str(count)]
    if wanted.size_bytes is not None:
        arguments += ["-S", str(wanted.size_bytes)]
    if wanted.start is not None:
        arguments += ["-i", str(wanted.start)]
    if wanted.osts:
        arguments += ["-o", ",".join(map(str, wanted.osts))]
    if wanted.pool is not None:
        arguments += ["-p", wanted.pool]
    return arguments
