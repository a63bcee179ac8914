"""Block devices, from ``/sys``: what is under a file system, and whether it is in this host at all."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

from tonnage.machine.mounts import Mount

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
