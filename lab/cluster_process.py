"""Keeps two sites running after the command that started them has ended, and records where they are.

A keeper is a process that holds a lock on a file for its life and all else in its own. Whatever ends it ends every host
with it, so that what is left below ``directory`` is a note and a log.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pwd
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO

from hosts import PATIENCE_S, Host, clean, ended, wait_for
from impossible import Impossible
from two_sites import Plan, TwoSites, two_sites

_NOTE, _LOCK, _LOG = "cluster.json", "lock", "log"


@dataclass(frozen=True)
class Note:
    """What the keeper wrote when all was ready."""

    plan: Plan
    owned: bool
    """The hosts are in a user namespace of their owner's."""
    environment: dict[str, str]
    hosts: tuple[Host, ...]
    daemons: dict[str, int]
    """As in ``Scheduled.daemons``, their numbers."""

    def command_line(self, host: str, argv: list[str], directory: str | Path) -> list[str]:
        """The command line that runs a program on a host. Impossible where there is no such host."""
        for one in self.hosts:
            if one.name == host:
                enter = ["nsenter", f"--target={one.pid}", "--user"] if self.owned and os.geteuid() else []
                return enter + one.command_line(argv, directory)
        raise Impossible(f"there is no host {host!r}; hint: {', '.join(one.name for one in self.hosts)}")


def directory() -> Path:
    """Where the note is: one cluster a user."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    path = Path(runtime) / "tonnage-lab" if runtime else Path(tempfile.gettempdir()) / f"tonnage-lab-{os.geteuid()}"
    try:
        path.mkdir(mode=0o700, exist_ok=True)
        status = path.lstat()
    except OSError as error:
        raise Impossible(f"{path}: {error.strerror}") from None
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
        raise Impossible(f"{path} is somebody else's")
    return path


def running() -> int | None:
    """The keeper's number; None: there is none."""
    with _lock() as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            # Whoever starts one writes its number next.
            wait_for(lambda: os.fstat(lock.fileno()).st_size > 0, "the keeper starts")
            return int(lock.read())
    return None


def note() -> Note:
    """Of the cluster that is up; Impossible where none is."""
    path = directory() / _NOTE
    if running() is None or not path.exists():
        raise Impossible("no cluster is up; hint: lab/cluster up")
    said = json.loads(path.read_text())
    return Note(
        Plan(**said["plan"]),
        said["owned"],
        said["environment"],
        tuple(Host(**host) for host in said["hosts"]),
        said["daemons"],
    )


def start(plan: Plan) -> Plan:
    """Starts a keeper and waits until it is ready; the plan that it follows."""
    before = _own_users() if os.geteuid() else []
    if os.geteuid():
        plan = replace(plan, files=False)
    place = directory()
    with _lock() as lock, (place / _LOG).open("wb") as log:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Impossible("a cluster is up already; hint: lab/cluster down") from None
        lock.truncate(0)
        (place / _NOTE).unlink(missing_ok=True)
        words = [*before, sys.executable, __file__, str(place), json.dumps(asdict(plan))]
        process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True,
            start_new_session=True, pass_fds=[lock.fileno()],
        )  # fmt: skip
        os.pwrite(lock.fileno(), str(process.pid).encode(), 0)
        assert process.stdout
        try:
            said = process.stdout.readline().strip()
        except BaseException:
            process.terminate()
            process.wait(PATIENCE_S)
            raise
    if said != "ready":
        process.wait(PATIENCE_S)
        last = (place / _LOG).read_text(errors="replace").strip().splitlines()[-1:]
        raise Impossible(said or " ".join(last) or "the cluster did not start")
    return plan


def stop() -> bool:
    """Ends the keeper and all that is its; False: there was none."""
    place, keeper = directory(), running()
    if keeper is not None:
        switch = note().hosts[0].pid if (place / _NOTE).exists() else None
        os.kill(keeper, signal.SIGTERM)
        try:
            wait_for(lambda: running() is None, "the cluster ends")
        except Impossible:
            os.kill(keeper, signal.SIGKILL)
            wait_for(lambda: running() is None and (switch is None or ended(switch)), "the cluster ends")
    clean()
    for name in (_NOTE, _LOG):
        (place / name).unlink(missing_ok=True)
    return keeper is not None


@contextlib.contextmanager
def _lock() -> Iterator[IO[str]]:
    path = directory() / _LOCK
    path.touch(mode=0o600)
    with path.open("r+") as stream:
        yield stream


def _own_users() -> list[str]:
    """What makes a user the root of a name space with users of its own. Impossible where that cannot be."""
    name = pwd.getpwuid(os.geteuid()).pw_name
    for tool in ("unshare", "newuidmap", "newgidmap"):
        if not shutil.which(tool):
            raise Impossible(f"without root, {tool} must be installed; hint: apt-get install uidmap")
    for file in (Path("/etc/subuid"), Path("/etc/subgid")):
        ranges = file.read_text().splitlines() if file.exists() else []
        if not any(line.split(":")[0] in (name, str(os.geteuid())) for line in ranges):
            raise Impossible(
                f"without root, {name} needs a range in {file}; hint: "
                f"usermod --add-subuids 100000-165535 --add-subgids 100000-165535 {name}"
            )
    return ["unshare", "--user", "--map-root-user", "--map-auto"]


def _write(whole: TwoSites, path: Path) -> None:
    said = {
        "plan": asdict(whole.plan),
        "owned": Path("/proc/self/uid_map").read_text().split() != ["0", "0", "4294967295"],
        "environment": whole.environment,
        "hosts": [
            {"name": host.name, "address": host.address, "pid": host.pid, "port": host.port, "site": host.site}
            for host in whole.hosts.values()
        ],
        "daemons": {name: daemon.pid for name, daemon in whole.daemons.items()},
    }
    new = path.with_suffix(".new")
    new.write_text(json.dumps(said, indent=1))
    new.replace(path)


def _keep(place: Path, plan: Plan) -> None:
    """The keeper's life."""
    os.chdir("/")
    with two_sites(plan) as whole:
        _write(whole, place / _NOTE)
        print("ready", flush=True)
        while True:
            signal.pause()


if __name__ == "__main__":
    try:
        _keep(Path(sys.argv[1]), Plan(**json.loads(sys.argv[2])))
    except Impossible as error:
        print(" ".join(str(error).split()), flush=True)
        sys.exit(2)
