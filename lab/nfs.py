"""A real NFS server of versions 3 and 4 over the hosts of a lab: nfs-ganesha with rpcbind. No kernel client is needed.

``python lab/nfs.py`` starts one and says how to reach it, until Ctrl-C.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from glusterfs import device_of
from hosts import Daemon, Host, hosts, wait_for
from impossible import Impossible, require
from throttled import GIB, terminated_as_exit

TOOLS = ("ganesha.nfsd", "rpcbind")
EXPORT = "/run/export"
"""What everybody may write to."""
HOME = "/export/home"
"""The same by version 4, whose exports have names of their own."""
SQUASHED = "/run/export/squashed"
"""What root may only read: it is nobody there, and the directory is root's."""
_CONF = """NFS_CORE_PARAM {
  Protocols = 3, 4; Enable_NLM = false; Enable_RQUOTA = false; Enable_UDP = false; MNT_Port = 20048;
}
NFSv4 { Graceless = true; RecoveryBackend = fs; RecoveryRoot = /run/ganesha; }
EXPORT_DEFAULTS { Access_Type = RW; SecType = sys; Protocols = 3; Transports = TCP; }
EXPORT { Export_Id = 1; Path = EXPORTED; Pseudo = HOME; Protocols = 3, 4; Squash = None; FSAL { Name = VFS; } }
EXPORT { Export_Id = 2; Path = SQUASHED; Pseudo = SQUASHED; Squash = Root; FSAL { Name = VFS; } }
EXPORT {
  Export_Id = 3; Path = EXPORTED; Pseudo = /elsewhere; Tag = refused; Access_Type = None; Squash = None;
  CLIENT { Clients = 192.0.2.1; Access_Type = RW; }
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


@dataclass
class Server:
    """A server that exports :data:`EXPORT`, from a file system of its own."""

    host: Host
    directory: Path
    """What it exports, as it is reached from outside."""
    daemons: list[Daemon] = field(default_factory=list)

    @property
    def uri(self) -> str:
        """As a target is written, on any host of the lab."""
        return f"nfs://{self.host.name}{EXPORT}"

    def mountinfo(self, at: str, client: str) -> str:
        """The line of a client's mount table for it, as Linux 6.1 prints it for ``mount -t nfs4``."""
        options = f"rw,vers=4.2,rsize=1048576,wsize=1048576,hard,proto=tcp,clientaddr={client},addr={self.host.address}"
        return f"500 1 0:99 / {at} rw,relatime shared:9 - nfs4 {self.host.name}:{HOME} {options}"

    def start(self) -> None:
        """Until it takes calls."""
        daemon = self.host.daemon(
            "ganesha.nfsd", "-F", "-f", "/run/ganesha.conf", "-L", "/dev/stderr", "-p", "/run/ganesha.pid"
        )
        self.daemons.append(daemon)
        wait_for(lambda: not daemon.running() or self.answers(), "nfs-ganesha answers")
        if not daemon.running():
            raise Impossible(f"ganesha.nfsd ended: {daemon.output_end()}")

    def kill(self) -> None:
        """At once, with all that it has not committed."""
        self.daemons.pop().end()

    def send(self, number: signal.Signals) -> None:
        """The signal reaches it."""
        self.daemons[-1].send(number)

    def answers(self) -> bool:
        """Whether rpcbind on its host knows it."""
        listed = self.host.run("rpcinfo", "-T", "tcp", "127.0.0.1", "nfs", "3", check=False)
        return listed.returncode == 0

    def answers_version_4(self, client: Host) -> bool:
        """Whether a client's call that does nothing (RFC 7530, 15.1) comes back with success."""
        return not client.run(sys.executable, "-c", _NULL_CALL, self.host.name, check=False).returncode

    def names(self) -> list[str]:
        """All that is in the export."""
        return sorted(str(path.relative_to(self.directory)) for path in self.directory.rglob("*"))


@contextlib.contextmanager
def _disk(host: Host, size: int) -> Iterator[Path]:
    with device_of(host, Path(EXPORT).name, size, file_system="ext4") as device:
        yield device.path


@contextlib.contextmanager
def _tmpfs(host: Host, size: int) -> Iterator[Path]:
    directory = host.path(EXPORT)
    directory.mkdir()
    host.run("mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", EXPORT)
    try:
        yield directory
    finally:
        host.run("umount", "--lazy", EXPORT, check=False)


@contextlib.contextmanager
def server(host: Host, *, size: int = GIB, memory: bool = False) -> Iterator[Server]:
    """For as long as the context lasts; with ``memory`` it exports a tmpfs, which nothing is slow in, and a COMMIT does
    nothing. Impossible where nfs-ganesha or rpcbind cannot run."""
    require(TOOLS)
    place = _tmpfs(host, size) if memory else _disk(host, size)
    with place as directory:
        host.path("/run/ganesha").mkdir()
        host.path("/run/rpcbind").mkdir(exist_ok=True)
        (directory / "squashed").mkdir(mode=0o755)
        conf = _CONF.replace("EXPORTED", EXPORT).replace("SQUASHED", SQUASHED).replace("HOME", HOME)
        host.path("/run/ganesha.conf").write_text(conf)
        found = Server(host, directory)
        portmapper = host.daemon("rpcbind", "-f", "-w")
        try:
            wait_for(lambda: not portmapper.running() or host.path("/run/rpcbind.sock").exists(), "rpcbind answers")
            found.start()
            yield found
        finally:
            for daemon in [*found.daemons, portmapper]:
                daemon.end()


def main() -> int:
    """Runs the server until Ctrl-C."""
    with terminated_as_exit(), hosts(["server", "client"]) as site, server(site["server"]) as found:
        print(
            f"{found.uri} on a host of the lab: nsenter --target {site['client'].pid} --mount --net --pid", flush=True
        )
        with contextlib.suppress(KeyboardInterrupt):
            while True:
                time.sleep(3600)
    return 0


if __name__ == "__main__":
    sys.exit(main())
