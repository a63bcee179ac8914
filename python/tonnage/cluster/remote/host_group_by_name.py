"""Ways to get a host group, by name."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from tonnage.cluster.host_group import Alone, HostGroup
from tonnage.cluster.remote import connections
from tonnage.cluster.remote.client import START_S, RemoteHostGroup
from tonnage.cluster.scheduler import SchedulerError
from tonnage.cluster.schedulers import scheduler
from tonnage.errors import RequestError

CONNECTIONS = ("alone", "ssh", "slurm", "mpi")
"""``alone``: this host only; ``ssh``; ``slurm``: steps of the job around, or jobs; ``mpi``: processes of mpiexec."""


@contextlib.contextmanager
def remote_hosts(name: str, hosts: Sequence[str], *, start_s: float = START_S) -> Iterator[HostGroup]:
    """A host group on ``hosts`` for as long as the context lasts. RequestError for a way or a host's name
    that cannot be.

    A host that is not there within ``start_s`` has a problem in each answer; ``hosts`` of the group name it all the
    same.
    """
    if name == "alone":
        yield Alone()
    elif name == "mpi":
        from tonnage.cluster.launcher_by_name import launcher

        yield launcher("mpi").host_group
    elif name in CONNECTIONS:
        for host in hosts:
            connections.check(host)
        queues = _queues() if name == "slurm" and not connections.in_a_job() else {}

        def way(host: str) -> Sequence[str]:
            return (
                connections.ssh(host, start_s) if name == "ssh" else connections.srun(host, start_s, queues.get(host))
            )

        with RemoteHostGroup(hosts, way, start_s=start_s) as host_group:
            yield host_group
    else:
        raise RequestError(f"there is no way {name!r} to hosts; hint: choose one of {', '.join(CONNECTIONS)}")


def _queues() -> dict[str, str]:
    """Host → a queue that takes jobs for it, the default one where it is among them; empty where Slurm does not tell:
    srun says then what is wrong."""
    try:
        every = sorted(scheduler("slurm").queues(), key=lambda queue: queue.default)
    except SchedulerError:
        return {}
    return {host: queue.name for queue in every if queue.open for host in queue.hosts}
