"""One server's load indices at one moment, and the counters from which they are made."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from time import monotonic
from typing import Any

from tonnage.errors import TonnageError

_QUEUE_S = 15.0
_STACKED = re.compile(r"(?:dm-|md|loop|zd|drbd|bcache|ram|zram|fd|sr|nvme\d+c)\d")
"""What lies on other devices (mapper, RAID, loop, zvol, drbd, bcache, one path of a multipath NVMe), in memory, or
takes discs: an operation there is none of a device, or counts again on the device below."""
_PARTITION = re.compile(r"(?P<whole>.*?[^\d])(?P<number>\d+)")
SHORTEST_S = 0.2
"""The shortest time between two samples: CPU time is counted in hundredths of a second."""
LONGEST_S = 600.0
"""The longest time between two samples: a rate over more does not show the present."""
_WOBBLE_S = 2.0
"""By how much the time of the start may move while the clock is kept right."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """None: it does not tell."""

    run_15s: float | None = None
    """Processes that run or wait for a CPU: averaged over samples, whose weight falls to 1/e in 15 s."""
    run_1m: float | None = None
    """The kernel's load averages; on Linux they count who waits for a disk as well."""
    run_15m: float | None = None
    logins: int | None = None
    idle_s: float | None = None
    """Since a logged-in user last typed; without logins, since the last login or logout."""
    tmp_free_bytes: int | None = None
    swap_free_bytes: int | None = None
    memory_free_bytes: int | None = None
    """What programs can still get (the kernel's MemAvailable)."""

    @classmethod
    def from_dict(cls, kept: Any) -> Host:
        """TypeError where it was not kept by ``asdict``."""
        return cls(**kept)

    def averaged(self, before: Host, gap_s: float) -> Host:
        """With the run queue of 15 s, after ``before``, which is so much older."""
        if self.run_15s is None or before.run_15s is None or gap_s < 0:
            return self
        return replace(self, run_15s=self.run_15s + (before.run_15s - self.run_15s) * math.exp(-gap_s / _QUEUE_S))


NOT_TOLD = Host()
"""Of a server that tells none of it."""


def queue(running: float | None) -> float | None:
    """Runnable processes, without the one that reads the counters."""
    return None if running is None else max(0.0, running - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The load indices of one server. Rates are over the time between two samples of its counters; None is unknown."""

    server: str
    source: str
    """``node_exporter``, ``proc`` or ``ssh``; empty where the site file names none of them."""
    at_s: float
    """When, in seconds since 1970, by this host's clock."""
    ut_permille: int | None = None
    """CPU time in use, of all CPUs; waiting for I/O is not use."""
    bio_per_s: float | None = None
    """Block device operations, of whole devices (``devices.counted``)."""
    bio_bytes_per_s: int | None = None
    rpc_per_s: float | None = None
    """NFS server calls."""
    pressure_permille: int | None = None
    """Time in which some task waited for I/O (PSI ``io some``): between the two samples, or the kernel's average over
    10 s where it tells that."""
    pages_per_s: float | None = None
    """Moved from and to swap space."""
    host: Host = NOT_TOLD
    cpus: int | None = None
    clock_ahead_s: float | None = None
    """The server's clock less this host's."""
    problem: str | None = None
    """Why there is nothing (new): one sentence; then the figures are those of ``at_s``, or None."""

    def age_s(self, now_s: float) -> float:
        """How old it is."""
        return max(0.0, now_s - self.at_s)

    def is_stale(self, now_s: float, age_ns: int) -> bool:
        """Whether it tells nothing of the present: no figures, or older than ``age_ns`` (the policy's index_age)."""
        return self.ut_permille is None or self.age_s(now_s) * 1e9 > age_ns

    @classmethod
    def from_dict(cls, kept: Any) -> Reading:
        """TypeError where it was not kept by ``asdict``."""
        return cls(**{**kept, "host": Host.from_dict(kept.get("host", {}))})


def counted(names: Iterable[str]) -> frozenset[str]:
    """The whole devices among ``names`` (``sda``, ``nvme0n1``, ``vda``, ``nbd0``, ``rbd0``), without their partitions.

    Where only stacked devices are listed, they count: an exporter configured to show one loop device means it.
    """
    listed = frozenset(names)
    whole = frozenset(name for name in listed if not _is_partition(name, listed))
    return frozenset(name for name in whole if not _STACKED.match(name)) or whole


def _is_partition(name: str, listed: frozenset[str]) -> bool:
    """``sda1`` beside ``sda``, ``nvme0n1p2`` beside ``nvme0n1``; ``xvda1`` alone is a device."""
    found = _PARTITION.fullmatch(name)
    if found is None:
        return False
    whole = found["whole"]
    # The kernel sets a p between where the device's own name ends in a digit.
    return whole in listed or (whole.endswith("p") and whole[-2:-1].isdigit() and whole[:-1] in listed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counters:
    """One sample of the counters of a server. What the server does not report is None, or empty."""

    at_s: float
    """When, in seconds since 1970, by this host's clock."""
    clock_s: float
    """A clock of the server's own, for differences: two samples from two hosts still measure one time."""
    wall_s: float | None
    """The server's wall clock, in seconds since 1970; None where it is this host's clock."""
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
        """This sample with the averages continued from the previous one."""
        if before is None:
            return self
        return replace(self, host=self.host.averaged(before.host, self.at_s - before.at_s))

    @classmethod
    def from_dict(cls, kept: Any) -> Counters:
        """ValueError or TypeError where it was not kept by ``asdict``."""
        disks = {str(name): (int(ops), int(moved)) for name, (ops, moved) in kept["disks"].items()}
        return cls(**{**kept, "disks": disks, "host": Host.from_dict(kept.get("host", {}))})


def comparable(before: Counters | None, after: Counters) -> bool:
    """Whether rates may be computed between the two samples: no reboot in between, enough time, no clock step."""
    if before is None or abs(after.booted_s - before.booted_s) > _WOBBLE_S:
        return False
    elapsed_s, ours_s = after.clock_s - before.clock_s, after.at_s - before.at_s
    jumped = abs(elapsed_s - ours_s) > 1 + 0.05 * abs(ours_s)
    return SHORTEST_S <= elapsed_s <= LONGEST_S and not jumped


def reading_between(server: str, source: str, before: Counters | None, after: Counters) -> Reading:
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
    operations, moved = _disk_steps(before, after)
    # Idle time is counted in hundredths of a second, so that its sum may run a little behind or ahead.
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


def _disk_steps(before: Counters, after: Counters) -> tuple[int | None, int | None]:
    """(operations, bytes) of the devices that both samples contain; None where there are none, or one was reset."""
    both = counted(after.disks).intersection(before.disks)
    steps = [[new - old for new, old in zip(after.disks[one], before.disks[one], strict=True)] for one in both]
    if not steps or any(step < 0 for pair in steps for step in pair):
        return None, None
    return sum(pair[0] for pair in steps), sum(pair[1] for pair in steps)


class SourceError(TonnageError):
    """A source cannot be reached, or returns something else than indices; the text says which and why."""


@dataclass(frozen=True, slots=True)
class Source:
    """One server's source."""

    name: str
    """``node_exporter``, ``proc`` or ``ssh``."""
    module: str
    function: str
    """Of that module, ``function(target, timeout_s)`` asks it."""
    target: str
    prompt: bool
    """Whether it usually answers while a decision waits."""

    def read(self, timeout_s: float) -> Counters:
        """Asks it, within ``timeout_s``; SourceError."""
        found: Counters = getattr(import_module(f"{__package__}.{self.module}"), self.function)(self.target, timeout_s)
        return found


def source(address: str) -> Source:
    """The source of an address of the site file; SourceError where it is no address."""
    kind, _, rest = address.partition(":")
    if kind in ("http", "https"):
        return Source("node_exporter", "node_exporter", "read_counters", address, prompt=True)
    if kind == "ssh":
        return Source("ssh", "kernel_files", "read_counters_over_ssh", rest, prompt=False)
    if address == "proc:":
        return Source("proc", "kernel_files", "read_counters", "/proc", prompt=True)
    raise SourceError(f"{address!r} is no source of indices; hint: write http://HOST:9100/metrics, ssh:HOST or proc:")


class Deadline:
    """The end of a time limit that several steps share."""

    def __init__(self, timeout_s: float) -> None:
        self._end_s = monotonic() + timeout_s

    @property
    def left_s(self) -> float:
        """Returns the time that is left; TimeoutError where it is over."""
        left_s = self._end_s - monotonic()
        if left_s <= 0:
            raise TimeoutError("timed out")
        return left_s
