"""GPFS (Spectrum Scale): a file is spread over all disks of its storage pool, and each disk has its NSD servers."""

from __future__ import annotations

import re
from urllib.parse import unquote

from tonnage.filesystems.servers import Answer, Device, ObservedPath, several
from tonnage.machine.site_tools import ToolError


def served_by(observed: ObservedPath) -> Answer:
    """The first NSD server of each disk, as ``mmlsnsd`` names them; that tool may be root's alone."""
    name = (observed.mount.option("dev") or observed.mount.device).removeprefix("/dev/")
    notes: list[str] = []
    pool = _pool(observed, notes)
    try:
        servers = {
            row.get("diskName", ""): row.get("serverList", "")
            for row in rows(observed.tool("mmlsnsd", "-f", name, "-Y"))
        }
    except ToolError as error:
        return Answer(
            striped=True,
            how=tuple(notes),
            problem=f'{error}; hint: give its servers holds = ["{observed.mount.device}"] in tonnage.toml',
        )
    disks = _data_disks(observed, name, pool, notes) or list(servers)
    found = [Device(disk, observed.spelled(*servers[disk].split(",")) or None) for disk in disks if disk in servers]
    notes.append(f"mmlsnsd: {len(found)} disks of {name} and their servers")
    known = several([device.server for device in found])
    problem = None
    if not known:
        problem = (
            f"the disks of {name} have no NSD servers: every node reaches them itself; "
            f'hint: give the nearest server holds = ["{observed.mount.device}"] in tonnage.toml'
        )
    return Answer(servers=known, devices=tuple(found), striped=len(found) > 1, how=tuple(notes), problem=problem)


def rows(text: str) -> list[dict[str, str]]:
    """The rows of a command's ``-Y`` output by the names of its HEADER line; values come percent-encoded."""
    names: list[str] = []
    found = []
    for line in text.splitlines():
        fields = line.split(":")
        if len(fields) > 2 and fields[2] == "HEADER":
            names = fields
        elif names and len(fields) > 6:
            found.append({name: unquote(value) for name, value in zip(names[6:], fields[6:], strict=False) if name})
    return found


def _pool(observed: ObservedPath, notes: list[str]) -> str | None:
    """Of a file; a directory's new files go where the policy says, which is in no attribute of it."""
    if observed.is_directory or not observed.answers:
        return None
    try:
        match = re.search(r"^storage pool name:\s*(\S+)", observed.tool("mmlsattr", "-L", observed.path), re.MULTILINE)
    except ToolError as error:
        notes.append(f"{error}: any storage pool may hold it")
        return None
    if match:
        notes.append(f"mmlsattr -L: in storage pool {match[1]}")
    return match[1] if match else None


def _data_disks(observed: ObservedPath, name: str, pool: str | None, notes: list[str]) -> list[str]:
    """Empty where ``mmlsdisk`` does not tell."""
    try:
        every = rows(observed.tool("mmlsdisk", name, "-Y"))
    except ToolError as error:
        notes.append(f"{error}: any disk may hold it")
        return []
    data = [row for row in every if row.get("data", "").lower() == "yes" and row.get("nsdName")]
    return [row["nsdName"] for row in data if pool is None or row.get("storagePool") == pool]
