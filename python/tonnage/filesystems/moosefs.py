"""MooseFS: storage classes and chunks by its own tools; the client's limits in ``.params`` at the mount's root, which
is the mounting user's alone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from tonnage.filesystems.file_holders import FileShare, Holding, Looked
from tonnage.filesystems.mounted_path import Facts, Gathering, MountedPath
from tonnage.filesystems.striping import Striped, Striping, by_tool
from tonnage.machine.time_limit import in_time

CHUNK_BYTES = 64 << 20
"""Of every file, in every version: a constant of the protocol."""
_BATCH = 128
_PARAMETERS = {
    "mfswritecachesize": ("write_cache_bytes", 1 << 20),
    "mfsreadaheadsize": ("read_ahead_cache_bytes", 1 << 20),
    "mfsreadaheadleng": ("read_ahead_bytes", 1),
    "mfscachemode": ("cache_mode", None),
    "working_keep_cache_mode": ("keep_cache_mode", None),
    "mfsattrcacheto": ("attribute_cache_s", None),
    "moosefs_master_version": ("master_version", None),
    "moosefs_mount_version": ("mount_version", None),
}
_UNSET = "(not defined)"


def facts(mounted: MountedPath) -> Facts:
    """``master``, ``storage_class`` (of the directory, by ``mfsgetsclass``), ``chunk_bytes`` and what the client keeps
    (``write_cache_bytes``, ``read_ahead_cache_bytes``, ``read_ahead_bytes`` …)."""
    found = Gathering()
    found.facts |= {"master": mounted.mount.device.partition("#")[2] or None, "chunk_bytes": CHUNK_BYTES}
    found.ask("storage_class", lambda: storage_class(mounted.tool("mfsgetsclass", mounted.path)))
    shown = Path(mounted.mount.mount_point, ".params")
    text = found.ask(
        "client", lambda: in_time(lambda: shown.read_text("ascii", "replace"), timeout_s=mounted.timeout_s)
    )
    if text is not None:
        del found.facts["client"]
        found.facts |= of_parameters(text)
    return found.as_dict()


def storage_class(text: str) -> str | None:
    """Of ``mfsgetsclass``: ``/mnt/mfs/d: 'only-b'``; a goal of older versions stands there as a number."""
    match = re.search(r": '?([^'\n]+?)'?\s*$", text)
    return match[1] if match and match[1] != "not MFS object" else None


def of_parameters(text: str) -> Facts:
    """The client's limits in ``.params``, sizes in bytes."""
    values = dict(re.findall(r"^(\w+): (.*)$", text, re.MULTILINE))
    found: Facts = {}
    for key, (name, unit) in _PARAMETERS.items():
        value = values.get(key, _UNSET)
        if value != _UNSET:
            found[name] = int(value) * unit if unit is not None and value.isdecimal() else value
    return found


def holders(mounted: MountedPath, files: Sequence[tuple[str, int]]) -> Looked:
    """The chunk servers of each file's chunks; a chunk's first copy is the first that is listed, which clients may or
    may not read."""
    held: dict[str, Holding] = {}
    for begin in range(0, len(files), _BATCH):
        batch = files[begin : begin + _BATCH]
        text = mounted.tool("mfsfileinfo", *(path for path, _ in batch))
        chunks_by_path = chunks(text, [path for path, _ in batch])
        held |= {path: holding(chunks_by_path[path], size) for path, size in batch if path in chunks_by_path}
    servers = sorted({part.device for found in held.values() for part in found.parts})
    devices = tuple((server, server.rpartition(":")[0]) for server in servers)
    return Looked(holdings=held, devices=devices, how=("mfsfileinfo: chunk servers",))


def chunks(text: str, paths: Sequence[str]) -> dict[str, list[list[str]]]:
    """Of each path in what ``mfsfileinfo`` prints, the servers of the valid copies of each of its chunks."""
    wanted = {f"{path}:": path for path in paths}
    found: dict[str, list[list[str]]] = {}
    at: list[list[str]] | None = None
    for line in text.splitlines():
        if line in wanted:
            at = found.setdefault(wanted[line], [])
        elif at is not None and line.startswith("\tchunk "):
            at.append([])
        elif at and (match := re.match(r"\t\tcopy [0-9]+: (\S+) \(status:VALID\)", line)):
            at[-1].append(match[1])
    return found


def holding(servers: Sequence[Sequence[str]], size: int) -> Holding:
    """Of a file whose chunks are on these servers."""
    parts: list[FileShare] = []
    for number, copies in enumerate(servers):
        length = min(CHUNK_BYTES, size - number * CHUNK_BYTES)
        if length > 0:
            parts += [FileShare(server, length, copy) for copy, server in enumerate(copies)]
    return Holding(tuple(parts))


def stripe(directory: Path, wanted: Striping) -> Striped:
    """Stripes a directory by a storage class."""
    if wanted.pool is None or wanted.osts or wanted.size_bytes is not None or wanted.start is not None:
        return Striped(str(directory), None, "MooseFS has storage classes: give one as pool, and nothing else", {})
    return by_tool(directory, ["mfssetsclass", wanted.pool], ["mfsgetsclass"], _class_of)


def _class_of(text: str) -> Facts:
    return {"storage_class": storage_class(text)}
