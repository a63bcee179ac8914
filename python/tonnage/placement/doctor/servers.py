"""Whether the servers can be found, answer, and are those of this host's mounts."""

from __future__ import annotations

from collections.abc import Iterator

from tonnage.placement.doctor.complaint import Complaint, own_hint
from tonnage.placement.doctor.world import World, names_of
from tonnage.placement.where import servers_of

CLOCK_S = 2.0
"""Clocks that differ by more make ages of indices, and of files, mean nothing."""


def names(world: World) -> Iterator[Complaint]:
    """This host knows one name of each that nothing else ties to data, and no two are one."""
    if world.addresses is None:
        yield Complaint(
            code="names-silent",
            what="the name service did not answer in time",
            hint="names of servers were not looked at; try `getent hosts NAME`",
        )
        return
    owners: dict[str, str] = {}
    for server in world.site.server:
        found = {address for name in names_of(server) for address in world.addresses.get(name, ())}
        if not found and not server.holds:
            yield Complaint(
                code="unknown-name",
                where=world.loaded.origin("name", server=server.name),
                what=f"this host knows no address of {', '.join(names_of(server))}",
                hint="add its address to aliases, or say what it holds",
            )
        for address in sorted(found):
            other = owners.setdefault(address, server.name)
            if other != server.name:
                yield Complaint(
                    code="same-address",
                    where=world.loaded.origin("name", server=server.name),
                    what=f"{server.name} and {other} have one address, {address}",
                    hint="make one [[server]] of them, or correct aliases",
                )


def indices(world: World) -> Iterator[Complaint]:
    """Each server's load can be read, is fresh, and its clock is right."""
    for server in world.site.server:
        where = world.loaded.origin("indices", server=server.name)
        reading = world.readings.get(server.name)
        if reading is None:
            yield Complaint(
                code="no-indices",
                where=world.loaded.origin("name", server=server.name),
                what=f"nobody says how busy {server.name} is",
                hint="run node_exporter there and add indices, or live with jobs alone",
                wrong=False,
            )
            continue
        age_s = reading.age_s(world.now_s)
        if reading.problem:
            why, hint = own_hint(reading.problem, "start what should answer there, or correct indices")
            what = f"the indices of {server.name} cannot be read: {why}"
            yield Complaint(code="indices-silent", where=where, what=what, hint=hint)
        elif age_s * 1e9 > world.site.policy.index_age:
            yield Complaint(
                code="indices-stale",
                where=where,
                what=f"the indices of {server.name} are {age_s:.0f} s old",
                hint="look at what writes them",
            )
        ahead_s = reading.clock_ahead_s or 0.0
        if abs(ahead_s) > CLOCK_S:
            yield Complaint(
                code="clocks-differ",
                where=where,
                what=f"the clock of {server.name} is {abs(ahead_s):.1f} s {'ahead of' if ahead_s > 0 else 'behind'} "
                "this host's",
                hint="let both keep time by NTP",
            )


def mounts(world: World) -> Iterator[Complaint]:
    """The site file knows who serves what is mounted here."""
    for mount, located in world.mounted:
        strange = [server.name for server in servers_of(located, world.site) if server not in world.site.server]
        if strange:
            yield Complaint(
                code="unknown-server",
                what=f"{mount.mount_point} ({mount.file_system}) is served by {', '.join(strange)}, "
                "of which the site file says nothing",
                hint=f'add [[server]] with name = "{strange[0]}" and the hosts beside it',
                wrong=False,
            )
        elif located.problem and not servers_of(located, world.site):
            yield Complaint(
                code="nobodys-mount",
                what=f"nobody says who serves {mount.mount_point} ({mount.file_system}): "
                f"{own_hint(located.problem, '')[0]}",
                hint=f'name it in holds of a [[server]]: "{mount.device}"',
                wrong=False,
            )
    if world.mounts_left:
        yield Complaint(
            code="mounts-left",
            what=f"{world.mounts_left} more mounts were not looked at: others take too long",
            hint="unmount what is dead",
            wrong=False,
        )
