"""Hosts with a real Slurm over them: munge on each, the controller on ``head``, a slurmd on each that takes jobs."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import slurm as light
from hosts import PATIENCE_S, Daemon, Hosts, wait_for
from impossible import SYSTEM_PATH, Impossible, program

ROOT = Path(__file__).resolve().parents[1]
HEAD = "head"
"""Where users log in and Slurm's controller runs."""
SLURM = Path("/run/site/slurm")


def check_tools(*more: str) -> None:
    """Impossible where one of Slurm's daemons, or of these besides, is not installed."""
    for tool in ("slurmctld", "slurmd", "munged", *more):
        program(tool)


@dataclass(frozen=True, kw_only=True)
class Scheduled:
    """Hosts that run, with Slurm over them."""

    hosts: Hosts
    home: Path
    """Where users' commands run where nothing else is said."""
    daemons: dict[str, Daemon] = field(default_factory=dict)
    """``slurmctld``, and each other with a space and its host."""

    @property
    def environment(self) -> dict[str, str]:
        """In which users' commands run: nothing of what they keep goes to this machine's own directories."""
        return {
            "PATH": f"{os.environ.get('PATH', os.defpath)}:{SYSTEM_PATH}",
            "PYTHONPATH": str(ROOT / "python"),
            "SLURM_CONF": str(SLURM / "slurm.conf"),
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
        """Runs a user's command on a host."""
        return self.hosts[host].run(
            *argv, directory=directory, environment=self.environment, check=check, timeout_s=timeout_s, text=text
        )

    def tonnage(
        self, *words: str | Path, host: str = HEAD, directory: str | Path | None = None, check: bool = True,
        timeout_s: float = PATIENCE_S,
    ) -> subprocess.CompletedProcess[str]:  # fmt: skip
        """``tonnage`` as a user of a host runs it."""
        argv = (sys.executable, "-m", "tonnage.cli", *words)
        return self.run(*argv, host=host, directory=directory or self.home, check=check, timeout_s=timeout_s)

    @contextlib.contextmanager
    def suspended(self, daemon: str) -> Iterator[None]:
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
        # One that registers before this has returned to service by itself, and cannot resume.
        self.run("scontrol", "update", f"nodename={host}", "state=resume", check=False)
        wait_for(lambda: self.states().get(host) == "idle", f"{host} takes jobs")

    def states(self) -> dict[str, str]:
        """Each host's state as Slurm prints it."""
        said = self.run("sinfo", "--noheader", "--Node", "--format=%N %T", check=False).stdout
        return dict(line.split() for line in said.splitlines())

    def start_slurm(
        self,
        machines: Sequence[light.Host],
        partitions: Mapping[str, Sequence[str]],
        *,
        licences: Mapping[str, int] | None = None,
        settings: Mapping[str, object] | None = None,
        beside: Mapping[str, str] | None = None,
    ) -> None:
        """Starts munge and Slurm, and waits until every host takes jobs. ``beside``: the texts of more files of
        Slurm's, by name; the rest as in ``slurm.configuration``."""
        for name in ("state", "config", "cache", "slurm", "slurm/state"):
            (self.hosts.site / name).mkdir(mode=0o755)
        # With an epilog, as sites have one, the next job of a capped array starts when one ends, not up to 1 s later.
        quick = "batch_sched_delay=0,sched_min_interval=1000,bf_interval=1"
        text = light.configuration(
            machines, partitions, directory=SLURM, controller=HEAD, controller_address=self.hosts[HEAD].address,
            licences=licences, munge=True,
            settings={"Epilog": "/bin/true", "SchedulerParameters": quick} | dict(settings or {}),
        )  # fmt: skip
        for name, words in {"slurm.conf": text, **(beside or {})}.items():
            (self.hosts.site / "slurm" / name).write_text(words)
        self._start_munge()
        for machine in machines:
            (self.hosts.site / f"slurm/spool-{machine.name}").mkdir()
        for name in ("slurmctld", *(f"slurmd {machine.name}" for machine in machines)):
            self.started(name)
        wanted = {machine.name: "idle" for machine in machines}
        try:
            wait_for(lambda: self.states() == wanted, "every host takes jobs")
        except Impossible as error:
            said = [daemon.output_end()[-500:] for name, daemon in self.daemons.items() if name.startswith("slurm")]
            raise Impossible("\n".join([str(error), *said])) from None

    def _start_munge(self) -> None:
        key = self.hosts.site / "munge.key"
        key.touch(mode=0o400)
        key.write_bytes(secrets.token_bytes(64))
        for name, host in self.hosts.items():
            host.path("/run/munge").mkdir(mode=0o755)
            self.daemons[f"munged {name}"] = host.daemon(
                "munged", "--foreground", "--force", "--key-file=/run/site/munge.key", "--num-threads=2",
                "--pid-file=/run/munge/pid", "--seed-file=/run/munge/seed",
            )  # fmt: skip
        sockets = [host.path("/run/munge/munge.socket.2") for host in self.hosts.values()]
        wait_for(lambda: all(socket.exists() for socket in sockets), "munged listens")
