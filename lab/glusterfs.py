"""A real GlusterFS over the hosts of a lab: bricks on devices of known speed, hand-written volume files, no glusterd.

Every host mounts the volume by FUSE under the same path, those that serve it as well: a job beside the data reads
through the same client as one far from it, over the loopback interface in the place of the link, and the working
directory is the same everywhere.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hosts import Daemon, Host, Hosts, blkio_root_groups, wait_for
from impossible import Impossible, require
from throttled import GIB, MAKE, Throttled

PORT = 24100
MOUNT = Path("/run/data")
NO_GROUP = Path("/nonexistent")
TOOLS = ("glusterfsd", "glusterfs", "mount.glusterfs")


@dataclass(frozen=True)
class Brick:
    """A place that a volume spreads its files over."""

    name: str
    server: str
    device: Throttled
    port: int
    daemon: Daemon

    @property
    def directory(self) -> Path:
        """As it is reached from outside."""
        return self.device.path / "brick"


@dataclass(frozen=True)
class Volume:
    """A volume that every host has mounted at ``path``."""

    name: str
    path: Path
    hosts: Hosts
    bricks: tuple[Brick, ...]
    clients: dict[str, Daemon]

    def forget(self) -> None:
        """No file's data is in anybody's memory any more, neither a client's nor a brick's."""
        trees = [*(self.at(name) for name in self.hosts), *(brick.directory for brick in self.bricks)]
        for path in (path for tree in trees for path in tree.rglob("*")):
            if path.is_file() and not path.is_symlink():
                _forget(path)

    def at(self, host: str) -> Path:
        """The mount of one host as it is reached from outside."""
        return self.hosts[host].path(self.path)


def _forget(path: Path) -> None:
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(file)


@contextlib.contextmanager
def volume(
    hosts: Hosts,
    servers: tuple[str, ...],
    *,
    name: str = "scratch",
    bytes_per_s: int = 0,
    size: int = 2 * GIB,
    latency_us: int = 0,
    at: Path = MOUNT,
    port: int = PORT,
) -> Iterator[Volume]:
    """A volume with a brick on each of ``servers`` (a host named twice has two), mounted at ``at`` on all hosts.

    ``bytes_per_s``: limit of each brick's device, 0 none. ``latency_us``: what each read and write waits in the brick
    besides, as for a disk's arm: 16 may wait at once. ``port``: of the first brick; the others follow. Impossible where
    GlusterFS cannot run.
    """
    require(TOOLS)
    with contextlib.ExitStack() as stack:
        bricks = []
        for number, server in enumerate(servers):
            device = stack.enter_context(device_of(hosts[server], f"{name}-{number}", size))
            bricks.append(_brick(hosts[server], f"{name}-client-{number}", device, port + number, latency_us))
            stack.callback(bricks[-1].daemon.end)
        (hosts.site / f"{name}.vol").write_text(_client(name, bricks))
        clients = {}
        for host in hosts.values():
            clients[host.name] = _mount(host, servers[0], name, at)
            stack.callback(_unmount, host, at)
        whole = Volume(name, at, hosts, tuple(bricks), clients)
        _answers(whole)
        for brick in bricks if bytes_per_s else ():
            if brick.device.group == NO_GROUP:
                raise Impossible("no blkio controller of cgroup version 1 is mounted here")
            brick.device.limit(bytes_per_s=bytes_per_s)
        yield whole


@contextlib.contextmanager
def device_of(host: Host, name: str, size: int, file_system: str = "xfs") -> Iterator[Throttled]:
    """A file system of its own on a host, on a loop device on memory that goes with the hosts.

    It can be given limits where the blkio controller of cgroup version 1 is mounted.
    """
    require([MAKE[file_system][0]])
    image, path = Path(f"/run/{name}.image"), Path(f"/run/{name}")
    with host.path(image).open("xb") as stream:
        stream.truncate(size)
    host.path(path).mkdir()
    device = host.run("losetup", "--find", "--show", image).stdout.strip()
    try:
        host.run(*MAKE[file_system], device)
        host.run("mount", "-o", "noatime", device, path)
    finally:
        # It goes with its mount, and that with the host, whatever ends it.
        host.run("losetup", "--detach", device)
    groups = blkio_root_groups()
    made = Throttled(host.path(path), device, groups[0] if groups else NO_GROUP)
    try:
        yield made
    finally:
        if groups:
            made.limit()
        host.run("umount", "--lazy", path, check=False)
        host.path(image).unlink()


def _brick(host: Host, name: str, device: Throttled, port: int, latency_us: int) -> Brick:
    top = f"/run/{device.path.name}"
    (device.path / "brick").mkdir()
    layers = [
        ("posix", "storage/posix", {"directory": f"{top}/brick"}),
        ("locks", "features/locks", {}),
        *[("delay", "debug/delay-gen", _delays(latency_us))] * bool(latency_us),
        ("threads", "performance/io-threads", {"thread-count": "16"}),
    ]
    text, below = "", ""
    for kind, translator, options in layers:
        text += _layer(f"{name}-{kind}", translator, options, [below] if below else [])
        below = f"{name}-{kind}"
    text += _layer(name, "debug/io-stats", {}, [below])
    listen = {"transport-type": "tcp", "transport.socket.listen-port": str(port), f"auth.addr.{name}.allow": "*"}
    text += _layer("server", "protocol/server", listen, [name])
    file = Path(f"/run/{name}.vol")
    host.path(file).write_text(text)
    daemon = host.daemon(
        "glusterfsd", "--no-daemon", f"--volfile={file}", "--log-file=/dev/stderr", f"--pid-file=/run/{name}.pid"
    )
    return Brick(name, host.name, device, port, daemon)


def _delays(latency_us: int) -> dict[str, str]:
    return {"delay-percentage": "100", "delay-duration": str(latency_us), "enable": "read,write"}


def _client(name: str, bricks: list[Brick]) -> str:
    text = ""
    for brick in bricks:
        where = {"remote-host": brick.server, "remote-port": str(brick.port), "remote-subvolume": brick.name}
        text += _layer(brick.name, "protocol/client", {"transport-type": "tcp", **where, "ping-timeout": "10"}, [])
    text += _layer(f"{name}-dht", "cluster/distribute", {}, [brick.name for brick in bricks])
    return text + _layer(name, "performance/write-behind", {}, [f"{name}-dht"])


def _layer(name: str, kind: str, options: dict[str, str], below: list[str]) -> str:
    lines = [f"volume {name}", f"  type {kind}", *(f"  option {key} {value}" for key, value in options.items())]
    lines += [f"  subvolumes {' '.join(below)}"] * bool(below)
    return "\n".join([*lines, "end-volume", "", ""])


def _mount(host: Host, server: str, name: str, at: Path) -> Daemon:
    host.path(at).mkdir(parents=True, exist_ok=True)
    return host.daemon(
        "glusterfs", "--no-daemon", f"--volfile=/run/site/{name}.vol", f"--fs-display-name={server}:/{name}",
        "--log-file=/dev/stderr", f"--pid-file=/run/{name}-mount.pid", str(at),
    )  # fmt: skip


def _answers(whole: Volume) -> None:
    """Every host sees the volume, with all its bricks."""
    for name, client in whole.clients.items():
        host = whole.hosts[name]

        def there(host: Host = host, client: Daemon = client) -> bool:
            if not client.running():
                raise Impossible(f"glusterfs ended on {host.name}: {client.output_end()}")
            return host.mounted(whole.path) and not host.run("ls", whole.path, check=False).returncode

        wait_for(there, f"{name} mounts {whole.name}: {client.output_end()}")


def _unmount(host: Host, at: Path) -> None:
    host.run("umount", "--lazy", at, check=False)
