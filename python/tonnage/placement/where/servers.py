"""The site's own servers behind the names that tools print."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase

from tonnage.placement.site.model import Server, Site
from tonnage.placement.where.located import Located


def servers_of(located: Located, site: Site) -> tuple[Server, ...]:
    """The servers that hold what was located, best first; empty where nobody knows.

    A name that a tool gave is the site's server of that name, alias or address; a device, or where no tool helped the
    mount's source or the path, is that of the server which ``holds`` it, by the longest pattern. What the site file
    does not know at all is a plain server with one host of its name beside it.
    """
    found = [_of_device(device.name, device.server, site) for device in located.devices]
    found += [site.named(name) or _plain(name) for name in located.servers]
    known = [server for server in found if server is not None and server in site.server]
    if not known:
        known = list(_holding(_names(located), site))
    if not known or located.striped:
        known += [server for server in found if server is not None]
    return tuple({server.name: server for server in known}.values())


def _of_device(device: str, name: str | None, site: Site) -> Server | None:
    if name and (server := site.named(name)):
        return server
    held = _holding([device], site)
    return held[0] if held else _plain(name) if name else None


def _plain(name: str) -> Server:
    return Server(name=name, hosts=(name,))


def _names(located: Located) -> list[str]:
    mount = located.mount
    return [located.real_path, *located.other_names, *([mount.device] if mount else [])]


def _holding(names: Iterable[str], site: Site) -> tuple[Server, ...]:
    """Those whose pattern for one of ``names`` is the longest: ``/data/proj`` before ``/data``."""
    fitting = [
        (len(pattern), server)
        for server in site.server
        for pattern in server.holds
        if any(matches(name, pattern) for name in names)
    ]
    longest = max((length for length, _ in fitting), default=0)
    return tuple(server for length, server in fitting if length == longest)


def matches(name: str, pattern: str) -> bool:
    """Whether a pattern of ``holds`` means this; a path holds all that is below it."""
    below = pattern.startswith("/") and fnmatchcase(name, pattern.rstrip("/") + "/*")
    return below or fnmatchcase(name, pattern)
