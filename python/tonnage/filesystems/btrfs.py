"""Btrfs: profiles, sizes and devices as the kernel shows them in ``/sys/fs/btrfs``; the subvolume by a system call."""

from __future__ import annotations

import fcntl
import os
import platform
import struct
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from uuid import UUID

from tonnage.filesystems.file_holders import Looked, whole
from tonnage.filesystems.mounted_path import Facts, Gathering, MountedPath
from tonnage.machine.time_limit import in_time

SNAPSHOTS = "btrfs"
"""The means, as a campaign file has it. Whether this one takes snapshots the engine says when it tries."""
_SYS = Path("/sys/fs/btrfs")
_FS_INFO, _FS_INFO_BYTES = 0x8400941F, 1024
"""``BTRFS_IOC_FS_INFO`` (btrfs.h): ``_IOR(0x94, 31, struct btrfs_ioctl_fs_info_args)``."""
_INO_LOOKUP, _INO_LOOKUP_BYTES = 0xD0009412, 4096
"""``BTRFS_IOC_INO_LOOKUP``: ``_IOWR(0x94, 18, struct btrfs_ioctl_ino_lookup_args)``."""
_FIRST_FREE_OBJECT = 256
_SIZES = {"nodesize": "node_bytes", "sectorsize": "sector_bytes", "clone_alignment": "clone_alignment_bytes"}


def facts(mounted: MountedPath) -> Facts:
    """``uuid``, ``subvolume_id``, ``data_profile``, ``metadata_profile`` (``single``, ``dup``, ``raid1`` …; several
    joined by commas while a balance is under way), ``node_bytes``, ``sector_bytes``, ``clone_alignment_bytes``,
    ``checksum``, ``disks`` and ``compression`` (of the mount's options, or of the directory's own property)."""
    found = Gathering()
    uuid = found.ask("uuid", lambda: in_time(lambda: _uuid(mounted.path), timeout_s=mounted.timeout_s))
    found.ask("subvolume_id", lambda: in_time(lambda: _subvolume(mounted.path), timeout_s=mounted.timeout_s))
    found.facts["compression"] = _compression(mounted)
    if uuid is not None:
        shown = _SYS / uuid
        for kind in ("data", "metadata"):
            found.ask(f"{kind}_profile", partial(profile, shown / "allocation" / kind))
        for file, name in _SIZES.items():
            found.ask(name, partial(_number, shown / file))
        found.ask("checksum", lambda: _text(shown / "checksum").partition(" ")[0])
        found.ask("disks", lambda: _disks(uuid))
    return found.as_dict()


def holders(mounted: MountedPath, files: Sequence[tuple[str, int]]) -> Looked:
    """On one disk each file is there. Where each is on several, only root may ask."""
    uuid = _uuid(mounted.path)
    names = _disks(uuid)
    devices = tuple((name, platform.node()) for name in names)
    if len(names) != 1:
        return Looked(
            holdings={}, devices=devices, problem=f"btrfs does not tell which of {len(names)} disks has a file"
        )
    held = {path: whole(names, size) for path, size in files}
    return Looked(holdings=held, devices=devices, how=(f"/sys/fs/btrfs: on {names[0]} alone",))


def profile(directory: Path) -> str:
    """The kernel has a directory for each profile that any block group has."""
    names = sorted(entry.name for entry in directory.iterdir() if entry.is_dir())
    if not names:
        raise ValueError("the kernel shows no profile")
    return ",".join(names)


def _uuid(path: str) -> str:
    data = _call(path, _FS_INFO, bytes(_FS_INFO_BYTES))
    return str(UUID(bytes=data[16:32]))


def _subvolume(path: str) -> int:
    data = _call(path, _INO_LOOKUP, struct.pack("=QQ", 0, _FIRST_FREE_OBJECT).ljust(_INO_LOOKUP_BYTES, b"\0"))
    number: int = struct.unpack_from("=Q", data)[0]
    return number


def _call(path: str, request: int, data: bytes) -> bytes:
    # Longer than what fcntl.ioctl keeps of bytes on its own: a buffer that it fills.
    buffer = bytearray(data)
    directory = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.ioctl(directory, request, buffer)
    finally:
        os.close(directory)
    return bytes(buffer)


def _compression(mounted: MountedPath) -> str:
    for option in ("compress-force", "compress"):
        if value := mounted.mount.option(option):
            return f"{value} (forced)" if option == "compress-force" else value
    try:
        return mounted.attribute("btrfs.compression") or "none"
    except OSError:
        return "none"


def _disks(uuid: str) -> list[str]:
    return sorted(entry.name for entry in (_SYS / uuid / "devices").iterdir())


def _number(path: Path) -> int:
    return int(_text(path))


def _text(path: Path) -> str:
    return path.read_text(encoding="ascii", errors="replace").strip()
