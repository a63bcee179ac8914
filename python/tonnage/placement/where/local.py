"""This host's own disks and memory, and disks of other hosts that look like its own."""

from __future__ import annotations

import platform

from tonnage.machine.blocks import backing_file, block_name, block_number, disks, remote_server
from tonnage.placement.where.located import Device
from tonnage.placement.where.place import Answer, Place


def resolve(place: Place) -> Answer:
    """The host itself; the host behind a disk over a network; for an image file whoever holds that."""
    number, host = block_number(place.mount), platform.node()
    if place.mount.memory_backed:
        return Answer(
            servers=(host,), local=True, how=(f"mountinfo: {place.mount.file_system}, in this host's memory",)
        )
    if image := backing_file(number):
        inner = place.below(image)
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
            return _remote(place, disk, *remote)
    devices = tuple(Device(disk, host) for disk in found) or (Device(place.mount.device, host),)
    told = ", ".join(device.name for device in devices)
    name = block_name(number)
    how = f"sysfs: {name} on {told}, in this host" if name and name != told else f"mountinfo: {told}, in this host"
    return Answer(servers=(host,), devices=devices, local=True, how=(how,))


def _remote(place: Place, disk: str, address: str, kind: str) -> Answer:
    how = (f"sysfs: {disk} is a disk over {kind}" + (f" at {address}" if address else ""),)
    if not address:
        return Answer(how=how, problem=f"{disk} is a disk over {kind}, and nothing says whose; {_hint(place)}")
    return Answer(servers=(address,), devices=(Device(disk, address),), how=how)


def _hint(place: Place) -> str:
    return f'hint: give its server holds = ["{place.mount.device}"] in tonnage.toml'
