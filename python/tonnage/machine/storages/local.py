"""Any file system on a block device of this host: the device is what holds its files."""

from __future__ import annotations

import platform
from collections.abc import Sequence

from tonnage.machine.blocks import block_name, block_number, disks
from tonnage.machine.storages.held import Holding, Looked, whole
from tonnage.machine.storages.spot import Gathering, Spot


def add_device(spot: Spot, found: Gathering) -> None:
    """``block_device`` and the whole ``disks`` under it, as the kernel names them."""
    number = block_number(spot.mount)
    name = block_name(number)
    if name is not None:
        found.facts |= {"block_device": name, "disks": disks(number)}


def holders(spot: Spot, files: Sequence[tuple[str, int]]) -> Looked:
    """Each file is on the block device of the mount."""
    name = block_name(block_number(spot.mount))
    if name is None:
        return Looked(
            holdings={}, problem=f"{spot.mount.file_system} at {spot.mount.mount_point} is on no block device"
        )
    held: dict[str, Holding] = {path: whole([name], size) for path, size in files}
    return Looked(holdings=held, devices=((name, platform.node()),), how=(f"mountinfo: {name}",))
