"""The facts that the site checks examine: the site, the scheduler, the servers and this host. Each query has a time
limit."""

from __future__ import annotations

import ipaddress
import os
import platform
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from tonnage.cluster.scheduler import ClusterHost, Queue, SchedulerError, TellsLicences
from tonnage.cluster.schedulers import scheduler_here
from tonnage.errors import RequestError, TonnageError
from tonnage.machine.guarded_access import carefully
from tonnage.machine.mounts import Mount, read_mounts
from tonnage.machine.time_limit import in_time
from tonnage.placement.choice import NoFileServer, NothingNear
from tonnage.placement.indices.index_reader import fresh_indices
from tonnage.placement.indices.reading import Reading
from tonnage.placement.plan import make_plan
from tonnage.placement.server_load_lines import all_lines
from tonnage.placement.site import Loaded, Site
from tonnage.placement.submission_ledger import Ledger
from tonnage.placement.submit_request import SubmitRequest
from tonnage.placement.where import Located, locate, servers_of
from tonnage.program_places import working_directory
from tonnage.records.load_line_files import KeptLine

NETWORKED = frozenset(
    {"nfs", "nfs4", "lustre", "ceph", "beegfs", "gpfs", "cifs", "smb3", "9p"}
    | {f"fuse.{kind}" for kind in ("ceph", "ceph-fuse", "glusterfs", "sshfs")}
)
"""File systems whose servers a site file may know."""
_NAMES_AT_ONCE = 16
_MOUNTS_TIMES = 10
"""All mounts together may take so many times ``file_timeout``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Holds the scheduler's answers."""

    name: str
    hosts: dict[str, ClusterHost] = field(default_factory=dict)
    queues: dict[str, Queue] = field(default_factory=dict)
    licences: dict[str, int] | None = None
    """None: it does not tell."""
    problem: str | None = None
    """Its own words; None where it answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """The working directory, from which ``submit`` takes no job."""

    path: str
    why: str
    servers: tuple[str, ...]
    """Whose data it is, as the site file calls them, or as the tools do."""
    known: bool = False
    """The site file has them."""
    own_disk: bool = False
    """Its data is on this host itself."""
    hint: str | None = None
    """Where nothing in the site file would help."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteFacts:
    """All of it, at one moment."""

    loaded: Loaded
    cluster: Cluster
    addresses: dict[str, tuple[str, ...]] | None
    """Every name and alias of a server → its addresses, empty where this host knows none; None: names take too long."""
    readings: dict[str, Reading]
    mounted: tuple[tuple[Mount, Located], ...]
    mounts_left: int
    """Mounts that were not examined, for lack of time."""
    lines: tuple[KeptLine, ...]
    line_problems: tuple[str, ...]
    shared_lines: str | None
    """Why the shared directory of lines takes none; None where it does, or where there is none."""
    refused: Refused | None
    """None where a job that is submitted from here goes somewhere, or where the scheduler tells nothing."""
    now_s: float
    host: str
    kernel: str

    @property
    def site(self) -> Site:
        return self.loaded.site


def gather_site_facts(loaded: Loaded) -> SiteFacts:
    """Queries the scheduler, the servers and this host. TonnageError only where this host itself cannot be examined."""
    site = loaded.site
    lines, problems = all_lines(site)
    mounted, left = _mounted(site)
    wait_ns = max(site.policy.index_timeout, site.policy.file_timeout)
    cluster = _cluster(site)
    return SiteFacts(
        loaded=loaded,
        cluster=cluster,
        addresses=_addresses(site),
        readings=fresh_indices(site.server, wait_ns=wait_ns),
        mounted=tuple(mounted),
        mounts_left=left,
        lines=tuple(lines),
        line_problems=tuple(problems),
        shared_lines=_shared_lines(site),
        refused=None if cluster.problem else _refused(site),
        now_s=time.time(),
        host=platform.node(),
        kernel=platform.release(),
    )


def _cluster(site: Site) -> Cluster:
    name: str = site.scheduler
    try:
        # As `submit` looks for it.
        found = scheduler_here(name, timeout_s=site.policy.scheduler_timeout / 1e9)
        name = found.name
        return Cluster(
            name=found.name,
            hosts={host.name: host for host in found.hosts()},
            queues={queue.name: queue for queue in found.queues()},
            licences=found.licences() if isinstance(found, TellsLicences) else None,
        )
    except SchedulerError as error:
        return Cluster(name="the scheduler" if name == "auto" else name, problem=str(error))
    except RequestError as error:
        # Its hint is for who typed an option.
        return Cluster(name=name, problem=str(error).partition("; hint: ")[0])


def _addresses(site: Site) -> dict[str, tuple[str, ...]] | None:
    """Name servers may be silent for as long as they like: all names are asked for in one child with one limit."""
    names = list(dict.fromkeys(name for server in site.server for name in server.names))

    def resolved() -> list[list[str]]:
        with ThreadPoolExecutor(_NAMES_AT_ONCE) as pool:
            return list(pool.map(_resolved, names))

    try:
        told = in_time(resolved, timeout_s=site.policy.scheduler_timeout / 1e9) if names else []
    except OSError:
        return None
    return {name: tuple(found) for name, found in zip(names, told, strict=True)}


def _resolved(name: str) -> list[str]:
    try:
        return [str(ipaddress.ip_address(name))]
    except ValueError:
        pass
    try:
        return sorted({str(entry[4][0]) for entry in socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)})
    except (OSError, UnicodeError):
        return []


def _mounted(site: Site) -> tuple[list[tuple[Mount, Located]], int]:
    """One mount of each source, with who serves it; and how many were left out, for dead ones take their time."""
    sources = {mount.device: mount for mount in read_mounts() if mount.file_system in NETWORKED}
    limit_s = site.policy.file_timeout / 1e9
    until_s = time.monotonic() + _MOUNTS_TIMES * limit_s
    found, left = [], 0
    for mount in sources.values():
        if time.monotonic() > until_s:
            left += 1
            continue
        try:
            found.append((mount, locate(mount.mount_point, site, timeout_s=limit_s)))
        except TonnageError:
            continue  # it went away meanwhile
    return found, left


def _refused(site: Site) -> Refused | None:
    """As ``submit`` decides with the current lists, without submitting a job."""
    policy = site.policy.model_copy(update={"list_age": 0})
    site = site.model_copy(update={"policy": policy})
    try:
        path = working_directory()
        found = scheduler_here(site.scheduler, timeout_s=site.policy.scheduler_timeout / 1e9)
        request = SubmitRequest(argv=("true",), key="doctor", scheduler=site.scheduler)
        try:
            make_plan(request, path, site, Ledger(), found)
        except (NoFileServer, NothingNear) as error:
            located = locate(path, site, timeout_s=site.policy.file_timeout / 1e9)
            servers = servers_of(located, site)
            return Refused(
                path=path,
                why=str(error).partition("; hint: ")[0],
                servers=tuple(server.name for server in servers),
                known=bool(servers) and all(server in site.server for server in servers),
                own_disk=located.local,
            )
        except RequestError as error:
            why, _, hint = str(error).partition("; hint: ")
            return Refused(path=path, why=why, servers=(), hint=hint)
    except TonnageError:
        pass  # Other queries report what does not answer.
    return None


def _shared_lines(site: Site) -> str | None:
    if site.lines is None:
        return None
    directory = Path(site.lines)

    def why_not() -> str | None:
        if not directory.is_dir():
            return "is not a directory"
        return None if os.access(directory, os.W_OK | os.X_OK) else "takes no lines of yours"

    try:
        return carefully(why_not, [directory], timeout_s=site.policy.file_timeout / 1e9)
    except OSError:
        return "does not answer"
