"""The file systems there are, by type as the mount table prints it; each module is imported when it is needed.

A module has ``facts(spot)``: what is known of it, and under ``unknown`` what nobody said and why; and
``holders(spot, files)``: where files of known size are.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import Any

from tonnage.machine.blocks import block_name, block_number
from tonnage.machine.careful import carefully
from tonnage.machine.mounts import Mount, find_mount, read_mounts
from tonnage.machine.storages.held import Held, Item, Looked
from tonnage.machine.storages.spot import Gathering, Spot
from tonnage.machine.tool import ToolError

LIMIT_S = 10.0
"""For each question: what hangs does not hang the run."""
MOST_FILES = 4096
"""Looked at after a phase; of more, so many, evenly chosen."""

_MODULES = {
    "ext4": "ext4",
    "xfs": "xfs",
    "btrfs": "btrfs",
    "nfs": "nfs",
    "nfs4": "nfs",
    "ceph": "cephfs",
    "fuse.ceph": "cephfs",
    "fuse.ceph-fuse": "cephfs",
    "fuse.glusterfs": "glusterfs",
    "fuse.mfs": "moosefs",
    "lustre": "lustre",
    "beegfs": "beegfs",
}


def type_of(mount: Mount) -> str:
    """The type of file system; MooseFS calls itself plain ``fuse``, and shows in its source who it is."""
    return "fuse.mfs" if mount.file_system == "fuse" and mount.device.startswith("mfs#") else mount.file_system


def module_of(mount: Mount) -> ModuleType | None:
    """Who knows such a mount; None where nobody does."""
    name = _MODULES.get(type_of(mount))
    if name is None and block_name(block_number(mount)) is not None:
        name = "local"
    return None if name is None else import_module(f"tonnage.machine.storages.{name}")


def facts_of(path: str, mount: Mount | None, *, timeout_s: float = LIMIT_S) -> dict[str, Any] | None:
    """What the file system at ``path`` tells of itself, by its type's own words; None where nobody knows the type.

    Never raises, and takes no longer than a few times ``timeout_s``.
    """
    module = None if mount is None else module_of(mount)
    if mount is None or module is None or not hasattr(module, "facts"):
        return None
    spot = Spot(path=os.path.realpath(path), mount=mount, timeout_s=timeout_s)
    found = Gathering()
    told: dict[str, Any] | None = found.ask("facts", lambda: module.facts(spot))
    return told if told is not None else found.as_dict()


def held_files(
    files: Sequence[tuple[str, int | None, int | None]], *, most: int = MOST_FILES, timeout_s: float = LIMIT_S
) -> Held | None:
    """Where files are: (absolute path, number, only task that works on it) of each. None where there are none, or their
    file system keeps them in this host's memory. Never raises: ``Held.problem`` says why nobody knows."""
    chosen = sample(files, most)
    mounts = read_mounts()
    by_mount: dict[Mount, list[str]] = {}
    for path, _, _ in chosen:
        mount = find_mount(mounts, os.path.realpath(os.path.dirname(path)))  # noqa: PTH120
        if mount is not None and not mount.memory_backed:
            by_mount.setdefault(mount, []).append(path)
    if not by_mount:
        return None
    try:
        directories = {os.path.dirname(path) for path, _, _ in chosen}  # noqa: PTH120
        sizes = carefully(lambda: _sizes([path for path, _, _ in chosen]), directories, timeout_s=timeout_s)
        looked = [
            _look(mount, [(path, sizes[path]) for path in paths if path in sizes], timeout_s)
            for mount, paths in by_mount.items()
        ]
    except OSError as error:
        why = "it did not answer in time" if isinstance(error, TimeoutError) else error.strerror or str(error)
        return Held(total=len(files), problem=why)
    holdings = {path: holding for one in looked for path, holding in one.holdings.items()}
    items = [
        Item(os.path.basename(path), sizes[path], holdings[path].parts, number, task)  # noqa: PTH119
        for path, number, task in chosen
        if path in holdings
    ]
    return Held(
        items=tuple(items),
        total=len(files),
        devices=tuple(dict(pair for one in looked for pair in one.devices).items()),
        how=tuple(dict.fromkeys(sentence for one in looked for sentence in one.how)),
        problem=next((one.problem for one in looked if one.problem), None),
    )


def sample(files: Sequence[Any], most: int) -> list[Any]:
    """At most so many of them, evenly chosen."""
    if len(files) <= most:
        return list(files)
    return [files[number * len(files) // most] for number in range(most)]


def _sizes(paths: Sequence[str]) -> dict[str, int]:
    found = {}
    for path in paths:
        try:
            facts = os.stat(path, follow_symlinks=False)  # noqa: PTH116
        except FileNotFoundError:
            continue
        if stat.S_ISREG(facts.st_mode):
            found[path] = facts.st_size
    return found


def _look(mount: Mount, files: Sequence[tuple[str, int]], timeout_s: float) -> Looked:
    module = module_of(mount)
    if module is None:
        return Looked(holdings={}, problem=f"nobody knows which device of {mount.file_system} has a file")
    if not files:
        return Looked(holdings={})
    directory = os.path.realpath(os.path.dirname(files[0][0]))  # noqa: PTH120
    try:
        found: Looked = module.holders(Spot(path=directory, mount=mount, timeout_s=timeout_s), files)
    except ToolError as error:
        return Looked(holdings={}, problem=str(error))
    except TimeoutError:
        return Looked(holdings={}, problem=f"{mount.file_system} did not answer within {timeout_s:g} s")
    except OSError as error:
        return Looked(holdings={}, problem=error.strerror or str(error))
    except (ValueError, LookupError, TypeError) as error:
        return Looked(holdings={}, problem=f"{mount.file_system} gave an answer that is none: {error!r}")
    return found
