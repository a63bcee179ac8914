"""A real CephFS over the hosts of a lab: one monitor, one OSD a server, in memory, mounted by ceph-fuse."""

from __future__ import annotations

import contextlib
import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hosts import Host, Hosts, wait_for
from impossible import Impossible, require

MOUNT = Path("/run/cephfs")
CONF = Path("/etc/ceph/ceph.conf")
TOOLS = ("ceph", "ceph-mon", "ceph-mgr", "ceph-osd", "ceph-mds", "ceph-fuse", "monmaptool")

# An empty module path: the manager does not load its 30 Python modules. The interval: the monitor waits 1 s before
# each change otherwise.
_CONF = """[global]
fsid = {fsid}
mon host = {address}
mon initial members = a
auth cluster required = none
auth service required = none
auth client required = none
log to stderr = true
err to stderr = true
log file =
pid file =
paxos propose interval = 0.05
mon allow pool size one = true
mon data = /run/ceph/mon
mon data avail warn = 1
mon data avail crit = 0
mgr data = /run/ceph/mgr
mgr module path = /run/site/ceph-modules
mds data = /run/ceph/mds
mds tick interval = 0.2
osd data = /run/ceph/osd
osd objectstore = memstore
memstore device bytes = 536870912
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 8
osd pool default pg autoscale mode = off
mon warn on pool no redundancy = false
"""


@dataclass(frozen=True)
class Cephfs:
    """A file system that ``client`` has mounted at ``path``."""

    path: Path
    client: Host
    servers: tuple[Host, ...]

    def ceph(self, *words: str) -> str:
        """What ``ceph`` prints, asked on the client."""
        return self.client.run("ceph", "--conf", CONF, *words).stdout


@contextlib.contextmanager
def cephfs(hosts: Hosts, servers: tuple[str, ...], client: str, *, at: Path = MOUNT) -> Iterator[Cephfs]:
    """For as long as the hosts last; the first of ``servers`` has the monitor. Impossible where Ceph cannot run."""
    require(TOOLS)
    with contextlib.ExitStack() as stack:
        whole = Cephfs(at, hosts[client], tuple(hosts[name] for name in servers))
        first, fsid = whole.servers[0], str(uuid.uuid4())
        hosts[client].path(CONF.parent).mkdir(exist_ok=True)
        hosts[client].path(CONF).write_text(_CONF.format(fsid=fsid, address=first.address))
        hosts[client].path("/run/site/ceph-modules").mkdir()
        for host in hosts.values():
            host.path("/run/ceph").mkdir()
        _monitor(first, fsid)
        for number, host in enumerate(whole.servers):
            _storage(host, number, whole)
        first.path("/run/ceph/mds").mkdir()
        first.daemon("ceph-mds", "--foreground", "--id=m", f"--conf={CONF}")
        for pool in ("metadata", "data"):
            whole.ceph("osd", "pool", "create", pool)
        whole.ceph("fs", "new", "cephfs", "metadata", "data")
        wait_for(lambda: ":active" in whole.ceph("mds", "stat"), "the metadata server is active")
        hosts[client].path(at).mkdir()
        daemon = hosts[client].daemon("ceph-fuse", "-f", f"--conf={CONF}", at)
        stack.callback(hosts[client].run, "umount", "--lazy", at, check=False)
        wait_for(lambda: hosts[client].mounted(at) or not daemon.running(), "ceph-fuse mounts")
        if not daemon.running():
            raise Impossible(f"ceph-fuse ended: {daemon.output_end()}")
        yield whole


def _monitor(host: Host, fsid: str) -> None:
    where = f"[v2:{host.address}:3300,v1:{host.address}:6789]"
    host.run("monmaptool", "--create", "--fsid", fsid, "--addv", "a", where, "/run/ceph/monmap")
    for kind in ("mon", "mgr"):
        host.path(f"/run/ceph/{kind}").mkdir()
    host.run("ceph-mon", "--mkfs", "--id=a", f"--conf={CONF}", "--monmap=/run/ceph/monmap")
    host.daemon("ceph-mon", "--foreground", "--id=a", f"--conf={CONF}")
    host.daemon("ceph-mgr", "--foreground", "--id=x", f"--conf={CONF}")


def _storage(host: Host, number: int, whole: Cephfs) -> None:
    host.path("/run/ceph/osd").mkdir()
    words = ("ceph-osd", f"--id={number}", f"--conf={CONF}")
    # A store in memory takes no number from outside: it draws one, and is made known by it.
    host.run(*words, "--mkfs")
    whole.ceph("osd", "new", host.path("/run/ceph/osd/fsid").read_text().strip(), str(number))
    daemon = host.daemon(*words, "--foreground")

    def up() -> bool:
        if not daemon.running():
            raise Impossible(f"ceph-osd ended on {host.name}: {daemon.output_end()}")
        found = json.loads(whole.ceph("osd", "dump", "--format=json"))["osds"]
        return any(one["osd"] == number and one["up"] for one in found)

    wait_for(up, f"osd.{number} is up")
