"""The file systems there are, by type as the mount table prints it; each module is imported when it is needed.

A module has what its file system can tell and do, and nothing else of these:

``facts(mounted)``              what is known of it, and under ``unknown`` what nobody said and why
``holders(mounted, files)``     on which devices files of known size are
``served_by(observed)``         which servers and devices hold a path
``stripe(directory, wanted)``   sets the striping of a directory
``SNAPSHOTS``                   its means of snapshots

Other packages add types by entry points (:mod:`tonnage.plugins`).
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from tonnage import plugins
from tonnage.filesystems import any_remote as remote
from tonnage.filesystems import local
from tonnage.filesystems.file_holders import FileLayout, Item, Looked
from tonnage.filesystems.mounted_path import Facts, Gathering, MountedPath
from tonnage.filesystems.servers import Answer, ObservedPath
from tonnage.filesystems.striping import Striped, Striping
from tonnage.machine.guarded_access import carefully
from tonnage.machine.mounts import Mount, block_name, block_number, find_mount, is_local, read_mounts
from tonnage.machine.site_tools import ToolError

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
    "gpfs": "gpfs",
    "fuse.sshfs": "sshfs",
    "fuse.s3fs": "bucket_mounts",
    "fuse.goofys": "bucket_mounts",
    "fuse.rclone": "bucket_mounts",
    "fuse.mount-s3": "bucket_mounts",
    "overlay": "overlay",
    "fuse.fuse-overlayfs": "overlay",
    "autofs": "autofs",
}
_SOURCES = {"mountpoint-s3": "fuse.mount-s3", "s3fs": "fuse.s3fs"}
"""What calls itself plain ``fuse``, by its source."""


def type_of(mount: Mount) -> str:
    """The type of file system; of one that calls itself plain ``fuse`` the type that its source shows."""
    if mount.file_system != "fuse":
        return mount.file_system
    return "fuse.mfs" if mount.device.startswith("mfs#") else _SOURCES.get(mount.device, "fuse")


_ANSWERS: dict[str, type] = {"facts": dict, "holders": Looked, "served_by": Answer, "stripe": Striped}
"""What each function of a module returns; ``facts`` may return None as well."""


class _PlugIn:
    """A plug-in's module: what its functions raise, or return that is none of what they promise, names it. The caller
    handles a file system that does not answer."""

    def __init__(self, kind: str, module: Any) -> None:
        self._kind, self._module = kind, module

    def __getattr__(self, name: str) -> Any:
        function = getattr(self._module, name)
        if name not in _ANSWERS:
            return function

        def guarded(*arguments: Any) -> Any:
            unanswered: list[BaseException] = []

            def told() -> Any:
                try:
                    answer = function(*arguments)
                except (OSError, ToolError) as error:
                    unanswered.append(error)
                    return None
                if name == "facts" and answer is None:
                    return None
                if not isinstance(answer, _ANSWERS[name]):
                    raise TypeError(f"{name} returned {answer!r}, which is no {_ANSWERS[name].__name__}")
                if name == "served_by":
                    return plugins.with_fields(Answer, answer)
                plugins.require_json(name, answer)
                return answer

            found = plugins.call(plugins.FILESYSTEMS, self._kind, told)
            if unanswered:
                raise unanswered[0]
            return found

        return guarded


def module_of(kind: str) -> ModuleType | _PlugIn | None:
    """The module of a type of file system; None where there is none. RequestError where a plug-in cannot be loaded."""
    name = _MODULES.get(kind)
    if name is not None:
        return import_module(f"tonnage.filesystems.{name}")
    added = plugins.load(plugins.FILESYSTEMS, kind)
    return None if added is None else _PlugIn(kind, added)


def _who_can(what: str, mount: Mount) -> Any:
    """The function ``what`` of the mount's own module, else that of any file system on a block device; None without."""
    own = getattr(module_of(type_of(mount)), what, None)
    if own is None and block_name(block_number(mount)) is not None:
        own = getattr(local, what, None)
    return own


def served_by(observed: ObservedPath) -> Answer:
    """Which servers and devices hold a path. Where its file system does not say: this host, a host that the mount's
    source names, or none."""
    own = getattr(module_of(type_of(observed.mount)), "served_by", None)
    if own is None:
        own = local.served_by if is_local(observed.mount) else remote.served_by
    found: Answer = own(observed)
    return found


def stripe(directories: Sequence[Path], file_systems: Sequence[str | None], wanted: Striping) -> list[Striped]:
    """Sets the default striping of empty directories, so that it holds for the files to come. Never raises."""
    return [
        _stripe_one(directory, file_system, wanted.of_device(number, len(directories)))
        for number, (directory, file_system) in enumerate(zip(directories, file_systems, strict=True))
    ]


def _stripe_one(directory: Path, file_system: str | None, wanted: Striping) -> Striped:
    own = getattr(module_of(file_system or ""), "stripe", None)
    if own is None:
        return Striped(str(directory), None, f"{file_system or 'this file system'} has no striping to set", {})
    found: Striped = own(directory, wanted)
    return found


def snapshots_of(kind: str) -> str | None:
    """The means of snapshots of a type, as a campaign file has it: ``cephfs``, ``btrfs``, ``reflink``."""
    means: str | None = getattr(module_of(kind), "SNAPSHOTS", None)
    return means


def facts_of(path: str, mount: Mount | None) -> Facts | None:
    """The facts of the file system at ``path``, under its type's own names; None where the type is unknown.

    Never raises, and takes no longer than a few times ``LIMIT_S``.
    """
    facts = None if mount is None else _who_can("facts", mount)
    if mount is None or facts is None:
        return None
    mounted = MountedPath(path=os.path.realpath(path), mount=mount, timeout_s=LIMIT_S)
    found = Gathering()
    own_facts: Facts | None = found.ask("facts", lambda: facts(mounted))
    return own_facts if own_facts is not None else found.as_dict()


def file_layout(files: Sequence[tuple[str, int | None, int | None]]) -> FileLayout | None:
    """Where files are: (absolute path, number, only task that works on it) of each. None where there are none, or their
    file system keeps them in this host's memory. Never raises: ``Held.problem`` says why it is unknown."""
    chosen = sample(files, MOST_FILES)
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
        sizes = carefully(lambda: _sizes([path for path, _, _ in chosen]), directories, timeout_s=LIMIT_S)
        looked = [
            _holders_of(mount, [(path, sizes[path]) for path in paths if path in sizes], LIMIT_S)
            for mount, paths in by_mount.items()
        ]
    except OSError as error:
        why = "it did not answer in time" if isinstance(error, TimeoutError) else error.strerror or str(error)
        return FileLayout(total=len(files), problem=why)
    holdings = {path: holding for one in looked for path, holding in one.holdings.items()}
    items = [
        Item(os.path.basename(path), sizes[path], holdings[path].parts, number, task)  # noqa: PTH119
        for path, number, task in chosen
        if path in holdings
    ]
    return FileLayout(
        items=tuple(items),
        total=len(files),
        devices=tuple(dict(pair for one in looked for pair in one.devices).items()),
        how=tuple(dict.fromkeys(sentence for one in looked for sentence in one.how)),
        problem=next((one.problem for one in looked if one.problem), None),
    )


def sample(files: Sequence[Any], most: int) -> list[Any]:
    """Chooses at most so many of them, evenly."""
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


def _holders_of(mount: Mount, files: Sequence[tuple[str, int]], timeout_s: float) -> Looked:
    holders = _who_can("holders", mount)
    if holders is None:
        return Looked(holdings={}, problem=f"nobody knows which device of {mount.file_system} has a file")
    if not files:
        return Looked(holdings={})
    directory = os.path.realpath(os.path.dirname(files[0][0]))  # noqa: PTH120
    try:
        found: Looked = holders(MountedPath(path=directory, mount=mount, timeout_s=timeout_s), files)
    except ToolError as error:
        return Looked(holdings={}, problem=str(error))
    except TimeoutError:
        return Looked(holdings={}, problem=f"{mount.file_system} did not answer within {timeout_s:g} s")
    except OSError as error:
        return Looked(holdings={}, problem=error.strerror or str(error))
    except (ValueError, LookupError, TypeError) as error:
        return Looked(holdings={}, problem=f"{mount.file_system} gave an answer that is none: {error!r}")
    return found
