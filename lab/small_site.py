"""A whole site on one machine: hosts, a scheduler, file services, load indices, and the site file that tells of them.

``head`` is where users log in and Slurm's controller runs; ``rcss1`` and ``rcss2`` serve a volume each, beside which
jobs of the partition ``storage`` run, few at once; ``node1`` … are the hosts of the partition ``compute``. Every host
is on a link of the same rate, and every host mounts both volumes under the same paths.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import slurm as light
from glusterfs import Volume, volume
from hosts import Hosts, hosts, wait_for
from slurm_hosts import HEAD, Scheduled, check_tools
from throttled import GIB

SERVERS = ("rcss1", "rcss2")
SCRATCH, PROJECTS = Path("/run/scratch"), Path("/run/projects")
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


@dataclass(frozen=True, kw_only=True)
class Site(Scheduled):
    """One that runs."""

    plan: Plan
    scratch: Volume
    projects: Volume


@contextlib.contextmanager
def site(plan: Plan = Plan()) -> Iterator[Site]:
    """A site for as long as the context lasts, ready for jobs. Impossible where one of its parts cannot run."""
    check_tools("prometheus-node-exporter")
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
        whole = Site(plan=plan, hosts=every, home=SCRATCH, scratch=volumes[0], projects=volumes[1])
        (every.site / "lines").mkdir(mode=0o755)
        _start_indices(whole)
        _start_slurm(whole)
        etc = every[HEAD].path("/etc/tonnage")
        etc.mkdir()
        (etc / "tonnage.toml").write_text(site_file(plan, every))
        yield whole


def site_file(plan: Plan, every: Hosts) -> str:
    """Returns the text of the system's ``tonnage.toml``."""
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
        wait_for(lambda one=exporter: "Listening on" in one.output_end(), f"the exporter of {server} listens")  # type: ignore[misc]


def _start_slurm(whole: Site) -> None:
    plan, every = whole.plan, whole.hosts
    machines = [light.Host(name=name, slots=plan.server_slots, address=every[name].address) for name in SERVERS]
    machines += [light.Host(name=name, slots=plan.node_slots, address=every[name].address) for name in plan.node_names]
    licences = dict.fromkeys(SERVERS, plan.server_slots)
    whole.start_slurm(machines, {"compute": plan.node_names, "storage": SERVERS}, licences=licences)
