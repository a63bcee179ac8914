"""A real Slurm on one machine: many hosts on 127.0.0.1, without namespaces, root or munge.

``with slurm(hosts=…, partitions=…) as cluster`` starts a controller and a ``slurmd`` a host, and ends them with all
that they started. ``configuration`` writes the same for hosts that have an address of their own.

As a program (``python lab/slurm.py``) it is the keeper of these daemons: it starts what each line of its standard
input says and ends with that input, so that nothing outlives a test that was killed.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import pwd
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from impossible import SYSTEM_PATH, Impossible

PATIENCE_S = 30.0
"""For daemons to start on a busy machine; 1 s on a quiet one."""
_LOOK_S = 0.02
_PR_SET_CHILD_SUBREAPER = 36
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random")
"""Daemons are here, and a user's PATH often is not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """A compute host."""

    name: str
    slots: int = 4
    weight: int = 1
    """Slurm fills the lightest first."""
    features: tuple[str, ...] = ()
    gpus: int = 0
    """At most four: Slurm wants a device for each, and these stand in for them."""
    address: str | None = None
    """Its own; None: it is one of many on this machine."""


def configuration(
    hosts: Sequence[Host],
    partitions: Mapping[str, Sequence[str]],
    *,
    directory: Path,
    controller: str,
    controller_address: str,
    licences: Mapping[str, int] | None = None,
    munge: bool = False,
    settings: Mapping[str, object] | None = None,
) -> str:
    """The text of a ``slurm.conf`` whose daemons keep all they write below ``directory``.

    ``partitions``: the hosts' names of each; the first is the default. ``controller``: the name of the controller's
    host. ``munge``: its daemon vouches for users; without it everyone is believed. ``settings``: lines of one's own.
    """
    user = pwd.getpwuid(os.geteuid()).pw_name
    ports = _free_ports(1 + sum(host.address is None for host in hosts))
    lines: dict[str, object] = {
        "ClusterName": "lab",
        "SlurmctldHost": f"{controller}({controller_address})",
        "SlurmctldPort": next(ports),
        "SlurmUser": user,
        "SlurmdUser": user,
        "AuthType": "auth/munge" if munge else "auth/none",
        "CredType": "cred/munge" if munge else "cred/none",
        "StateSaveLocation": directory / "state",
        "SlurmdSpoolDir": directory / "spool-%n",
        "SlurmctldPidFile": directory / "slurmctld.pid",
        "SlurmdPidFile": directory / "%n.pid",
        "SlurmctldLogFile": directory / "slurmctld.log",
        "SlurmdLogFile": directory / "%n.log",
        "ProctrackType": "proctrack/linuxproc",
        "TaskPlugin": "task/none",
        "SelectType": "select/cons_tres",
        "SelectTypeParameters": "CR_CPU",
        "SlurmdParameters": "config_overrides",  # hosts have the slots that the test gives them
        "SchedulerParameters": "batch_sched_delay=0,sched_min_interval=10000,bf_interval=2",
        "ReturnToService": 2,
        "JobCompType": "jobcomp/filetxt",
        "JobCompLoc": directory / "ended",
        "MpiDefault": "none",
    }
    if any(host.address is None for host in hosts):
        lines["CommunicationParameters"] = "NoCtldInAddrAny,NoInAddrAny"
    if any(host.gpus for host in hosts):
        lines["GresTypes"] = "gpu"
    if licences:
        lines["Licenses"] = ",".join(f"{name}:{count}" for name, count in licences.items())
    text = [f"{name}={value}" for name, value in (lines | dict(settings or {})).items()]
    for host in hosts:
        where = f"NodeAddr={host.address}"
        if host.address is None:
            where = f"NodeHostname={socket.gethostname()} NodeAddr=127.0.0.1 Port={next(ports)}"
        features = f" Features={','.join(host.features)}" if host.features else ""
        gpus = f" Gres=gpu:{host.gpus}" if host.gpus else ""
        text.append(f"NodeName={host.name} {where} CPUs={host.slots} Weight={host.weight}{features}{gpus}")
    for number, (name, members) in enumerate(partitions.items()):
        default = "YES" if number == 0 else "NO"
        text.append(f"PartitionName={name} Nodes={','.join(members)} Default={default} State=UP")
    return "\n".join(text) + "\n"


def _free_ports(count: int) -> Iterator[int]:
    """Below the range from which the kernel gives outgoing connections theirs."""
    with contextlib.ExitStack() as stack:
        found: list[int] = []
        while len(found) < count:
            listener = stack.enter_context(socket.socket())
            with contextlib.suppress(OSError):
                listener.bind(("127.0.0.1", random.randrange(20_000, 32_000)))
                found.append(listener.getsockname()[1])
    return iter(found)


class DaemonSupervisor:
    """A process that starts daemons and adopts whatever they leave behind.

    All of it ends with ``close`` or with the process that called, and ``directory``, which is all theirs, with it.
    """

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert self._process.stdout
        self.directory = Path(self._process.stdout.readline().removesuffix("\n"))

    def start(self, argv: Sequence[str], *, environment: Mapping[str, str], log: Path) -> int:
        """Starts a daemon and returns the id of the new process."""
        assert self._process.stdin and self._process.stdout
        order = {"argv": list(argv), "environment": dict(environment), "log": str(log)}
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def close(self) -> None:
        with self._process:
            assert self._process.stdin
            self._process.stdin.close()
            self._process.wait(PATIENCE_S)


@dataclass(slots=True)
class Slurm:
    """A cluster that runs."""

    environment: dict[str, str]
    """With it Slurm's commands speak to this cluster."""
    directory: Path
    hosts: tuple[Host, ...]
    keeper: DaemonSupervisor
    pids: dict[str, int] = field(default_factory=dict)
    """Of each host's ``slurmd`` by its name, and of ``slurmctld``."""

    @property
    def conf(self) -> Path:
        return Path(self.environment["SLURM_CONF"])

    def ask(self, *argv: str) -> str:
        """What one of Slurm's commands prints; CalledProcessError where it fails."""
        return subprocess.run(
            argv, env=self.environment, capture_output=True, text=True, check=True, timeout=PATIENCE_S
        ).stdout

    def start(self, name: str) -> None:
        """Starts the daemon of a host, or ``slurmctld``."""
        argv = ["slurmctld", "-D"] if name == "slurmctld" else ["slurmd", "-D", "-N", name]
        log = self.directory / f"{name}.out"
        self.pids[name] = self.keeper.start(argv, environment=self.environment, log=log)

    def stop(self, name: str) -> None:
        """Ends it as a site does; what it knows is on disk for the next one."""
        pid = self.pids.pop(name)
        os.kill(pid, signal.SIGTERM)
        until = time.monotonic() + PATIENCE_S
        while Path(f"/proc/{pid}").exists():
            if time.monotonic() > until:
                raise Impossible(f"{name} did not end")
            time.sleep(_LOOK_S)

    @contextlib.contextmanager
    def suspended(self, name: str = "slurmctld") -> Iterator[None]:
        """It does not answer meanwhile, and what was sent to it waits."""
        os.kill(self.pids[name], signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self.pids[name], signal.SIGCONT)

    def wait_ready(self) -> None:
        """Until every host takes jobs; Impossible with the daemons' last words if that does not come."""
        until = time.monotonic() + PATIENCE_S
        said = ""
        while time.monotonic() < until:
            with contextlib.suppress(subprocess.SubprocessError):
                said = self.ask("sinfo", "--noheader", "--Node", "--format=%N %T")
                # A host in two partitions has two lines.
                if {tuple(line.split()) for line in said.splitlines()} == {(host.name, "idle") for host in self.hosts}:
                    return
            time.sleep(_LOOK_S)
        logs = [f"{file.name}: {file.read_text()[-500:]}" for file in sorted(self.directory.glob("*.out"))]
        raise Impossible("Slurm did not start:\n" + "\n".join([said, *logs]))


@contextlib.contextmanager
def slurm(
    hosts: Sequence[Host],
    partitions: Mapping[str, Sequence[str]] | None = None,
    *,
    licences: Mapping[str, int] | None = None,
    settings: Mapping[str, object] | None = None,
) -> Iterator[Slurm]:
    """Starts it and waits until all hosts take jobs; afterwards nothing of it is left.

    ``partitions`` as in ``configuration``; None: one, ``batch``, of all. Impossible where Slurm is not installed or
    does not start.
    """
    path = f"{os.environ.get('PATH', os.defpath)}:{SYSTEM_PATH}"
    for tool in ("slurmctld", "slurmd", "sbatch"):
        if not shutil.which(tool, path=path):
            raise Impossible(f"{tool} is not installed; hint: apt-get install slurmctld slurmd slurm-client")
    with contextlib.closing(DaemonSupervisor()) as keeper:
        directory = keeper.directory
        directory.chmod(0o755)  # jobs of other users read their scripts below it
        (directory / "state").mkdir()
        for host in hosts:
            (directory / f"spool-{host.name}").mkdir()
        (directory / "slurm.conf").write_text(
            configuration(
                hosts,
                partitions or {"batch": [host.name for host in hosts]},
                directory=directory,
                controller=socket.gethostname(),
                controller_address="127.0.0.1",
                licences=licences,
                settings=settings,
            )
        )
        gpus = [f"NodeName={one.name} Name=gpu File={file}\n" for one in hosts for file in _DEVICES[: one.gpus]]
        if gpus:
            (directory / "gres.conf").write_text("".join(gpus))
        environment = {**os.environ, "PATH": path, "SLURM_CONF": str(directory / "slurm.conf")}
        cluster = Slurm(environment, directory, tuple(hosts), keeper)
        for daemon in ("slurmctld", *(host.name for host in hosts)):
            cluster.start(daemon)
        cluster.wait_ready()
        yield cluster


def _keep() -> None:
    """The keeper's life."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    signal.signal(signal.SIGCHLD, lambda *_: _reap())
    for line in sys.stdin:
        order = json.loads(line)
        with Path(order["log"]).open("ab") as log:
            child = subprocess.Popen(
                order["argv"],
                env=order["environment"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        print(child.pid, flush=True)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    # What a parent left comes to this process when that parent ends: look again until none is left.
    while children := _children():
        for child_pid in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child_pid, signal.SIGKILL)
        _reap()
        time.sleep(_LOOK_S)


def _children() -> list[int]:
    task = Path(f"/proc/self/task/{os.getpid()}/children")
    return [int(pid) for pid in task.read_text().split()]


def _reap() -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="tonnage-slurm-", ignore_cleanup_errors=True) as kept:
        print(kept, flush=True)
        _keep()
