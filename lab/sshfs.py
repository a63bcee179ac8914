"""A real sshfs over the hosts of a lab: one host's directory, under the same path on all."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hosts import Daemon, Host, Hosts, wait_for
from impossible import Impossible, require

MOUNT = Path("/run/home")
_SSHD = "/usr/sbin/sshd"
_KEY, _SERVER_KEY = "/run/site/ssh.key", "/run/site/sshd.key"
_SERVER = f"""HostKey {_SERVER_KEY}
AuthorizedKeysFile {_KEY}.pub
PermitRootLogin prohibit-password
StrictModes no
UsePAM no
PidFile none
Subsystem sftp internal-sftp
"""


@dataclass(frozen=True)
class Home:
    """A directory of ``server`` that every host sees at ``path``: there it is its own."""

    path: Path
    server: str
    hosts: Hosts
    daemon: Daemon
    clients: dict[str, Daemon]


def sshd(hosts: Hosts, server: str) -> Daemon:
    """A server that takes the key of the lab, and no other, from root of any host."""
    host = hosts[server]
    for key in (_KEY, _SERVER_KEY):
        if not host.path(key).exists():
            host.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key)
    host.path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    host.path("/run/sshd.conf").write_text(_SERVER)
    daemon = host.daemon(_SSHD, "-D", "-e", "-f", "/run/sshd.conf")
    wait_for(lambda: not daemon.running() or "listening on" in daemon.output_end(), "sshd listens")
    if not daemon.running():
        raise Impossible(f"sshd ended: {daemon.output_end()}")
    return daemon


def options() -> list[str]:
    """What a client of these servers says."""
    quiet = ["StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "LogLevel=ERROR", "BatchMode=yes"]
    return [word for one in (f"IdentityFile={_KEY}", *quiet) for word in ("-o", one)]


@contextlib.contextmanager
def home(hosts: Hosts, server: str, *, at: Path = MOUNT) -> Iterator[Home]:
    """Mounted on every other host for as long as the context lasts. Impossible where sshfs cannot run."""
    require((_SSHD, "sshfs", "ssh-keygen"))
    with contextlib.ExitStack() as stack:
        for host in hosts.values():
            host.path(at).mkdir(parents=True, exist_ok=True)
        daemon = sshd(hosts, server)
        stack.callback(daemon.end)
        clients = {}
        for host in (host for host in hosts.values() if host.name != server):
            clients[host.name] = host.daemon("sshfs", "-f", *options(), f"root@{server}:{at}", at)
            stack.callback(host.run, "umount", "--lazy", at, check=False)
        for name, client in clients.items():
            _answers(hosts[name], client, at)
        yield Home(at, server, hosts, daemon, clients)


def _answers(host: Host, client: Daemon, at: Path) -> None:
    def there() -> bool:
        if not client.running():
            raise Impossible(f"sshfs ended on {host.name}: {client.output_end()}")
        return host.mounted(at)

    wait_for(there, f"sshfs mounts on {host.name}")
