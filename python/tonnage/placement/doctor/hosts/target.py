"""Whether every host sees the storage under test, sees the same one, and may use it alike."""

from __future__ import annotations

from collections.abc import Iterator

from tonnage.placement.doctor.complaint import Complaint, own_hint
from tonnage.placement.doctor.hosts.look import Host, Party
from tonnage.placement.doctor.hosts.names import named
from tonnage.units import size_text

SPACE = 10 << 30
"""Less than that is soon full of tasks' files."""
_OF_ONE_HOST = {
    "addr",
    "clientaddr",
    "mountaddr",
    "port",
    "mountport",
    "fd",
    "rootmode",
    "user_id",
    "group_id",
    "seclabel",
}
"""Options of a mount that tell of the client, or of its way to the server, and not of how it works."""


def there(party: Party) -> Iterator[Complaint]:
    """It is there, and it is a directory."""
    for host in party.there if party.target is not None else ():
        if host.path_problem is not None:
            what, hint = own_hint(host.path_problem, "see to its mount there")
            yield Complaint(code="target-silent", where=host.name, what=what, hint=hint)
        elif host.path is not None and host.path["problem"]:
            what = f"{party.target} cannot be used: {host.path['problem']}; {_mount(host)} is what is mounted above it"
            yield Complaint(code="target-missing", where=host.name, what=what, hint="mount it there, or make it")
        elif host.path is not None and not host.path["is_directory"]:
            what, hint = f"{party.target} is no directory", "name one that all hosts have"
            yield Complaint(code="target-missing", where=host.name, what=what, hint=hint)


def writable(party: Party) -> Iterator[Complaint]:
    """This user may write there."""
    for host in _seen(party):
        if host.path and not host.path["writable"]:
            what = f"{party.target} takes no files: {host.path['not_writable']} ({_mount(host)})"
            hint = "mount it read-write there, or let this user write"
            yield Complaint(code="target-read-only", where=host.name, what=what, hint=hint)


def same(party: Party) -> Iterator[Complaint]:
    """What one host makes there, the others see; or else each has its own, and that is meant so."""
    groups: dict[int, list[Host]] = {}
    for host in _seen(party):
        if host.storage is not None:
            groups.setdefault(host.storage, []).append(host)
    if len(groups) < 2:
        return
    told = "; ".join(f"{named([host.name for host in hosts])}: {_mount(hosts[0])}" for hosts in groups.values())
    apart = all(len(hosts) == 1 for hosts in groups.values())
    yield Complaint(
        code="own-storage" if apart else "other-storage",
        what=f"{party.target} is not one directory: what a host makes there others do not see ({told})",
        hint="well where node-local storage is to be measured; mount one file system on all where not"
        if apart
        else "mount the same file system on all of them",
        wrong=not apart,
    )


def options(party: Party) -> Iterator[Complaint]:
    """Those that see the same one have mounted it in the same way."""
    seen = _seen(party)
    for storage in dict.fromkeys(host.storage for host in seen):
        groups: dict[tuple[str, ...], list[Host]] = {}
        for host in seen:
            if host.storage == storage:
                groups.setdefault(_options(host), []).append(host)
        common = set.intersection(*map(set, groups))
        if len(groups) > 1:
            told = "; ".join(
                f"{','.join(option for option in which if option not in common) or 'none of these'} on "
                f"{named([host.name for host in hosts])}"
                for which, hosts in sorted(groups.items(), key=lambda group: -len(group[1]))
            )
            what = f"{party.target} is mounted with different options: {told}"
            yield Complaint(code="other-options", what=what, hint="mount it alike on all hosts")


def space(party: Party) -> Iterator[Complaint]:
    """There is room for a measurement."""
    for host in _seen(party):
        free = host.path["free_bytes"] if host.path else None
        if free is not None and free < SPACE:
            what = f"{party.target} has only {size_text(free)} free"
            hint = "make room, or give less to each task: a full storage is a slow one"
            yield Complaint(code="little-space", where=host.name, what=what, hint=hint, wrong=False)


def direct(party: Party) -> Iterator[Complaint]:
    """It takes what goes past the page cache."""
    for host in _seen(party):
        if host.path and host.path["direct"] is False:
            what = f"{party.target} takes no O_DIRECT: {host.path['not_direct']}"
            hint = "measure with direct = no, or auto, and mind what the cache did"
            yield Complaint(code="no-direct", where=host.name, what=what, hint=hint, wrong=False)


def _seen(party: Party) -> list[Host]:
    """Hosts that see a directory there."""
    return [host for host in party.there if host.path and host.path["is_directory"]]


def _options(host: Host) -> tuple[str, ...]:
    every = (host.path or {}).get("options") or ""
    return tuple(sorted(option for option in every.split(",") if option.partition("=")[0] not in _OF_ONE_HOST))


def _mount(host: Host) -> str:
    path = host.path or {}
    return f"{path.get('file_system')} of {path.get('device')} at {path.get('mount_point')}"
