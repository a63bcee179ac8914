"""A whole site on one machine: hosts, a scheduler, file services, load indices, and the site file that tells of them.

``head`` is where users log in and Slurm's controller runs; ``rcss1`` and ``rcss2`` serve a volume each, beside which
jobs of the partition ``storage`` run, few at once; ``node1`` … are the hosts of the partition ``compute``. Every host
is on a link of the same rate, and every host mounts both volumes under the same paths.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import slurm as light
from glusterfs import Volume, volume
from hosts import PATIENCE_S, Daemon, Hosts, hosts, wait_for
from throttled import GIB, Impossible

ROOT = Path(__file__).resolve().parents[1]
HEAD, SERVERS = "head", ("rcss1", "rcss2")
SCRATCH, PROJECTS = Path("/run/scratch"), Path("/run/projects")
_SLURM = Path("/run/site/slurm")
_LINES = Path("/run/site/lines")
_EXPORTER_PORT = 9100


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What differs from one site to another."""

    nodes: int = 4
    node_slots: int = 16
    server_slots: int = 8
    link_bytes_per_s: int = 40_000_000
    device_bytes_per_s: int = 100_000_000
    limited: bool = True
    """The device keeps to that from the start; otherwise when whoever has filled it says so."""
    latency_us: int = 0
    """Of each read and write in a brick."""
    volume_bytes: int = 2 * GIB
    policy: str = ""
    """Lines of the site file below ``[policy]``."""

    @property
    def node_names(self) -> tuple[str, ...]:
        return tuple(f"node{number}" for number in range(1, self.nodes + 1))

    @property
    def names(self) -> tuple[str, ...]:
        return (HEAD, *SERVERS, *self.node_names)


@dataclass(frozen=True)
class Site:
    """One that runs."""

    plan: Plan
    hosts: Hosts
    scratch: Volume
    projects: Volume
    daemons: dict[str, Daemon] = field(default_factory=dict)
    """``slurmctld``, and ``slurmd``, ``munged`` and ``exporter`` each with a space and its host."""

    @property
    def environment(self) -> dict[str, str]:
        """In which users' commands run: nothing of what they keep goes to this machine's own directories."""
        return {
            "PATH": f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin",
            "PYTHONPATH": str(ROOT / "python"),
            "SLURM_CONF": str(_SLURM / "slurm.conf"),
            "TONNAGE_SYSTEM_CONFIG": "/etc/tonnage",
            "XDG_STATE_HOME": "/run/site/state",
            "XDG_CONFIG_HOME": "/run/site/config",
            "XDG_CACHE_HOME": "/run/site/cache",
            "NO_COLOR": "1",
        }

    def run(
        self, *argv: str | Path, host: str = HEAD, directory: str | Path = "/", check: bool = True,
        timeout_s: float = PATIENCE_S, text: str = "",
    ) -> subprocess.CompletedProcess[str]:  # fmt: skip
        """A user's command on a host."""
        return self.hosts[host].run(
            *argv, directory=directory, environment=self.environment, check=check, timeout_s=timeout_s, text=text
        )

    def tonnage(
        self, *words: str | Path, host: str = HEAD, directory: str | Path = SCRATCH, check: bool = True,
        timeout_s: float = PATIENCE_S,
    ) -> subprocess.CompletedProcess[str]:  # fmt: skip
        """``tonnage`` as a user of a host runs it."""
        argv = (sys.executable, "-m", "tonnage.cli", *words)
        return self.run(*argv, host=host, directory=directory, check=check, timeout_s=timeout_s)

    @contextlib.contextmanager
    def held(self, daemon: str) -> Iterator[None]:
        """It does not answer meanwhile, and what was sent to it waits."""
        self.daemons[daemon].send(signal.SIGSTOP)
        try:
            yield
        finally:
            self.daemons[daemon].send(signal.SIGCONT)

    def idle(self) -> bool:
        """No job waits or runs."""
        return not self.run("squeue", "--noheader").stdout.strip()

    def wait_idle(self, patience_s: float = PATIENCE_S) -> None:
        wait_for(self.idle, "all jobs end", patience_s=patience_s)

    def started(self, name: str) -> None:
        """Starts a daemon of Slurm: ``slurmctld``, or ``slurmd`` and a space and its host."""
        kind, _, host = name.partition(" ")
        argv = [kind, "-D"] + ["-N", host] * bool(host)
        self.daemons[name] = self.hosts[host or HEAD].daemon(*argv, environment=self.environment)

    def end(self, name: str) -> None:
        """As if it were cut from the power."""
        self.daemons.pop(name).end()

    def down(self, host: str) -> None:
        """Slurm's daemon of a host is gone, and Slurm has noticed."""
        self.end(f"slurmd {host}")
        self.run("scontrol", "update", f"nodename={host}", "state=down", "reason=power")

    def up(self, host: str) -> None:
        """It is back."""
        self.started(f"slurmd {host}")
        self.run("scontrol", "update", f"nodename={host}", "state=resume")
        wait_for(lambda: self.states().get(host) == "idle", f"{host} takes jobs")

    def states(self) -> dict[str, str]:
        """Each host's state as Slurm prints it."""
        said = self.run("sinfo", "--noheader", "--Node", "--format=%N %T", check=False).stdout
        return dict(line.split() for line in said.splitlines())


@contextlib.contextmanager
def site(plan: Plan = Plan()) -> Iterator[Site]:
    """A site for as long as the context lasts, ready for jobs. Impossible where one of its parts cannot run."""
    tools = ("slurmctld", "slurmd", "munged", "prometheus-node-exporter")
    path = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"
    if missing := [tool for tool in tools if not shutil.which(tool, path=path)]:
        raise Impossible(f"{missing[0]} is not installed")
    with contextlib.ExitStack() as stack:
        every = stack.enter_context(hosts(plan.names, link_bytes_per_s=plan.link_bytes_per_s))
        volumes = [
            stack.enter_context(
                volume(
                    every, (server,), name=name.name, at=name, size=plan.volume_bytes, port=24100 + number,
                    bytes_per_s=plan.device_bytes_per_s * plan.limited, latency_us=plan.latency_us,
                )
            )
            for number, (server, name) in enumerate(zip(SERVERS, (SCRATCH, PROJECTS), strict=True))
        ]  # fmt: skip
        whole = Site(plan, every, *volumes)
        for name in ("state", "config", "cache", "lines", "slurm", "slurm/state"):
            (every.site / name).mkdir(mode=0o755)
        _start_indices(whole)
        _start_slurm(whole)
        etc = every[HEAD].path("/etc/tonnage")
        etc.mkdir()
        (etc / "tonnage.toml").write_text(site_file(plan, every))
        yield whole


def site_file(plan: Plan, every: Hosts) -> str:
    """The system's ``tonnage.toml``."""
    lines = ['scheduler = "slurm"', f'lines = "{_LINES}"', "", "[policy]", plan.policy]
    for server in SERVERS:
        lines += [
            "",
            "[[server]]",
            f'name = "{server}"',
            f'aliases = ["{every[server].address}"]',
            f'hosts = ["{server}"]',
            'queue = "storage"',
            f"slots = {plan.server_slots}",
            f'indices = "http://{server}:{_EXPORTER_PORT}/metrics"',
        ]
    for servers, who, rate in (
        (SERVERS, SERVERS, plan.device_bytes_per_s or 10**9),
        (SERVERS, ("*",), plan.link_bytes_per_s),
    ):
        for server in servers:
            beside = [server] if who == SERVERS else list(who)
            lines += ["", "[[access]]", f"hosts = {_list(beside)}", f"servers = {_list([server])}"]
            lines += [f'bandwidth = "{rate // 1_000_000}MB/s"']
    return "\n".join(lines) + "\n"


def _list(names: Sequence[str]) -> str:
    return "[" + ", ".join(f'"{name}"' for name in names) + "]"


def _start_indices(whole: Site) -> None:
    """The exporter of each server; block devices are those of its own volume."""
    for volume_, server in zip((whole.scratch, whole.projects), SERVERS, strict=True):
        own = Path(volume_.bricks[0].device.device).name
        whole.daemons[f"exporter {server}"] = whole.hosts[server].daemon(
            "prometheus-node-exporter", f"--web.listen-address=:{_EXPORTER_PORT}", "--collector.disable-defaults",
            "--collector.cpu", "--collector.diskstats", "--collector.pressure", "--collector.stat", "--collector.time",
            "--collector.diskstats.device-exclude=", f"--collector.diskstats.device-include=^{own}$",
        )  # fmt: skip
    for server in SERVERS:
        exporter = whole.daemons[f"exporter {server}"]
        wait_for(lambda one=exporter: "Listening on" in one.said(), f"the exporter of {server} listens")  # type: ignore[misc]


def _start_slurm(whole: Site) -> None:
    plan, every = whole.plan, whole.hosts
    machines = [light.Host(name=name, slots=plan.server_slots, address=every[name].address) for name in SERVERS]
    machines += [light.Host(name=name, slots=plan.node_slots, address=every[name].address) for name in plan.node_names]
    text = light.configuration(
        machines,
        {"compute": plan.node_names, "storage": SERVERS},
        directory=_SLURM,
        controller=HEAD,
        controller_address=every[HEAD].address,
        licences=dict.fromkeys(SERVERS, plan.server_slots),
        munge=True,
        # With an epilog, as sites have one, the next job of a capped array starts when one ends, not up to 1 s later.
        settings={
            "Epilog": "/bin/true",
            "SchedulerParameters": "batch_sched_delay=0,sched_min_interval=1000,bf_interval=1",
        },
    )
    (every.site / "slurm/slurm.conf").write_text(text)
    key = every.site / "munge.key"
    key.touch(mode=0o400)
    key.write_bytes(secrets.token_bytes(64))
    for name, host in every.items():
        host.path("/run/munge").mkdir(mode=0o755)
        whole.daemons[f"munged {name}"] = host.daemon(
            "munged", "--foreground", "--force", "--key-file=/run/site/munge.key", "--num-threads=2",
            "--pid-file=/run/munge/pid", "--seed-file=/run/munge/seed",
        )  # fmt: skip
    wait_for(lambda: all(host.path("/run/munge/munge.socket.2").exists() for host in every.values()), "munged listens")
    for machine in machines:
        (every.site / f"slurm/spool-{machine.name}").mkdir()
    for name in ("slurmctld", *(f"slurmd {machine.name}" for machine in machines)):
        whole.started(name)
    wanted = {machine.name: "idle" for machine in machines}
    try:
        wait_for(lambda: whole.states() == wanted, "every host takes jobs")
    except Impossible as error:
        said = [daemon.said()[-500:] for name, daemon in whole.daemons.items() if name.startswith("slurm")]
        raise Impossible("\n".join([str(error), *said])) from None
