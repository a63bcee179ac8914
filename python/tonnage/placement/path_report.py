"""Where a path's data lives: its servers, their load and their load lines."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tonnage.errors import RequestError
from tonnage.placement.choice import NoFileServer
from tonnage.placement.indices.index_reader import read_indices
from tonnage.placement.indices.reading import Reading
from tonnage.placement.kept_company import costs_told, known_company
from tonnage.placement.server_load_lines import KnownLine, line_of
from tonnage.placement.site import Server, Site, load_site, site_path
from tonnage.placement.task_caps import USUAL_TRANSFER
from tonnage.placement.where import Located, locate, servers_of


@dataclass(frozen=True, slots=True, kw_only=True)
class PathReport:
    """The servers of a path, their load and line, at one time."""

    site: Site
    located: Located
    servers: tuple[Server, ...]
    readings: Mapping[str, Reading]
    """By the server's name."""
    line: KnownLine | None
    """Of the one server; what several hold together has a line of its own, or none."""
    at_s: float
    company: tuple[str, ...]
    """What jobs of different kinds cost each other there, a sentence each."""

    def unknown(self, path: str | None) -> NoFileServer | None:
        """The error where the servers are unknown. ``path``: as it was asked for."""
        if self.servers:
            return None
        what, why = path or "current working directory", self.located.problem or "nothing says who serves it"
        return NoFileServer(f"Cannot find fileserver for {what}: {why}")


def report_path(path: str | None, site_file: str | None, transfer_size: int | None = None) -> PathReport:
    """``path`` None: the working directory; ``transfer_size`` None: the usual one. RequestError for a path or a site
    file that cannot be."""
    if path == "":
        raise RequestError("the path is empty; hint: leave it out for the working directory")
    site = load_site(Path(), site_path(site_file))
    located = locate(path or ".", site, timeout_s=site.policy.file_timeout / 1e9)
    servers = servers_of(located, site)
    now_s = time.time()
    readings: dict[str, Reading] = {}
    if any(server.indices for server in servers):
        readings = read_indices(servers, site.policy, now_s=now_s, wait_ns=site.policy.index_timeout)
    size = transfer_size or USUAL_TRANSFER
    one = servers[0] if len(servers) == 1 else None
    line = line_of(site, one, located, transfer_size=size) if servers else None
    return PathReport(
        site=site,
        located=located,
        servers=servers,
        readings=readings,
        line=line,
        at_s=now_s,
        company=tuple(costs_told(known_company(site), located.target, now_s)),
    )
