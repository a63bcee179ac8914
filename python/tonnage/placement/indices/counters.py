"""What a server has counted since it started, and the rates between two looks at it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from tonnage.placement.indices.devices import counted
from tonnage.placement.indices.host import NOT_TOLD, Host
from tonnage.placement.indices.reading import Reading

SHORTEST_S = 0.2
"""Between two looks: CPU time is counted in hundredths of a second."""
LONGEST_S = 600.0
"""A rate over more says nothing of now."""
_WOBBLE_S = 2.0
"""By how much the time of the start may move while the clock is kept right."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counters:
    """One look. What a server does not tell is None, or empty."""

    at_s: float
    """When, in seconds since 1970, by this host's clock."""
    clock_s: float
    """A clock of the server's own, for differences: two looks from two hosts still measure one time."""
    wall_s: float | None
    """The server's idea of the time, in seconds since 1970; None where its clock is ours."""
    booted_s: float
    """When it started, by the same."""
    cpus: int
    cpu_busy_s: float
    """CPU time in use, all CPUs."""
    cpu_all_s: float
    disks: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Block device → (operations completed, bytes moved)."""
    rpcs: int | None = None
    io_waiting_s: float | None = None
    """Time in which some task waited for I/O."""
    io_waiting_permille: int | None = None
    """The same as the kernel's own average over 10 s."""
    paged: int | None = None
    """Pages moved from and to swap space."""
    host: Host = NOT_TOLD

    def __post_init__(self) -> None:
        """ValueError where a figure is no number."""
        figures = (
            self.at_s,
            self.clock_s,
            self.wall_s,
            self.booted_s,
            self.cpu_busy_s,
            self.cpu_all_s,
            self.io_waiting_s,
        )
        if not all(math.isfinite(figure) for figure in figures if figure is not None):
            raise ValueError("a counter is no number")

    def after(self, before: Counters | None) -> Counters:
        """With the averages that go on from the last look."""
        if before is None:
            return self
        return replace(self, host=self.host.averaged(before.host, self.at_s - before.at_s))

    def as_dict(self) -> dict[str, Any]:
        """As the cache keeps it."""
        return asdict(self)

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any]) -> Counters:
        """ValueError or TypeError where it was not kept by ``as_dict``."""
        disks = {str(name): (int(ops), int(moved)) for name, (ops, moved) in kept["disks"].items()}
        return cls(**{**kept, "disks": disks, "host": Host.from_dict(kept.get("host", {}))})


def comparable(before: Counters | None, after: Counters) -> bool:
    """Whether rates may be taken between the two: one life of the server, far enough apart, no clock that jumped."""
    if before is None or abs(after.booted_s - before.booted_s) > _WOBBLE_S:
        return False
    elapsed_s, ours_s = after.clock_s - before.clock_s, after.at_s - before.at_s
    jumped = abs(elapsed_s - ours_s) > 1 + 0.05 * abs(ours_s)
    return SHORTEST_S <= elapsed_s <= LONGEST_S and not jumped


def reading(server: str, source: str, before: Counters | None, after: Counters) -> Reading:
    """The indices; without rates, and with a problem that says so, where there is nothing to compare with."""
    told = Reading(
        server=server,
        source=source,
        at_s=after.at_s,
        cpus=after.cpus,
        pressure_permille=after.io_waiting_permille,
        clock_ahead_s=None if after.wall_s is None else round(after.wall_s - after.at_s, 3),
        host=after.host,
    )
    if before is None or not comparable(before, after):
        return replace(told, problem="its counters were read once so far, and a rate needs two looks")
    elapsed_s = after.clock_s - before.clock_s
    operations, moved = _disks(before, after)
    # Idle time is told to hundredths, so that its sum may run a little behind or ahead.
    busy = _less(after.cpu_busy_s, before.cpu_busy_s)
    every = _less(after.cpu_all_s, before.cpu_all_s)
    calls = _less(after.rpcs, before.rpcs)
    waited_s = _less(after.io_waiting_s, before.io_waiting_s)
    paged = _less(after.paged, before.paged)
    return replace(
        told,
        ut_permille=min(round(1000 * busy / every), 1000) if every and busy is not None else None,
        bio_per_s=None if operations is None else operations / elapsed_s,
        bio_bytes_per_s=None if moved is None else round(moved / elapsed_s),
        rpc_per_s=None if calls is None else calls / elapsed_s,
        pages_per_s=None if paged is None else paged / elapsed_s,
        pressure_permille=_first(
            after.io_waiting_permille, None if waited_s is None else min(round(1000 * waited_s / elapsed_s), 1000)
        ),
    )


def _first(*values: int | None) -> int | None:
    return next((value for value in values if value is not None), None)


def _less(after: float | None, before: float | None) -> float | None:
    """None where it is not counted, or was set back."""
    return None if after is None or before is None or after < before else after - before


def _disks(before: Counters, after: Counters) -> tuple[int | None, int | None]:
    """(operations, bytes) of the devices that were there at both looks; None where there are none, or one was reset."""
    both = counted(after.disks).intersection(before.disks)
    steps = [[new - old for new, old in zip(after.disks[one], before.disks[one], strict=True)] for one in both]
    if not steps or any(step < 0 for pair in steps for step in pair):
        return None, None
    return sum(pair[0] for pair in steps), sum(pair[1] for pair in steps)
