"""Lustre: the file's layout by ``lfs``, the host of each OST by ``lctl``; an OST is known by its file system's name and
its number, since numbers repeat."""

from __future__ import annotations

import re

from tonnage.machine.identity import lustre_name
from tonnage.machine.storages.lustre import Layout, connections
from tonnage.machine.tool import ToolError
from tonnage.placement.where.located import Device
from tonnage.placement.where.place import Answer, Place, several


def resolve(place: Place) -> Answer:
    """The OSTs of a file; of a directory those on which its new files may be. A small file may be on an MDT alone."""
    name = lustre_name(place.mount.device)
    if name is None:
        return Answer(
            problem=f"the mount's source {place.mount.device!r} has no file system's name; hint: is it Lustre?"
        )
    notes: list[str] = []
    layout = _layout(place, notes)
    if layout is None or layout.devices or not layout.on_mdt:
        found = _osts(place, name, layout, notes)
    else:
        found = _hosts(place, name, "mdc", "mds_conn_uuid", [f"{name}-MDT{layout.mdt:04x}"], notes)
    servers = several([device.server for device in found])
    problem = None
    if not servers:
        every = ", ".join(device.name for device in found[:3]) or f"{name}-OST0000"
        problem = (
            f"no tool says which hosts serve {name}; hint: give each server what it holds in tonnage.toml, like "
            f'holds = ["{every.partition(",")[0]}"]'
        )
    return Answer(servers=servers, devices=tuple(found), striped=len(found) > 1, how=tuple(notes), problem=problem)


def _layout(place: Place, notes: list[str]) -> Layout | None:
    """None where nobody says: then the data may be anywhere in the file system."""
    if not place.answers:
        return None
    words = ["getstripe", *(["-d"] if place.is_directory else []), place.path]
    try:
        text = place.tool("lfs", *words)
    except ToolError as error:
        notes.append(f"{error}: any OST may hold it")
        return None
    layout = Layout(text)
    if layout.devices:
        notes.append(f"lfs getstripe: on OST {', '.join(map(str, layout.devices))}")
    elif layout.on_mdt and not place.is_directory:
        notes.append("lfs getstripe: on a metadata target alone (DoM)")
    elif layout.start >= 0 and layout.count == 1:
        notes.append(f"lfs getstripe: new files are on OST {layout.start}")
    else:
        notes.append("lfs getstripe: new files are on any OST" + (f" of pool {layout.pool}" if layout.pool else ""))
    layout.on_mdt = layout.on_mdt and not place.is_directory
    return layout


def _osts(place: Place, name: str, layout: Layout | None, notes: list[str]) -> list[Device]:
    wanted: list[str] = []
    if layout is not None and layout.devices:
        wanted = [f"{name}-OST{number:04x}" for number in layout.devices]
    elif layout is not None and layout.start >= 0 and layout.count == 1:
        wanted = [f"{name}-OST{layout.start:04x}"]
    elif layout is not None and layout.pool:
        wanted = _names(place, name, notes, "pool_list", f"{name}.{layout.pool}")
    found = _hosts(place, name, "osc", "ost_conn_uuid", wanted, notes)
    return found or [Device(ost, None) for ost in _names(place, name, notes, "osts", place.mount.mount_point)]


def _hosts(place: Place, name: str, kind: str, parameter: str, wanted: list[str], notes: list[str]) -> list[Device]:
    """The wanted devices (empty: all of the file system) with the address that this client is connected to."""
    try:
        known = connections(place.tool("lctl", "get_param", f"{kind}.{name}-*.{parameter}"))
    except ToolError as error:
        notes.append(str(error))
        known = {}
    if known:
        notes.append(f"lctl get_param {kind}.*.{parameter}: their servers")
    ours = sorted(device for device in known if device.startswith(f"{name}-"))
    return [
        Device(device, place.spelled(known[device], known[device].partition("@")[0]) if device in known else None)
        for device in wanted or ours
    ]


def _names(place: Place, name: str, notes: list[str], *words: str) -> list[str]:
    """OSTs as ``lfs osts`` and ``lfs pool_list`` print them: ``scratch-OST0003_UUID``."""
    if not place.answers:
        return []
    try:
        text = place.tool("lfs", *words)
    except ToolError as error:
        notes.append(str(error))
        return []
    return list(dict.fromkeys(re.findall(rf"\b({re.escape(name)}-OST[0-9a-f]{{4}})(?:_UUID)?\b", text)))
