"""Any file system on a block device or in the memory of this host, and remote disks that appear as block devices."""

from __future__ import annotations

import platform
from collections.abc import Sequence

from tonnage.filesystems.file_holders import Holding, Looked, whole
from tonnage.filesystems.mounted_path import Gathering, MountedPath
from tonnage.filesystems.servers import Answer, Device, ObservedPath
from tonnage.machine.mounts import backing_file, block_name, block_number, disks, remote_server


def add_device(mounted: MountedPath, found: Gathering) -> None:
    """``block_device`` and the whole ``disks`` under it, as the kernel names them."""
    number = block_number(mounted.mount)
    name = block_name(number)
    if name is not None:
        found.facts |= {"block_device": name, "disks": disks(number)}


def holders(mounted: MountedPath, files: Sequence[tuple[str, int]]) -> Looked:
    """Each file is on the block device of the mount."""
    name = block_name(block_number(mounted.mount))
    if name is None:
        return Looked(
            holdings={}, problem=f"{mounted.mount.file_system} at {mounted.mount.mount_point} is on no block device"
        )
    held: dict[str, Holding] = {path: whole([name], size) for path, size in files}
    return Looked(holdings=held, devices=((name, platform.node()),), how=(f"mountinfo: {name}",))


def served_by(observed: ObservedPath) -> Answer:
    """Returns the host itself; the host behind a disk over a network; for an image file the servers of that file."""
    number, host = block_number(observed.mount), platform.node()
    if observed.mount.memory_backed:
        return Answer(
            servers=(host,), local=True, how=(f"mountinfo: {observed.mount.file_system}, in this host's memory",)
        )
    if image := backing_file(number):
        inner = observed.below(image)
        return Answer(
            servers=inner.servers,
            devices=inner.devices,
            striped=inner.striped,
            local=inner.local,
            how=(f"sysfs: {block_name(number)} is the image file {image}", *inner.how),
            problem=inner.problem,
        )
    found = disks(number)
    for disk in found:
        if (remote := remote_server(disk)) is not None:
            return _remote(observed, disk, *remote)
    devices = tuple(Device(disk, host) for disk in found) or (Device(observed.mount.device, host),)
    device_names = ", ".join(device.name for device in devices)
    name = block_name(number)
    how = (
        f"sysfs: {name} on {device_names}, in this host"
        if name and name != device_names
        else f"mountinfo: {device_names}, in this host"
    )
    return Answer(servers=(host,), devices=devices, local=True, how=(how,))


def _remote(observed: ObservedPath, disk: str, address: str, kind: str) -> Answer:
    how = (f"sysfs: {disk} is a disk over {kind}" + (f" at {address}" if address else ""),)
    if not address:
        return Answer(how=how, problem=f"{disk} is a disk over {kind}, and nothing says whose; {_hint(observed)}")
    return Answer(servers=(address,), devices=(Device(disk, address),), how=how)


def _hint(observed: ObservedPath) -> str:
    return f'hint: give its server holds = ["{observed.mount.device}"] in tonnage.toml'
