"""A real MooseFS over the hosts of a lab: a master, chunk servers with a label each, and the mount on one host.

Each label has a storage class of its own, ``only-a`` and on, which keeps one copy on the servers of that label: what
``mfssetsclass`` pins a directory with.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from hosts import Daemon, Host, Hosts, wait_for
from impossible import Impossible, require

TOOLS = ("mfsmaster", "mfschunkserver", "mfsmount", "mfsfileinfo", "mfssetsclass", "mfsscadmin")
MOUNT = Path("/run/moosefs")
CHUNK_PORT = 9422
_PORT = 9421
"""On which the master waits for clients."""
_EMPTY = b"MFSM NEW"
"""What a master that was never started reads as its metadata."""


@dataclass(frozen=True)
class Moosefs:
    """A file system that ``client`` has mounted at ``path``."""

    path: Path
    client: Host
    servers: dict[str, str]
    """Chunk server, as ``mfsfileinfo`` prints it (``10.77.0.3:9422``), by the storage class that is its alone."""

    @property
    def at(self) -> Path:
        """The mount as it is reached from outside."""
        return self.client.path(self.path)


@contextlib.contextmanager
def moosefs(hosts: Hosts, master: str, servers: Sequence[str], client: str) -> Iterator[Moosefs]:
    """Impossible where MooseFS cannot run."""
    require(TOOLS)
    labels = {name: chr(ord("A") + number) for number, name in enumerate(servers)}
    with contextlib.ExitStack() as stack:
        stack.callback(_master(hosts[master]).end)
        for name, label in labels.items():
            stack.callback(_chunk_server(hosts[name], master, label).end)
        node = hosts[client]
        stack.callback(_mount(node, master).end)
        stack.callback(lambda: node.run("umount", "--lazy", MOUNT, check=False))
        for label in labels.values():
            wait_for(lambda label=label: _has_class(node, label), f"MooseFS takes the storage class of {label}")
        found = Moosefs(
            MOUNT,
            node,
            {f"only-{label.lower()}": f"{hosts[name].address}:{CHUNK_PORT}" for name, label in labels.items()},
        )
        wait_for(lambda: _takes_files(found), "MooseFS writes to all of its chunk servers")
        yield found


def _common(data: Path) -> str:
    return f"WORKING_USER = root\nWORKING_GROUP = root\nDATA_PATH = {data}\nLOCK_MEMORY = 0\nFILE_UMASK = 022\n"


def _master(host: Host) -> Daemon:
    data = Path("/run/mfsmaster")
    host.path(data).mkdir()
    host.path(data / "metadata.mfs").write_bytes(_EMPTY)
    host.path(data / "exports").write_text("* / rw,alldirs,admin,maproot=0:0\n")
    host.path(data / "topology").touch()
    text = f"EXPORTS_FILENAME = {data}/exports\nTOPOLOGY_FILENAME = {data}/topology\n"
    host.path(data / "conf").write_text(_common(data) + text)
    daemon = host.daemon("mfsmaster", "-f", "-u", "-c", data / "conf", "start")
    try:
        wait_for(lambda: not daemon.running() or _listens(host), "mfsmaster listens")
    except Impossible:
        daemon.end()
        raise
    if not daemon.running():
        raise Impossible(f"mfsmaster ended: {daemon.output_end()}")
    return daemon


def _listens(host: Host) -> bool:
    """Whether somebody waits for clients on the host (state 0A of /proc/net/tcp)."""
    rows = [line.split() for line in Path(f"/proc/{host.pid}/net/tcp").read_text().splitlines()[1:]]
    return any(row[1].endswith(f":{_PORT:04X}") and row[3] == "0A" for row in rows)


def _chunk_server(host: Host, master: str, label: str) -> Daemon:
    data, disk = Path("/run/mfschunkserver"), Path("/run/mfsdisk")
    host.path(data).mkdir()
    host.path(disk).mkdir()
    host.path(data / "disks").write_text(f"{disk}\n")
    text = (
        f"HDD_CONF_FILENAME = {data}/disks\nMASTER_HOST = {master}\nLABELS = {label}\nMASTER_RECONNECTION_DELAY = 1\n"
    )
    # A tenth of a small memory file system is room enough.
    host.path(data / "conf").write_text(_common(data) + text + "HDD_LEAVE_SPACE_DEFAULT = 16MiB\n")
    return host.daemon("mfschunkserver", "-f", "-u", "-c", data / "conf", "start")


def _mount(host: Host, master: str) -> Daemon:
    host.path(MOUNT).mkdir()
    daemon = host.daemon("mfsmount", "-f", "-H", master, MOUNT)
    wait_for(lambda: host.mounted(MOUNT) or not daemon.running(), "mfsmount mounts")
    if not daemon.running():
        raise Impossible(f"mfsmount ended: {daemon.output_end()}")
    return daemon


def _has_class(host: Host, label: str) -> bool:
    name = f"only-{label.lower()}"
    host.run("mfsscadmin", MOUNT, "create", label, name, check=False)
    return name in host.run("mfsscadmin", MOUNT, "list", check=False).stdout.split()


def _takes_files(found: Moosefs) -> bool:
    for name in found.servers:
        directory = found.at / f"try-{name}"
        directory.mkdir(exist_ok=True)
        found.client.run("mfssetsclass", name, found.path / directory.name, check=False)
        try:
            (directory / "file").write_bytes(b"1" * 4096)
        except OSError:
            return False
        (directory / "file").unlink()
        directory.rmdir()
    return True
