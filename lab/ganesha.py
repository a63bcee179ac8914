"""A real NFS server over the hosts of a lab: nfs-ganesha with one export. To mount it takes a kernel with a client."""

from __future__ import annotations

import contextlib
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from glusterfs import device_of
from hosts import Host, Hosts, wait_for
from throttled import GIB, Impossible

EXPORT = "/export/home"
_CONF = """NFS_CORE_PARAM { Protocols = 4; Enable_NLM = false; Enable_RQUOTA = false; }
NFSv4 { Graceless = true; RecoveryBackend = fs; RecoveryRoot = /run/ganesha; }
EXPORT {
  Export_Id = 1; Path = PATH; Pseudo = PSEUDO; Access_Type = RW; Squash = None; SecType = sys;
  Protocols = 4; Transports = TCP;
  FSAL { Name = VFS; }
}
"""
# RPC version 2, program 100003 (NFS), version 4, procedure 0, no credentials; the 7th word of the answer is its status.
_NULL_CALL = """
import socket, struct, sys
with socket.create_connection((sys.argv[1], 2049), timeout=2) as link:
    link.sendall(struct.pack(">11I", 1 << 31 | 40, 7, 0, 2, 100003, 4, 0, 0, 0, 0, 0))
    said = struct.unpack(">7I", link.recv(28, socket.MSG_WAITALL))
sys.exit(said[1:4] != (7, 1, 0) or said[6] != 0)
"""


@dataclass(frozen=True)
class Export:
    """What ``server`` exports as :data:`EXPORT`."""

    server: str
    address: str
    directory: Path
    """As it is reached from outside."""

    def mountinfo(self, at: str, client: str) -> str:
        """The line of a client's mount table for it, as Linux 6.1 prints it for ``mount -t nfs4``."""
        options = f"rw,vers=4.2,rsize=1048576,wsize=1048576,hard,proto=tcp,clientaddr={client},addr={self.address}"
        return f"500 1 0:99 / {at} rw,relatime shared:9 - nfs4 {self.server}:{EXPORT} {options}"


@contextlib.contextmanager
def export(hosts: Hosts, server: str, client: str) -> Iterator[Export]:
    """For as long as the context lasts, once it answers ``client``. Impossible where nfs-ganesha cannot run."""
    if not shutil.which("ganesha.nfsd"):
        raise Impossible("ganesha.nfsd is not installed")
    host = hosts[server]
    with device_of(host, "export", GIB, file_system="ext4") as device:
        host.path("/run/ganesha").mkdir()
        host.path("/run/ganesha.conf").write_text(_CONF.replace("PATH", "/run/export").replace("PSEUDO", EXPORT))
        daemon = host.daemon(
            "ganesha.nfsd", "-F", "-f", "/run/ganesha.conf", "-L", "/dev/stderr", "-p", "/run/ganesha.pid"
        )
        try:
            wait_for(lambda: not daemon.running() or answers(hosts[client], server), "nfs-ganesha answers")
            if not daemon.running():
                raise Impossible(f"ganesha.nfsd ended: {daemon.said()}")
            yield Export(server, host.address, device.path)
        finally:
            daemon.end()


def answers(client: Host, server: str) -> bool:
    """Whether a client's call that does nothing (RFC 7530, 15.1) comes back with success."""
    return not client.run(sys.executable, "-c", _NULL_CALL, server, check=False).returncode
