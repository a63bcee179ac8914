"""Where a job goes and what bounds it: the policies that are compared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from tonnage.placement.simulation.world import Jobs, World

_UNBOUNDED = 1 << 40
_CPU_BOUND = 0.1


@dataclass(slots=True)
class View:
    """What a scheduler knows at a moment, by pool; the last pool is that of the hosts beside no server."""

    free: list[int]
    """Slots."""
    waiting: list[int]
    """Jobs."""
    reading: list[int]
    """By server: tasks that read from it."""
    held: list[int]
    """By server: licences."""


@dataclass(frozen=True, slots=True)
class Placed:
    """What a policy says of a job."""

    pool: int
    server: int
    """From which it reads."""
    far: bool
    licensed: bool
    """It holds one of the server's licences while it runs."""


class Policy(Protocol):
    """One policy in one race."""

    cap: int
    """Licences of each server."""

    def place(self, now_s: float, job: int, view: View) -> Placed:
        """Where the job goes; once, when it arrives."""

    def ended(self, job: int, placed: Placed, ran_s: float) -> None:
        """The job ended after so long on its slot."""


class Anywhere:
    """A scheduler that does not know about data: any free host, and the servers' links carry all."""

    cap = _UNBOUNDED

    def __init__(self, world: World, jobs: Jobs, seed: int) -> None:  # noqa: ARG002
        self._far, self._server = world.servers, jobs.server

    def place(self, now_s: float, job: int, view: View) -> Placed:  # noqa: ARG002
        return Placed(self._far, self._server[job], True, False)

    def ended(self, job: int, placed: Placed, ran_s: float) -> None:
        """Learns nothing."""


class Pin:
    """Beside the server that holds the data, whoever waits there."""

    cap = _UNBOUNDED

    def __init__(self, world: World, jobs: Jobs, seed: int) -> None:  # noqa: ARG002
        self._server = jobs.server

    def place(self, now_s: float, job: int, view: View) -> Placed:  # noqa: ARG002
        return Placed(self._server[job], self._server[job], False, False)

    def ended(self, job: int, placed: Placed, ran_s: float) -> None:
        """Learns nothing."""


class PinCapped(Pin):
    """Beside the data, and of the jobs that wait for storage no more at once than the load line carries."""

    def __init__(self, world: World, jobs: Jobs, seed: int) -> None:
        super().__init__(world, jobs, seed)
        self._world, self._jobs = world, jobs
        # The published rule: copies whose waiting for storage fills the line.
        shares = [share for job in range(min(len(jobs), 10_000)) if (share := jobs.io_share(job, world)) >= _CPU_BOUND]
        self.cap = max(1, round(world.line * len(shares) / sum(shares))) if shares else _UNBOUNDED

    def place(self, now_s: float, job: int, view: View) -> Placed:  # noqa: ARG002
        licensed = self._jobs.io_share(job, self._world) >= _CPU_BOUND
        return Placed(self._server[job], self._server[job], False, licensed)


POLICIES: dict[str, Callable[[World, Jobs, int], Policy]] = {
    "scheduler default": Anywhere,
    "pin": Pin,
    "pin + cap": PinCapped,
}
