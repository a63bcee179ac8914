"""Ways to get a crew, by name."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from tonnage.cluster.crew import Alone, Crew
from tonnage.cluster.hands import ways
from tonnage.cluster.hands.pipes import START_S, PipeCrew
from tonnage.cluster.scheduler import SchedulerError
from tonnage.cluster.schedulers import scheduler
from tonnage.errors import RequestError

HANDS = ("alone", "ssh", "slurm", "mpi")
"""``alone``: this host only; ``ssh``; ``slurm``: steps of the job around, or jobs; ``mpi``: processes of mpiexec."""


@contextlib.contextmanager
def hands(name: str, hosts: Sequence[str], *, start_s: float = START_S) -> Iterator[Crew]:
    """A crew on ``hosts`` for as long as the context lasts. RequestError for a way or a host's name that cannot be.

    A host that is not there within ``start_s`` has a problem in each answer; the crew's ``hosts`` name it all the same.
    """
    if name == "alone":
        yield Alone()
    elif name == "mpi":
        from tonnage.cluster.registry import launcher

        yield launcher("mpi").crew
    elif name in HANDS:
        for host in hosts:
            ways.check(host)
        queues = _queues() if name == "slurm" and not ways.in_a_job() else {}

        def way(host: str) -> Sequence[str]:
            return ways.ssh(host, start_s) if name == "ssh" else ways.srun(host, start_s, queues.get(host))

        with PipeCrew(hosts, way, start_s=start_s) as crew:
            yield crew
    else:
        raise RequestError(f"there is no way {name!r} to hosts; hint: choose one of {', '.join(HANDS)}")


def _queues() -> dict[str, str]:
    """Host → a queue that takes jobs for it, the default one where it is among them; empty where Slurm does not tell:
    srun says then what is wrong."""
    try:
        every = sorted(scheduler("slurm").queues(), key=lambda queue: queue.default)
    except SchedulerError:
        return {}
    return {host: queue.name for queue in every if queue.open for host in queue.hosts}
