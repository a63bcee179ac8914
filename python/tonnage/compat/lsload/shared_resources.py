"""``lsload -s``: what the jobs of several hosts share. Of a file server that is its licence, and its load line."""

from __future__ import annotations

from collections.abc import Sequence

from tonnage.compat.lsload.indices import UNKNOWN
from tonnage.errors import RequestError
from tonnage.placement.server_load import LoadRow
from tonnage.placement.site import Server, Site

TASKS = "tasks"
"""Of this name is what the load line of a server still carries."""
_HEADING = ("RESOURCE", "VALUE", "LOCATION")


def shared_table(site: Site, rows: Sequence[LoadRow], names: Sequence[str]) -> str:
    """Under LSF's headings: how much of each is left, and the hosts that share it; of these names, or of all.

    RequestError where there is none of a name.
    """
    found = [line for row in rows if (server := site.named(row.server)) for line in _of(server, row)]
    known = [TASKS, *dict.fromkeys(server.licence for server in site.server if server.licence)]
    for name in names:
        if name not in known:
            raise RequestError(f"lsload -s: there is no shared resource {name!r}; hint: they are {', '.join(known)}")
    lines = [_HEADING, *(line for line in found if not names or line[0] in names)]
    width = max(len(line[0]) for line in lines)
    return "\n".join(f"{name:<{width}}  {left:>9}  {where}" for name, left, where in lines)


def _of(server: Server, row: LoadRow) -> list[tuple[str, str, str]]:
    where = " ".join(server.hosts) or server.name
    found = [(TASKS, _text(row.carries), where)]
    if server.licence:
        total = server.slots or (server.line.tasks if server.line is not None else None)
        left = None if total is None or row.running is None else max(0, total - row.running)
        found.append((server.licence, _text(left), where))
    return found


def _text(left: int | None) -> str:
    return UNKNOWN if left is None else str(left)
