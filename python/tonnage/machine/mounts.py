"""The mounts of this host, from /proc/self/mountinfo (format: proc(5)), and which storage is behind one."""

from __future__ import annotations

import os
import platform
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tonnage.machine.time_limit import in_time

MEMORY_BACKED = frozenset({"tmpfs", "ramfs", "hugetlbfs", "devtmpfs"})
"""File systems that live in memory: their reads never come from a device."""


@dataclass(frozen=True, slots=True)
class Mount:
    """One mount: what the manifest keeps of the file system under test."""

    mount_point: str
    file_system: str
    device: str
    options: str
    """The mount's own options and the file system's, comma separated."""
    root: str = "/"
    """The directory of the file system that is mounted; another than ``/`` is a bind mount or a subvolume."""
    device_number: str = ""
    """``major:minor`` of its superblock: the same for all mounts of one file system."""
    number: int = 0
    """The kernel's own number of the mount."""

    @property
    def memory_backed(self) -> bool:
        return self.file_system in MEMORY_BACKED

    def option(self, name: str) -> str | None:
        """What follows ``name=`` among the options; None if it is not there."""
        for option in self.options.split(","):
            key, separator, value = option.partition("=")
            if separator and key == name:
                return value
        return None


def read_mounts() -> list[Mount]:
    """All mounts that this process sees; empty where the system does not say. Touches none of them."""
    try:
        text = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return []
    return parse_mountinfo(text)


def mount_of(path: str | os.PathLike[str]) -> Mount | None:
    """The mount that holds ``path``; None where the system does not say."""
    return find_mount(read_mounts(), os.path.realpath(path))


def parse_mountinfo(text: str) -> list[Mount]:
    """All mounts, in the kernel's order (a later one hides an earlier one at the same place)."""
    mounts = []
    for line in text.splitlines():
        left, separator, right = line.partition(" - ")
        fields, tail = left.split(" "), right.split(" ")
        if not separator or len(fields) < 6 or len(tail) < 2 or not fields[0].isdecimal():
            continue
        own, superblock = fields[5], tail[2] if len(tail) > 2 else ""
        options = list(dict.fromkeys([*own.split(","), *filter(None, superblock.split(","))]))
        mounts.append(
            Mount(
                mount_point=unescape(fields[4]),
                file_system=tail[0],
                device=unescape(tail[1]),
                options=unescape(",".join(options)),
                root=unescape(fields[3]),
                device_number=fields[2],
                number=int(fields[0]),
            )
        )
    return mounts


def find_mount(mounts: list[Mount], real_path: str) -> Mount | None:
    """Returns the last one of those with the longest mount point above ``real_path`` (absolute, no links)."""
    found = None
    for mount in mounts:
        point = mount.mount_point.rstrip("/")
        inside = real_path == mount.mount_point or real_path.startswith(f"{point}/")
        if inside and (found is None or len(mount.mount_point) >= len(found.mount_point)):
            found = mount
    return found


def unescape(text: str) -> str:
    """The kernel writes blank, tab, newline and backslash as three octal digits."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)


_XATTR_LIMIT_S = 2.0
_MOST_LAYERS = 4
"""Overlay on a loop device on an overlay… ends somewhere."""
_KIND = {"nfs4": "nfs", "smb3": "cifs", "fuse.ceph-fuse": "ceph", "fuse.ceph": "ceph"}
_ANONYMOUS = frozenset({"zfs", "btrfs", "bcachefs"})
"""On this host's devices, though their device number is none of a block device."""


def identity(mount: Mount, path: str) -> str:
    """The identity of the storage that ``mount`` is of. Only CephFS is asked for its own, at ``path``, within 2 s."""
    return _identity(mount, path, read_mounts(), _MOST_LAYERS)


def lustre_name(device: str) -> str | None:
    """Returns the file system's name, ``scratch`` of ``10.0.0.1@tcp:10.0.0.2@tcp:/scratch/part``."""
    match = re.search(r":/([^/]+)", device)
    return match[1] if match else None


def beegfs_management(mount: Mount) -> str | None:
    """The management host of the client's configuration file that a BeeGFS mount names."""
    if host := mount.option("sysMgmtdHost"):
        return host
    with suppress(OSError):
        text = Path(mount.option("cfgFile") or "/etc/beegfs/beegfs-client.conf").read_text(errors="replace")
        if match := re.search(r"^\s*sysMgmtdHost\s*=\s*(\S+)", text, re.MULTILINE):
            return match[1]
    return None


def is_local(mount: Mount) -> bool:
    """Whether it is on a block device or in the memory of this host, as far as the mount table says."""
    return mount.memory_backed or mount.file_system in _ANONYMOUS or block_name(block_number(mount)) is not None


def _identity(mount: Mount, path: str, mounts: list[Mount], layers: int) -> str:
    below = _below(mount) if layers else None
    lower = find_mount([other for other in mounts if other.number != mount.number], below) if below else None
    if below is not None and lower is not None:
        found = _identity(lower, below, mounts, layers - 1)
        return found if mount.file_system == "overlay" else f"{found}:{below}"
    whole = _whole(mount, mounts)
    kind = _KIND.get(mount.file_system, mount.file_system)
    if kind == "ceph":
        return f"ceph:{_cluster(whole, path)}"
    if kind == "lustre":
        return f"lustre:{lustre_name(mount.device) or mount.device}"
    if kind == "beegfs":
        return f"beegfs:{beegfs_management(mount) or mount.device}"
    if kind == "gpfs":
        return f"gpfs:{mount.option('dev') or mount.device.removeprefix('/dev/')}"
    if kind == "nfs":
        host, separator, export = whole.device.partition(":/")
        return f"nfs:{host.lower()}{separator}{export}"
    if kind == "fuse.sshfs":
        return f"sshfs:{mount.device.rpartition('@')[2]}"
    host = platform.node()
    block = block_name(block_number(mount))
    if mount.file_system in _ANONYMOUS or block:
        return f"local:{host}:{file_system_uuid(mount) or block or mount.device}"
    if is_local(mount) or kind == "overlay":
        return f"local:{host}:{kind}:{whole.mount_point}"
    if kind.startswith("fuse") and not re.search("[:/]", whole.device):
        # A program's name, which does not identify the storage.
        return f"{kind.removeprefix('fuse.')}:{host}:{whole.mount_point}"
    return f"{kind.removeprefix('fuse.')}:{whole.device}"


def _below(mount: Mount) -> str | None:
    """Where the data of an overlay, or the image behind a loop device, is in turn."""
    if mount.file_system == "overlay":
        upper = mount.option("upperdir")
        return upper if upper and upper.startswith("/") else None
    return backing_file(block_number(mount))


def _whole(mount: Mount, mounts: list[Mount]) -> Mount:
    """Of the mounts of the same file system the one that shows most of it: bind mounts show parts. NFS shows the part
    in its source, all others in their root."""
    same = [other for other in mounts if other.device_number == mount.device_number and other.device_number]
    ordered = sorted(same, key=lambda other: (len(other.device), len(other.root)))
    return ordered[0] if ordered and ordered[0].file_system == mount.file_system else mount


def _cluster(mount: Mount, path: str) -> str:
    """The cluster's own identifier; where it does not tell, the monitors (or file system) that the mount names."""
    with suppress(OSError):
        return in_time(
            lambda: os.getxattr(path, "ceph.cluster_fsid").decode("ascii", "replace"), timeout_s=_XATTR_LIMIT_S
        )
    return re.sub(r":?/.*$", "", mount.device)


_SYS = Path("/sys")
_BY_NAME = {"rbd": "Ceph RBD", "nbd": "NBD", "drbd": "DRBD"}
_BY_UUID = Path("/dev/disk/by-uuid")


def block_number(mount: Mount) -> str:
    """``major:minor`` of the block device that a mount is on. Btrfs gives its superblocks numbers of no device."""
    if mount.device_number.startswith("0:") and mount.device.startswith("/dev/"):
        return _read(_SYS / "class" / "block" / Path(mount.device).resolve().name / "dev") or mount.device_number
    return mount.device_number


def block_name(device_number: str) -> str | None:
    """The kernel's name (``nvme0n1p2``) of the block device ``major:minor``; None if that is none."""
    if not device_number or device_number.startswith("0:"):
        return None
    try:
        # A link to the device's directory, which has its name.
        return (_SYS / "dev" / "block" / device_number).readlink().name
    except OSError:
        return None


def backing_file(device_number: str) -> str | None:
    """The file that a loop device shows as a disk; None if it is no loop device."""
    if not device_number.startswith("7:"):
        return None
    text = _read(_SYS / "dev" / "block" / device_number / "loop" / "backing_file")
    return text.removesuffix(" (deleted)") if text else None


def disks(device_number: str) -> list[str]:
    """The whole disks under a block device: a partition's own, and all that a volume is made of."""
    entry = _SYS / "dev" / "block" / device_number
    if block_name(device_number) is None:
        return []
    return sorted(_disks(entry.resolve()))


def remote_server(disk: str) -> tuple[str, str] | None:
    """The address of the host that has a disk which is reached over a network, and how; None for one in this host.

    The address is empty where the kernel does not say it.
    """
    device = _SYS / "block" / disk / "device"
    # A disk that is reached over several paths has its controllers one level further down.
    for controller in (device, *sorted(device.glob("nvme*"))):
        transport = _read(controller / "transport")
        if transport in ("tcp", "rdma"):
            address = dict(part.partition("=")[::2] for part in (_read(controller / "address") or "").split(","))
            return address.get("traddr", ""), f"NVMe over {transport}"
    if session := re.search(r"/session([0-9]+)/", str(device.resolve())):
        at = _SYS / "class" / "iscsi_connection" / f"connection{session[1]}:0"
        return _read(at / "persistent_address") or _read(at / "address") or "", "iSCSI"
    return next((("", kind) for begin, kind in _BY_NAME.items() if disk.startswith(begin)), None)


def file_system_uuid(mount: Mount) -> str | None:
    """The UUID of the file system on a mount's block device, as udev keeps it; None where it does not."""
    wanted = block_name(block_number(mount)) or Path(mount.device).name
    with suppress(OSError):
        for link in sorted(_BY_UUID.iterdir()):
            if link.resolve().name == wanted:
                return link.name
    return None


def _disks(entry: Path) -> set[str]:
    if (entry / "partition").exists():
        return _disks(entry.parent)
    under = [link.resolve() for link in (entry / "slaves").iterdir()] if (entry / "slaves").is_dir() else []
    return {name for part in under for name in _disks(part)} or {entry.name}


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="surrogateescape").strip()
    except OSError:
        return None
