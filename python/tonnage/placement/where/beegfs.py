"""BeeGFS: targets and their nodes by ``beegfs`` (version 8) or ``beegfs-ctl`` (version 7)."""

from __future__ import annotations

import re
import shutil

from tonnage.machine.storages.beegfs import entry, entry_pool, entry_targets, table
from tonnage.machine.tool import ToolError
from tonnage.placement.where.located import Device
from tonnage.placement.where.place import Answer, Place, several


def resolve(place: Place) -> Answer:
    """The targets of a file; of a directory, and of what is mirrored, all those that it may be on."""
    notes: list[str] = []
    new = shutil.which("beegfs") is not None
    try:
        found, pool = _of_file(place, new, notes) if place.answers else ([], None)
        if not found:
            found = _all_new(place, pool) if new else _all_old(place)
            notes.append(f"{'beegfs target list' if new else 'beegfs-ctl --listtargets'}: any target may hold it")
    except ToolError as error:
        return Answer(
            how=tuple(notes),
            problem=f'{error}; hint: give its server holds = ["{place.mount.mount_point}"] in tonnage.toml',
        )
    servers = several([device.server for device in found])
    problem = None if servers else "BeeGFS lists no storage targets; hint: ask `beegfs health check`"
    return Answer(servers=servers, devices=tuple(found), striped=len(found) > 1, how=tuple(notes), problem=problem)


def _of_file(place: Place, new: bool, notes: list[str]) -> tuple[list[Device], str | None]:
    text = entry(place, place.path)
    found = [Device(target, place.spelled(node)) for target, node in entry_targets(text)]
    if found:
        told = ", ".join(device.name for device in found)
        notes.append(f"{'beegfs entry info' if new else 'beegfs-ctl --getentryinfo'}: on target {told}")
    return found, entry_pool(text)


def _all_new(place: Place, pool: str | None) -> list[Device]:
    targets = [row for row in table(place.tool("beegfs", "target", "list")) if row.get("TYPE") == "storage"]
    nodes = {row.get("ID"): row.get("ALIAS") for row in table(place.tool("beegfs", "node", "list"))}
    return [
        Device(row["ID"].partition(":")[2], place.spelled(nodes.get(row.get("NODE"))))
        for row in targets
        if pool is None or row.get("STORAGE_POOL") in (f"s:{pool}", None)
    ]


def _all_old(place: Place) -> list[Device]:
    """Rows ``101   storage01 [ID: 1]``; a node's name comes last where a word for its kind comes first."""
    words = (f"--mount={place.mount.mount_point}", "--listtargets", "--nodetype=storage", "--longnodes")
    rows = re.findall(r"^\s*([0-9]+)\s+(?:.*\s)?(\S+)\s+\[ID:", place.tool("beegfs-ctl", *words), re.MULTILINE)
    return [Device(target, place.spelled(node)) for target, node in rows]
