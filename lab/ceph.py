"""A real Ceph on the loopback interface: a monitor and OSDs, in memory or on sparse files, for as long as a test.

``python lab/ceph.py`` starts one and says how to reach it, until Ctrl-C. The kernel ends the daemons where their
starter is killed.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hosts import wait_for
from impossible import Impossible, require
from load_index_sources import free_port
from throttled import terminated_as_exit

TOOLS = ("ceph", "ceph-mon", "ceph-osd", "monmaptool", "setpriv")
PATIENCE_S = 40.0
MANY_S = 120.0
"""For many questions at once."""

# The interval: the monitor waits 1 s before each change otherwise. A snapshot's objects are trimmed at once. One thread
# of an OSD for operations: memstore's iterator of keys (MemStore::OmapIteratorImpl) is not safe against another thread
# that removes one of them, and an OSD that trims snapshots in two threads ends by SIGSEGV about one time in five.
_CONF = """[global]
fsid = {fsid}
mon host = [v2:127.0.0.1:{port}]
mon initial members = a
public addr = 127.0.0.1
auth cluster required = {auth}
auth service required = {auth}
auth client required = {auth}
run dir = {directory}
log file =
admin socket =
pid file =
log to stderr = true
err to stderr = true
paxos propose interval = 0.05
mon data = {directory}/mon
mon data avail warn = 1
mon data avail crit = 0
mon allow pool size one = true
mon allow pool delete = true
mon warn on pool no redundancy = false
osd data = {directory}/osd.$id
osd objectstore = {store}
bluestore block size = {bytes}
memstore device bytes = {bytes}
bluestore fsck on mount = false
osd memory target = 939524096
osd crush chooseleaf type = 0
osd snap trim sleep hdd = 0
osd snap trim sleep = 0.0001
osd delete sleep hdd = 0
osd op num shards = 1
osd op num threads per shard = 1
osd pool default size = {copies}
osd pool default min size = 1
osd pool default pg num = {groups}
osd pool default pg autoscale mode = off
"""

_ALLOCATOR = {"LD_PRELOAD": "libtcmalloc.so.4", "TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES": "134217728"}
"""For a daemon's environment: the allocator that Ceph's own packages are linked to, and as they set it. Debian's use
glibc's, which gives an object's memory back with the message: an OSD spent two thirds of a 4 MiB write on 2,000 page
faults. Told to keep it, glibc's heap still grew from object to object. ceph-common brings the library; without it the
loader says so and goes on."""

_KEYS = """keyring = {directory}/keyring
[mon]
keyring = {directory}/mon/keyring
[osd]
keyring = {directory}/osd.$id/keyring
"""


class DaemonEnded(RuntimeError):
    """One that nobody stopped: what else went wrong is its symptom."""


@dataclass
class Ceph:
    """A cluster that runs."""

    directory: Path
    conf: Path
    daemons: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    """By name: ``mon.a``, ``osd.0`` …"""
    auth: str = "none"

    def ask(self, *words: str) -> str:
        """Returns what ``ceph`` prints."""
        argv = ["ceph", "--conf", str(self.conf), "--connect-timeout", "20", *words]
        return subprocess.run(argv, check=True, capture_output=True, text=True, timeout=PATIENCE_S).stdout

    def ask_all(self, asked: Iterable[str]) -> list[Any]:
        """What ``ceph`` answers to each of these, where it answers at all; all in one process: starting it takes half a
        second of a processor. CalledProcessError where it refuses one."""
        argv = ["ceph", "--conf", str(self.conf), "--connect-timeout", "20", "--format=json"]
        text = "".join(f"{one}\n" for one in asked)
        done = subprocess.run(argv, input=text, check=True, capture_output=True, text=True, timeout=MANY_S)
        if "Error E" in done.stderr:
            raise subprocess.CalledProcessError(1, argv, done.stdout, done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines() if line.strip()]

    def user(self, name: str, *caps: str) -> Path:
        """Makes a user with such rights (``mon``, ``allow r``, …); the keyring with its key."""
        path = self.directory / f"{name}.keyring"
        path.write_text(self.ask("auth", "get-or-create", name, *caps))
        return path

    def pool(self, name: str) -> str:
        """Makes a pool for objects."""
        self.ask_all([f"osd pool create {name}", f"osd pool application enable {name} rados"])
        return name

    def start_osds(self, *numbers: int) -> None:
        """Until they take operations, from what they had before if they were stopped."""
        daemons = {number: self.start(f"osd.{number}", "ceph-osd", f"--id={number}") for number in numbers}

        def up() -> bool:
            for number, daemon in daemons.items():
                if daemon.poll() is not None:
                    raise Impossible(f"ceph-osd ended: {self.log_end(f'osd.{number}')}")
            return daemons.keys() <= self.up()

        wait_for(up, f"OSDs {', '.join(map(str, numbers))} are up")

    def up(self) -> set[int]:
        """The OSDs that the monitor takes for up."""
        return {one["osd"] for one in json.loads(self.ask("osd", "dump", "--format=json"))["osds"] if one["up"]}

    def start(self, name: str, *argv: str) -> subprocess.Popen[bytes]:
        """A daemon in the foreground, which the kernel ends with this process."""
        words = ["setpriv", "--pdeathsig", "KILL", "--", *argv, "--foreground", f"--conf={self.conf}"]
        with (self.directory / f"{name}.log").open("ab") as log:
            self.daemons[name] = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={**os.environ, **_ALLOCATOR}
            )
        return self.daemons[name]

    def stop(self, name: str) -> None:
        """At once, as a host that fails."""
        self.daemons[name].kill()
        self.daemons.pop(name).wait()

    def halt(self, name: str) -> None:
        """As a host that hangs: it is there, and answers nothing until ``go_on``."""
        self.daemons[name].send_signal(signal.SIGSTOP)

    def go_on(self, name: str) -> None:
        """Lets it continue after ``halt``."""
        self.daemons[name].send_signal(signal.SIGCONT)

    def log_end(self, name: str) -> str:
        """Returns the end of its log; for one that a signal ended, from there on."""
        log = (self.directory / f"{name}.log").read_text(errors="replace")
        caught = log.find("*** Caught signal")
        return (log[-400:] if caught < 0 else log[caught : caught + 1200]).strip()

    def end(self) -> list[str]:
        """Ends all daemons; of each that had ended by itself, how, and the end of its log."""
        fallen = [name for name, daemon in self.daemons.items() if daemon.poll() is not None]
        ended, self.daemons = self.daemons, {}
        for daemon in ended.values():
            daemon.kill()
        for daemon in ended.values():
            daemon.wait()
        return [f"{name} ended by itself ({ended[name].returncode}): {self.log_end(name)}" for name in fallen]


@contextlib.contextmanager
def ceph(
    directory: Path,
    *,
    osds: int = 3,
    store: str = "memstore",
    size: int = 1 << 30,
    copies: int = 1,
    groups: int = 32,
    auth: str = "none",
) -> Iterator[Ceph]:
    """A cluster below an empty directory; ``size``: bytes of each OSD; ``auth``: ``cephx`` for one with keys, whose
    administrator's is in ``keyring`` there. Impossible where Ceph cannot run; DaemonEnded, at the end, where one ended
    that nobody stopped."""
    require(TOOLS)
    conf, port, fsid = directory / "ceph.conf", free_port(), str(uuid.uuid4())
    known = {"fsid": fsid, "port": port, "directory": directory, "store": store, "bytes": size, "auth": auth}
    text = _CONF.format(**known, copies=copies, groups=groups)
    conf.write_text(text if auth == "none" else text + _KEYS.format(directory=directory))
    found = Ceph(directory, conf, auth=auth)
    try:
        _monitor(found, fsid, port)
        _make_osds(found, range(osds))
        found.start_osds(*range(osds))
        yield found
    except Impossible:
        found.end()
        raise
    finally:
        if fallen := found.end():
            raise DaemonEnded("\n".join(fallen))


def _monitor(found: Ceph, fsid: str, port: int) -> None:
    (found.directory / "mon").mkdir()
    monitors = found.directory / "monmap"
    _run("monmaptool", "--create", "--fsid", fsid, "--addv", "a", f"[v2:127.0.0.1:{port}]", str(monitors))
    keys = _keys(found) if found.auth != "none" else ()
    _run("ceph-mon", "--mkfs", "--id=a", f"--conf={found.conf}", f"--monmap={monitors}", *keys)
    daemon = found.start("mon.a", "ceph-mon", "--id=a")

    def answers() -> bool:
        if daemon.poll() is not None:
            raise Impossible(f"ceph-mon ended: {found.log_end('mon.a')}")
        with contextlib.suppress(subprocess.CalledProcessError, subprocess.TimeoutExpired):
            return bool(found.ask("mon", "stat"))
        return False

    wait_for(answers, "the monitor answers")


def _keys(found: Ceph) -> tuple[str, ...]:
    """Those of the monitors and of the administrator."""
    rights = [word for who in ("mon", "osd", "mgr") for word in ("--cap", who, "allow *")]
    path = str(found.directory / "keyring")
    _run("ceph-authtool", "--create-keyring", path, "--gen-key", "--name=mon.", "--cap", "mon", "allow *")
    _run("ceph-authtool", path, "--gen-key", "--name=client.admin", *rights)
    return (f"--keyring={path}",)


def _make_osds(found: Ceph, numbers: range) -> None:
    def made(number: int) -> None:
        (found.directory / f"osd.{number}").mkdir()
        # A store in memory takes no identity from outside: it has its own, and is made known by it.
        _run("ceph-osd", f"--id={number}", f"--conf={found.conf}", "--mkfs", "--no-mon-config")

    # At once: a store on a file takes seconds, most of them waiting.
    with ThreadPoolExecutor(len(numbers) or 1) as pool:
        list(pool.map(made, numbers))
    stores = [(found.directory / f"osd.{number}" / "fsid").read_text().strip() for number in numbers]
    found.ask_all(f"osd new {store} {number}" for number, store in zip(numbers, stores, strict=True))
    for number in numbers:
        if found.auth != "none":
            keyring = found.user(f"osd.{number}", "mon", "allow profile osd", "osd", "allow *")
            keyring.replace(found.directory / f"osd.{number}" / "keyring")


def _run(*argv: str) -> None:
    done = subprocess.run(argv, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    if done.returncode:
        raise Impossible(f"{argv[0]}: {done.stderr.strip()[-300:]}")


def main() -> int:
    """Runs the cluster until Ctrl-C."""
    with terminated_as_exit(), tempfile.TemporaryDirectory(prefix="tonnage-ceph-") as directory:
        store = sys.argv[1] if len(sys.argv) > 1 else "memstore"
        with ceph(Path(directory), store=store) as found:
            pool = found.pool("bench")
            print(f"rados://{pool}?conf={found.conf}", flush=True)
            with contextlib.suppress(KeyboardInterrupt):
                while True:
                    time.sleep(3600)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
