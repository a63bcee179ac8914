"""Ways to get a crew, by name."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from tonnage.cluster.crew import Alone, Crew
from tonnage.cluster.hands import ways
from tonnage.cluster.hands.pipes import START_S, PipeCrew
from tonnage.errors import RequestError

_WAYS: dict[str, ways.Way] = {"ssh": ways.ssh, "slurm": ways.srun}
HANDS = ("alone", *_WAYS, "mpi")
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
    elif name in _WAYS:
        way = _WAYS[name]
        for host in hosts:
            ways.check(host)
        with PipeCrew(hosts, lambda host: way(host, start_s), start_s=start_s) as crew:
            yield crew
    else:
        raise RequestError(f"there is no way {name!r} to hosts; hint: choose one of {', '.join(HANDS)}")
