"""A real NFS server of version 3 over the hosts of a lab: nfs-ganesha with rpcbind. It takes no kernel client.

``python lab/nfs.py`` starts one and says how to reach it, until Ctrl-C.
"""

from __future__ import annotations

import contextlib
import shutil
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from glusterfs import device_of
from hosts import Daemon, Host, hosts, wait_for
from throttled import GIB, Impossible, terminated_as_exit

TOOLS = ("ganesha.nfsd", "rpcbind")
EXPORT = "/run/export"
"""What everybody may write to."""
SQUASHED = "/run/export/squashed"
"""What root may only read: it is nobody there, and the directory is root's."""
_CONF = """NFS_CORE_PARAM {
  Protocols = 3; Enable_NLM = false; Enable_RQUOTA = false; Enable_UDP = false; MNT_Port = 20048;
}
NFSv4 { Graceless = true; RecoveryBackend = fs; RecoveryRoot = /run/ganesha; }
EXPORT_DEFAULTS { Access_Type = RW; SecType = sys; Protocols = 3; Transports = TCP; }
EXPORT { Export_Id = 1; Path = EXPORTED; Pseudo = EXPORTED; Squash = None; FSAL { Name = VFS; } }
EXPORT { Export_Id = 2; Path = SQUASHED; Pseudo = SQUASHED; Squash = Root; FSAL { Name = VFS; } }
EXPORT {
  Export_Id = 3; Path = EXPORTED; Pseudo = /elsewhere; Tag = refused; Access_Type = None; Squash = None;
  CLIENT { Clients = 192.0.2.1; Access_Type = RW; }
  FSAL { Name = VFS; }
}
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

    def start(self) -> None:
        """Until it takes calls."""
        daemon = self.host.daemon(
            "ganesha.nfsd", "-F", "-f", "/run/ganesha.conf", "-L", "/dev/stderr", "-p", "/run/ganesha.pid"
        )
        self.daemons.append(daemon)
        wait_for(lambda: not daemon.running() or self.answers(), "nfs-ganesha answers")
        if not daemon.running():
            raise Impossible(f"ganesha.nfsd ended: {daemon.said()}")

    def kill(self) -> None:
        """At once, with all that it has not committed."""
        self.daemons.pop().end()

    def answers(self) -> bool:
        """Whether rpcbind on its host knows it."""
        listed = self.host.run("rpcinfo", "-T", "tcp", "127.0.0.1", "nfs", "3", check=False)
        return listed.returncode == 0

    def names(self) -> list[str]:
        """All that is in the export."""
        return sorted(str(path.relative_to(self.directory)) for path in self.directory.rglob("*"))


@contextlib.contextmanager
def server(host: Host, *, size: int = GIB) -> Iterator[Server]:
    """For as long as the context lasts. Impossible where nfs-ganesha or rpcbind cannot run."""
    if missing := [tool for tool in TOOLS if not shutil.which(tool)]:
        raise Impossible(f"{missing[0]} is not installed")
    with device_of(host, "export", size, file_system="ext4") as device:
        host.path("/run/ganesha").mkdir()
        host.path("/run/rpcbind").mkdir(exist_ok=True)
        (device.path / "squashed").mkdir(mode=0o755)
        conf = _CONF.replace("EXPORTED", EXPORT).replace("SQUASHED", SQUASHED)
        host.path("/run/ganesha.conf").write_text(conf)
        found = Server(host, device.path)
        portmapper = host.daemon("rpcbind", "-f", "-w")
        try:
            wait_for(lambda: not portmapper.running() or host.path("/run/rpcbind.sock").exists(), "rpcbind answers")
            found.start()
            yield found
        finally:
            for daemon in [*found.daemons, portmapper]:
                daemon.end()


def main() -> int:
    """Until Ctrl-C."""
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
