"""Striping on parallel file systems, and pinning to their devices, set and read back through their own user tools:
``lfs`` (Lustre), ``beegfs-ctl`` (BeeGFS 7), ``beegfs`` (BeeGFS 8) and ``mfssetsclass`` (MooseFS); on GlusterFS by the
names of new files. Nothing here needs privileges; what a tool refuses is told."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tonnage.machine.mounts import mount_of
from tonnage.machine.storages import beegfs, glusterfs, lustre, moosefs
from tonnage.machine.tool import ToolError, ask

_LIMIT_S = 30
"""A tool that hangs (a server that is gone) does not hang the run."""
_MOST_TEXT = 4096
"""Characters kept of what a tool prints."""


@dataclass(frozen=True, slots=True)
class Striping:
    """What is wanted; ``None`` is the file system's own."""

    count: int | None = None
    """Devices a file is spread over; -1: all."""
    size_bytes: int | None = None
    """Bytes on one of them before the next."""
    osts: tuple[int, ...] = ()
    """Numbers of the OSTs (Lustre) or bricks (GlusterFS)."""
    pool: str | None = None
    """A pool of devices; on MooseFS a storage class."""
    pools: tuple[str, ...] = ()
    """One for each of several directories, in turn, instead of ``pool``."""
    start: int | None = None
    """Lustre: number of the OST on which a file begins."""

    def of_device(self, number: int, devices: int) -> Striping:
        """That of the ``number``-th of several directories: it is pinned to one OST alone, or to one of the pools."""
        if self.pools:
            return replace(self, pool=self.pools[number % len(self.pools)], pools=())
        if devices == 1 or not self.osts:
            return self
        return Striping(1, self.size_bytes, (self.osts[number % len(self.osts)],), None)


@dataclass(frozen=True, slots=True)
class Striped:
    """What became of it in one directory."""

    path: str
    tool: str | None
    """Which tool was asked."""
    problem: str | None
    """Why the directory is not striped as wanted, one sentence; None if it is."""
    found: dict[str, Any]
    """What the file system says of the directory afterwards."""
    pin: str = ""
    """What the names of new files in it have to end in while they are made."""

    def as_dict(self) -> dict[str, Any]:
        """As it stands in the manifest."""
        return {"path": self.path, "tool": self.tool, "problem": self.problem, "found": self.found, "pin": self.pin}


def stripe(directories: Sequence[Path], file_systems: Sequence[str | None], wanted: Striping) -> list[Striped]:
    """Sets the default striping of empty directories, so that it holds for the files to come. Never raises."""
    return [
        _stripe_one(directory, file_system, wanted.of_device(number, len(directories)))
        for number, (directory, file_system) in enumerate(zip(directories, file_systems, strict=True))
    ]


def _stripe_one(directory: Path, file_system: str | None, wanted: Striping) -> Striped:
    if file_system == "lustre":
        asked = ["lfs", "getstripe", "-d"]
        return _by_tool(directory, ["lfs", *lustre_arguments(wanted)], asked, lustre.of_directory)
    if file_system == "beegfs":
        if wanted.osts:
            return Striped(str(directory), None, "BeeGFS does not pin a directory to storage targets; use a pool", {})
        if wanted.start is not None:
            return Striped(str(directory), None, "BeeGFS does not choose the target on which a file begins", {})
        if shutil.which("beegfs"):
            asked = ["beegfs", "entry", "info", "--retro"]
            return _by_tool(directory, ["beegfs", *beegfs_arguments(wanted)], asked, beegfs.of_entry)
        asked = ["beegfs-ctl", "--getentryinfo"]
        return _by_tool(directory, ["beegfs-ctl", *beegfs7_arguments(wanted)], asked, beegfs.of_entry)
    if file_system == "fuse.glusterfs":
        return _by_name(directory, wanted)
    if file_system == "fuse.mfs":
        return _by_class(directory, wanted)
    return Striped(str(directory), None, f"{file_system or 'this file system'} has no striping to set", {})


def _by_name(directory: Path, wanted: Striping) -> Striped:
    """GlusterFS places a file by its name, and takes the brick's name in it as an order."""
    path, how = str(directory), "@layer:brick"
    if len(wanted.osts) != 1 or wanted.pool is not None or wanted.size_bytes is not None or wanted.start is not None:
        return Striped(path, how, "GlusterFS pins a directory's files to one brick: give osts, and nothing else", {})
    mount = mount_of(directory)
    try:
        pin = glusterfs.suffix(mount.mount_point if mount else "/", wanted.osts[0], timeout_s=_LIMIT_S)
    except TimeoutError:
        return Striped(path, how, f"GlusterFS did not answer within {_LIMIT_S} s", {})
    except (OSError, LookupError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        return Striped(path, how, f"GlusterFS does not tell its bricks: {why}", {})
    return Striped(path, how, None, {"brick": pin.partition(":")[2]}, pin)


def _by_class(directory: Path, wanted: Striping) -> Striped:
    if wanted.pool is None or wanted.osts or wanted.size_bytes is not None or wanted.start is not None:
        return Striped(str(directory), None, "MooseFS has storage classes: give one as pool, and nothing else", {})
    return _by_tool(directory, ["mfssetsclass", wanted.pool], ["mfsgetsclass"], _class_of)


def _class_of(text: str) -> dict[str, Any]:
    return {"storage_class": moosefs.storage_class(text)}


def lustre_arguments(wanted: Striping) -> list[str]:
    """Of ``lfs setstripe``."""
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


def beegfs_arguments(wanted: Striping) -> list[str]:
    """Of ``beegfs``, version 8."""
    return ["entry", "set", *_beegfs_options(wanted, "--num-targets", "--chunk-size", "--pool")]


def beegfs7_arguments(wanted: Striping) -> list[str]:
    """Of ``beegfs-ctl``, version 7."""
    return ["--setpattern", *_beegfs_options(wanted, "--numtargets", "--chunksize", "--storagepoolid")]


def _beegfs_options(wanted: Striping, count: str, size: str, pool: str) -> list[str]:
    # BeeGFS takes as many targets as there are where more are asked for.
    number = None if wanted.count is None else 65535 if wanted.count == -1 else wanted.count
    values = ((count, number), (size, wanted.size_bytes), (pool, wanted.pool))
    return [f"{option}={value}" for option, value in values if value is not None]


def _by_tool(
    directory: Path, setting: Sequence[str], asking: Sequence[str], read: Callable[[str], dict[str, Any]]
) -> Striped:
    """Sets, and asks what is set; the directory is the last argument of both."""
    found: dict[str, Any] = {}
    problem, _ = _run([*setting, str(directory)])
    if shutil.which(asking[0]):
        unread, text = _run([*asking, str(directory)])
        found = read(text) if unread is None else found
    return Striped(str(directory), setting[0], problem, found)


def _run(argv: list[str]) -> tuple[str | None, str]:
    """What went wrong in one sentence (None: nothing), and what it printed."""
    try:
        return None, ask(argv, timeout_s=_LIMIT_S).out[:_MOST_TEXT]
    except ToolError as error:
        return str(error), ""
