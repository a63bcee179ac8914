"""GlusterFS: the bricks of a path are in an attribute that its client makes up, also for ordinary users."""

from __future__ import annotations

from tonnage.machine.storages.glusterfs import PATHINFO, brick_name, bricks
from tonnage.placement.where.located import Device
from tonnage.placement.where.place import Answer, Place, several


def resolve(place: Place) -> Answer:
    """The bricks of a file (each of its replicas holds it whole), or of a directory all that share its files."""
    if not place.answers:
        return _by_source(place, "mountinfo alone")
    try:
        text = place.attribute(*PATHINFO) or ""
    except TimeoutError:
        return _by_source(place, f"{PATHINFO[0]} did not come within {place.timeout_s:g} s")
    except OSError as error:
        return _by_source(place, f"{PATHINFO[0]}: {error.strerror}")
    found = bricks(text)
    if not found:
        return _by_source(place, f"{PATHINFO[0]} names no brick")
    spread = "EC:" in text or "STRIPE:" in text or (place.is_directory and "DISTRIBUTE:" in text)
    devices = tuple(Device(brick_name(host, brick), place.spelled(host)) for host, brick in found)
    told = ", ".join(device.name for device in devices)
    return Answer(
        servers=several([device.server for device in devices]),
        devices=devices,
        striped=spread and len(devices) > 1,
        how=(f"attribute {PATHINFO[0]}: {told}",),
    )


def _by_source(place: Place, why: str) -> Answer:
    """The server whose volume file was mounted: one of the volume's, and all that is known."""
    host, separator, _ = place.mount.device.partition(":/")
    if not separator or not host:
        return Answer(
            how=(why,),
            problem=f"nothing says where the bricks of {place.mount.device} are; "
            f'hint: give its servers holds = ["{place.mount.mount_point}"] in tonnage.toml',
        )
    server = place.spelled(host)
    return Answer(servers=several([server]), striped=True, how=(why, f"mountinfo: {place.mount.device}"))
