"""Hosts on one machine: each a set of namespaces with its name, its address and its processes, on a link of known rate.

All hosts hang on one switch, or on one at each site with a cable between them. The switches are a set of namespaces
like the hosts, and the hosts in its process numbers: whatever ends the program that started them ends the switch, and
with it every process, mount, loop device and interface below. Nothing of it has a name outside. ``/run`` is a file
system in memory that ends with the switch as well: ``/run`` of a host is its own, ``/run/site`` is shared by all.
``/etc`` is a copy that the hosts share, with their names in ``/etc/hosts``. Needs root, that of a user namespace is
enough.

As a program: ``python lab/hosts.py --clean`` takes back what a killed lab cannot: limits of loop devices.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from impossible import Impossible, require
from throttled import terminated_as_exit

SITE = Path("/run/site")
NETWORK = "10.77.0"
PATIENCE_S = 60.0
"""Longer than anything here takes to start or to end, on a machine that does other things as well."""
TOOLS = ("setpriv", "unshare", "nsenter", "ip", "tc", "mount")
_LOOK_S = 0.005

# A shell as the first process takes the orphans in; its arguments are the host's name.
# nsenter stops with the program that it started, and would hold its end back: the shell between them does not.
_DAEMON = '"$@" & wait "$!"'
_SWITCH = """set -e
mount -t tmpfs -o mode=755 site /run
mkdir /run/site /run/of
# What only the machine's own root may read stays out of a copy that another makes.
cp -dR --preserve=mode,timestamps,links /etc /run/etc 2>/dev/null || test -e /run/etc/passwd
mount --bind /run/etc /etc
echo ready
sleep infinity; :
"""
_HOST = """set -e
hostname "$1"
mkdir -p "/run/of/$1/site"
mount --bind /run/site "/run/of/$1/site"
mount --rbind "/run/of/$1" /run
mkdir /run/lock
shift
if [ "$1" = own ]; then
  shift
  mkdir /run/machine
  mount --rbind /tmp /run/machine
  mount -t tmpfs -o mode=1777 tmp /tmp
  mount -t tmpfs -o mode=1777 shm /dev/shm
  for path in "$@"; do
    mkdir -p "$path"
    mount --rbind "/run/machine/${path#/tmp/}" "$path"
  done
  umount --lazy /run/machine
fi
echo ready
sleep infinity; :
"""


def wait_for(condition: Callable[[], bool], what: str, *, patience_s: float = PATIENCE_S) -> None:
    """Looks until it holds; Impossible with ``what`` if it does not in time."""
    until = time.monotonic() + patience_s
    while not condition():
        if time.monotonic() > until:
            raise Impossible(f"not within {patience_s:g} s: {what}")
        time.sleep(_LOOK_S)


def children(pid: int) -> list[int]:
    """Processes that it started and that still run or are not waited for."""
    with contextlib.suppress(OSError):
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


def ended(pid: int) -> bool:
    """It is gone, or nobody has waited for it yet."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    return True


class Daemon:
    """A program that runs on a host until it is stopped."""

    def __init__(self, outside: subprocess.Popen[bytes], log: Path) -> None:
        self._outside, self.log = outside, log
        found: list[int] = []

        def started() -> bool:
            found[:] = [pid for between in children(outside.pid) for pid in children(between)]
            return bool(found) or outside.poll() is not None

        wait_for(started, f"{outside.args} starts")
        self.pid = found[0] if found else -1
        """Its number outside the hosts."""

    def running(self) -> bool:
        return self.pid > 0 and not ended(self.pid)

    def output_end(self) -> str:
        """Returns the end of what it printed."""
        return self.log.read_text(errors="replace")[-2000:]

    def send(self, number: signal.Signals) -> None:
        """The signal reaches it, if it still runs."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def end(self) -> None:
        """Ends it at once, and waits until it is gone."""
        self.send(signal.SIGKILL)
        self.wait()

    def wait(self) -> None:
        """Until it is gone."""
        self._outside.wait(PATIENCE_S)


@dataclass(frozen=True)
class Host:
    """One host. Its programs see the files of this machine, but for ``/run`` and ``/etc``."""

    name: str
    address: str
    pid: int
    """Of its first process, outside."""
    port: str
    """Its interface at the switch."""
    site: str = ""
    """Whose switch that is."""
    daemons: list[Daemon] = field(default_factory=list)

    def path(self, inside: str | Path) -> Path:
        """A path of this host as it is reached from outside."""
        return Path(f"/proc/{self.pid}/root{Path('/') / inside}")

    def command_line(self, argv: Sequence[str | Path], directory: str | Path = "/") -> list[str]:
        """The command line that runs a program on this host."""
        enter = ["nsenter", f"--target={self.pid}", "--mount", "--uts", "--ipc", "--net", "--pid"]
        return [*enter, "env", f"--chdir={directory}", *map(str, argv)]

    def run(
        self,
        *argv: str | Path,
        directory: str | Path = "/",
        environment: Mapping[str, str] | None = None,
        timeout_s: float = PATIENCE_S,
        check: bool = True,
        text: str = "",
    ) -> subprocess.CompletedProcess[str]:
        """Runs a program to its end; Impossible with what it said if it fails and ``check``."""
        with subprocess.Popen(
            self.command_line(argv, directory),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=None if environment is None else {**os.environ, **environment},
            start_new_session=True,
        ) as process:
            try:
                out, err = process.communicate(text, timeout_s)
            except BaseException:
                for child in children(process.pid):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(child, signal.SIGKILL)
                process.kill()
                raise
        if check and process.returncode:
            raise Impossible(f"{argv[0]} failed on {self.name}: {(err or out).strip()[-2000:]}")
        return subprocess.CompletedProcess(list(map(str, argv)), process.returncode, out, err)

    def daemon(self, *argv: str | Path, environment: Mapping[str, str] | None = None) -> Daemon:
        """Starts a program that stays in the foreground; what it prints goes to a file of its own."""
        name = Path(argv[0]).name
        log = self.path(f"/run/{name}.{len(self.daemons)}.log")
        with log.open("xb") as stream:
            process = subprocess.Popen(
                self.command_line(["sh", "-c", _DAEMON, "sh", *argv]),
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
                env=None if environment is None else {**os.environ, **environment},
                start_new_session=True,
            )
        self.daemons.append(Daemon(process, log))
        return self.daemons[-1]

    def mounted(self, path: str | Path) -> bool:
        """Whether a file system is mounted there. Does not touch it."""
        lines = Path(f"/proc/{self.pid}/mountinfo").read_text().splitlines()
        return any(line.split()[4] == str(path) for line in lines)


@dataclass
class Hosts(Mapping[str, Host]):
    """All of them, by name, in the order in which they were named."""

    switch: int
    """The switch's first process."""
    every: dict[str, Host] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Host:
        return self.every[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.every)

    def __len__(self) -> int:
        return len(self.every)

    @property
    def site(self) -> Path:
        """The directory that all hosts share as ``/run/site``, as it is reached from outside."""
        return Path(f"/proc/{self.switch}/root{SITE}")

    @property
    def sites(self) -> tuple[str, ...]:
        """One for each switch; the first one's is in the middle."""
        return tuple(dict.fromkeys(host.site for host in self.values()))

    def limit(self, name: str, bytes_per_s: int, *, burst_ms: int = 100) -> None:
        """What a host sends, and what it is sent, from now on; each direction by itself. ``burst_ms`` of it ride free
        after a pause."""
        _limit(self[name].pid, "eth0", bytes_per_s, burst_ms)
        _limit(self.switch, self[name].port, bytes_per_s, burst_ms)

    def limit_between(self, bytes_per_s: int, *, burst_ms: int = 1) -> None:
        """What the cable of each site but the first carries, from now on; each direction by itself."""
        for number in range(1, len(self.sites)):
            for end in _cable(number):
                _limit(self.switch, end, bytes_per_s, burst_ms)

    def carried_between(self) -> tuple[int, int]:
        """Bytes that all limited cables have carried so far: down from the first site, and up to it."""
        ends = [_cable(number) for number in range(1, len(self.sites))]
        return sum(_carried(self.switch, down) for down, _ in ends), sum(_carried(self.switch, up) for _, up in ends)


def counted_early(network: Mapping[str, Any]) -> float:
    """What the flows of a trial may hold from before their receivers began to count, as a share of what their link
    carries in their time: it carries while a receiver's process lives, and on a busy machine that waits."""
    return max(2 * flow["start_uncertainty_ns"] / flow["elapsed_ns"] for flow in network["flows"])


def _limit(pid: int, interface: str, bytes_per_s: int, burst_ms: int) -> None:
    # Never less than a few frames, as the kernel hands them on: 64 KiB at a time.
    burst = max(70_000, bytes_per_s * burst_ms // 1000)
    rate = ["rate", f"{8 * bytes_per_s}bit", "burst", str(burst), "latency", "50ms"]
    _net(pid, "tc", "qdisc", "replace", "dev", interface, "root", "tbf", *rate)


def _carried(pid: int, interface: str) -> int:
    (limit,) = json.loads(_net(pid, "tc", "-s", "-j", "qdisc", "show", "dev", interface, "root"))
    return int(limit["bytes"])


def _cable(number: int) -> tuple[str, str]:
    """The two ends of what joins this switch to the first."""
    return f"down{number}", f"up{number}"


def _net(pid: int, *argv: str, text: str = "") -> str:
    """Runs a program in the network of a host, and in nothing else of it; returns what it prints."""
    done = subprocess.run(
        ["nsenter", f"--target={pid}", "--net", *argv],
        input=text, capture_output=True, text=True, check=False, timeout=PATIENCE_S,
    )  # fmt: skip
    if done.returncode:
        raise Impossible(f"{' '.join(argv)} failed: {done.stderr.strip()}")
    return done.stdout


@contextlib.contextmanager
def hosts(
    names: Sequence[str] | Mapping[str, Sequence[str]],
    *,
    link_bytes_per_s: int | None = None,
    own_tmp: Sequence[Path] | None = None,
) -> Iterator[Hosts]:
    """Hosts of these names for as long as the context lasts, each on a link of this rate. Impossible where none can be.

    A mapping names the hosts of each site. ``own_tmp``: each has a ``/tmp`` and a ``/dev/shm`` of its own, in which
    nothing of this machine's is but these directories. They end with the thread that started them: start them in the
    main thread.
    """
    if os.geteuid():
        raise Impossible("hosts of namespaces need root")
    require(TOOLS)
    clean()
    sites = names if isinstance(names, Mapping) else {"": names}
    places = [(name, where) for where, some in sites.items() for name in some]
    tmp = [] if own_tmp is None else ["own", *_below_tmp(own_tmp)]
    with contextlib.ExitStack() as stack:
        stack.enter_context(terminated_as_exit())
        switch = _started(stack, ["setpriv", "--pdeathsig=KILL"], _SWITCH, "switch")
        _ready([switch])
        first = _first(switch, 1)
        site = Hosts(first)
        enter = ["nsenter", f"--target={first}", "--mount", "--pid"]
        holders = [_started(stack, enter, _HOST, name, *tmp) for name, _ in places]
        _ready(holders)
        for number, ((name, where), holder) in enumerate(zip(places, holders, strict=True), 1):
            site.every[name] = Host(name, f"{NETWORK}.{number}", _first(holder, 2), f"port{number}", where)
        stack.callback(_end, site)
        _connect(site)
        if link_bytes_per_s is not None:
            for name in site:
                site.limit(name, link_bytes_per_s)
        yield site


def _below_tmp(paths: Sequence[Path]) -> list[str]:
    """The outermost of these directories that are in ``/tmp``."""
    tmp = Path("/tmp")
    inside = [path for path in dict.fromkeys(paths) if tmp in path.parents and path.is_dir()]
    return [str(path) for path in inside if not any(other in path.parents for other in inside)]


def _started(stack: contextlib.ExitStack, before: list[str], script: str, *words: str) -> subprocess.Popen[str]:
    spaces = ["--mount", "--uts", "--ipc", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
    process = subprocess.Popen(
        [*before, "unshare", *spaces, "--propagation=private", "sh", "-c", script, "sh", *words],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    stack.enter_context(process)
    stack.callback(process.kill)
    return process


def _ready(holders: list[subprocess.Popen[str]]) -> None:
    for process in holders:
        assert process.stdout and process.stderr
        if process.stdout.readline() != "ready\n":
            raise Impossible(f"no namespaces here: {process.stderr.read().strip()}")


def _first(holder: subprocess.Popen[str], depth: int) -> int:
    """The first process of a host: so many forks below the one that was started."""
    pid = holder.pid
    for _ in range(depth):
        (pid,) = children(pid)
    return pid


def _connect(site: Hosts) -> None:
    """A bridge for each site, a cable to each host and between the bridges, and everybody's names."""
    names = "".join(f"{host.address} {host.name}\n" for host in site.values())
    etc = Path(f"/proc/{site.switch}/root/etc")
    (etc / "hosts").write_text(f"127.0.0.1 localhost\n{names}")
    # Nobody is asked for a name that is not there: the answer would be long in coming.
    switch = (etc / "nsswitch.conf").read_text() if (etc / "nsswitch.conf").exists() else "hosts: files\n"
    (etc / "nsswitch.conf").write_text(re.sub(r"(?m)^hosts:.*$", "hosts: files", switch))
    lines = ["link set lo up"]
    for number in range(len(site.sites)):
        lines += [f"link add br{number} type bridge", f"link set br{number} up"]
        if number:
            down, up = _cable(number)
            lines += [f"link add {down} type veth peer name {up}"]
            lines += [f"link set {down} master br0 up", f"link set {up} master br{number} up"]
    for host in site.values():
        lines.append(f"link add {host.port} type veth peer name eth0 netns {host.pid}")
        lines.append(f"link set {host.port} master br{site.sites.index(host.site)} up")
    _net(site.switch, "ip", "-batch", "-", text="\n".join(lines) + "\n")
    for host in site.values():
        own = ["link set lo up", f"addr add {host.address}/24 dev eth0", "link set eth0 up"]
        _net(host.pid, "ip", "-batch", "-", text="\n".join(own) + "\n")


def _end(site: Hosts) -> None:
    """Ends all of it, and waits until the kernel has ended all that was in it."""
    # The hosts first, to the last: the kernel takes a second or two where the switch goes first.
    firsts = [host.pid for host in site.values()]
    for pid in firsts:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in firsts), "the hosts end")
    with contextlib.suppress(ProcessLookupError):
        os.kill(site.switch, signal.SIGKILL)
    wait_for(lambda: ended(site.switch), "the switch ends")
    for daemon in (daemon for host in site.values() for daemon in host.daemons):
        daemon.wait()


def clean() -> list[str]:
    """Takes the limits off loop devices that nobody uses any more; returns the devices. A killed lab leaves them."""
    found = []
    for group in blkio_root_groups():
        for file in group.glob("blkio.throttle.*_device"):
            for number in re.findall(r"(?m)^(7:\d+) ", file.read_text()):
                if os.access(file, os.W_OK) and not Path(f"/sys/dev/block/{number}/loop").exists():
                    file.write_text(f"{number} 0")
                    found.append(f"/dev/loop{number.partition(':')[2]}")
    return sorted(set(found))


def blkio_root_groups() -> list[Path]:
    """Where the root group of the blkio controller, version 1, is mounted, if it is."""
    fields = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    return [Path(path) for _, path, kind, options, *_ in fields if kind == "cgroup" and "blkio" in options.split(",")]


def main() -> int:
    parser = argparse.ArgumentParser(description="Takes back what a killed lab left.")
    parser.add_argument("--clean", action="store_true", required=True, help="limits of loop devices that nobody uses")
    parser.parse_args()
    for device in clean():
        print(f"no limits any more: {device}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
