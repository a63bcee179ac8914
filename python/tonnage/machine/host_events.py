"""Events of this host during a measurement that no task can see itself: memory pressure, stolen processor time, clock
steps."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
_STEAL = 7
"""Place of ``steal`` among the numbers of ``/proc/stat``'s first line, in clock ticks."""


@dataclass(frozen=True, slots=True)
class HostCounters:
    """Counters of this host at one moment. None: the system does not count."""

    monotonic_ns: int
    wall_minus_monotonic_ns: int
    """Changes where the wall clock is set; where it is only steered, both clocks are."""
    memory_stall_ns: int | None
    """Time in which at least one process waited for memory."""
    swapped_out_bytes: int | None
    stolen_ns: int | None
    """Processor time that the hypervisor gave to others, over all processors."""

    @classmethod
    def now(cls, proc: Path = _PROC) -> HostCounters:
        """Reads them all; under a millisecond."""
        monotonic_ns = time.monotonic_ns()
        wall_ns = time.time_ns()
        # Between the two readings of the monotonic clock: half of that time is how far the difference may be off.
        between_ns = (monotonic_ns + time.monotonic_ns()) // 2
        return cls(
            monotonic_ns=monotonic_ns,
            wall_minus_monotonic_ns=wall_ns - between_ns,
            memory_stall_ns=_memory_stall_ns(proc / "pressure" / "memory"),
            swapped_out_bytes=_swapped_out_bytes(proc / "vmstat"),
            stolen_ns=_stolen_ns(proc / "stat"),
        )

    def since(self, start: HostCounters) -> dict[str, int | None]:
        """Returns how much each grew since ``start``: the keys of ``meanwhile`` in ``docs/record-format.md``."""
        return {
            "lasted_ns": self.monotonic_ns - start.monotonic_ns,
            "clock_step_ns": self.wall_minus_monotonic_ns - start.wall_minus_monotonic_ns,
            "memory_stall_ns": _difference(self.memory_stall_ns, start.memory_stall_ns),
            "swapped_out_bytes": _difference(self.swapped_out_bytes, start.swapped_out_bytes),
            "stolen_ns": _difference(self.stolen_ns, start.stolen_ns),
        }


def _difference(now: int | None, before: int | None) -> int | None:
    return None if now is None or before is None else max(now - before, 0)


def _memory_stall_ns(file: Path) -> int | None:
    for line in _lines(file):
        kind, *fields = line.split()
        for field in fields:
            name, _, value = field.partition("=")
            if kind == "some" and name == "total" and value.isdigit():
                return int(value) * 1000
    return None


def _swapped_out_bytes(file: Path) -> int | None:
    for line in _lines(file):
        name, _, value = line.partition(" ")
        if name == "pswpout" and value.isdigit():
            return int(value) * os.sysconf("SC_PAGE_SIZE")
    return None


def _stolen_ns(file: Path) -> int | None:
    for line in _lines(file):
        name, *ticks = line.split()
        if name == "cpu" and len(ticks) > _STEAL and ticks[_STEAL].isdigit():
            return int(ticks[_STEAL]) * 10**9 // os.sysconf("SC_CLK_TCK")
    return None


def _lines(file: Path) -> list[str]:
    try:
        return [line for line in file.read_text(encoding="ascii", errors="replace").splitlines() if line.strip()]
    except OSError:
        return []
