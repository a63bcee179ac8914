"""What a job did to each file system, as counters tell it: sums, time stamps and bounds, never a guess.

Seconds count from the job's start. ``Bounds`` are what the counters prove: the value lies between them.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import Literal

BIN_EDGES = (100, 1 << 10, 10 << 10, 100 << 10, 1 << 20, 4 << 20, 10 << 20, 100 << 20, 1 << 30)
"""Between the ten bins of transfer sizes, in bytes: Darshan's own, of which K, M and G are powers of two."""
BIN_NAMES = ("0–100", "100–1K", "1K–10K", "10K–100K", "100K–1M", "1M–4M", "4M–10M", "10M–100M", "100M–1G", "1G+")
Order = Literal["sequential", "strided", "forward", "backward", "again", "backward or again", "random", "not known"]
"""In which a rank goes through a file: each call where the one before ended; forward with one gap, or with gaps of any
size; towards the file's beginning; at the same place again; one of these two; any other way."""
COUNTED_BY_KERNEL = "the kernel"


@dataclass(frozen=True, slots=True)
class Bounds:
    """The value is at least ``low`` and at most ``high``; equal ones: it is known."""

    low: float
    high: float

    @property
    def is_exact(self) -> bool:
        """Whether it is known and not only bounded."""
        return self.low == self.high


@dataclass(frozen=True, slots=True)
class SizeCount:
    """So many transfers of exactly this size in bytes, in so many files."""

    size: int
    count: int
    files: int = 1


@dataclass(frozen=True, slots=True)
class RankUse:
    """What one rank moved, where the log tells ranks apart."""

    rank: int
    bytes: int
    operations: int
    busy_s: float
    first_s: float
    last_s: float


@dataclass(frozen=True, slots=True)
class TimeBin:
    """Bytes that were moved between two instants."""

    start_s: float
    end_s: float
    bytes: int

    @property
    def length_s(self) -> float:
        return self.end_s - self.start_s

    @property
    def bytes_per_s(self) -> float:
        return self.bytes / self.length_s if self.length_s > 0 else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfers:
    """All reads, or all writes, of one job on one file system."""

    operation: str
    """``read`` or ``write``."""
    bytes: int
    operations: int
    bins: tuple[int, ...]
    """Transfers of each range of sizes (``BIN_NAMES``); stdio counts none."""
    common: tuple[SizeCount, ...]
    """The most frequent sizes, where it is certain that they belong to this direction."""
    sequential: Bounds
    """Share of the operations that began behind the end of the one before, of its rank and file."""
    consecutive: Bounds
    """Share that began exactly there."""
    order: Order
    files: int
    ranks: Bounds
    """Processes that moved bytes."""
    at_once: Bounds
    """Calls in progress at the same moment, at most over the job."""
    mean_at_once: Bounds
    """The same on average, over the time in which at least one was in progress."""
    busy_s: float
    """Seconds inside calls, summed over all ranks."""
    active_s: Bounds
    """Time in which at least one call was in progress."""
    first_s: float
    last_s: float
    each: tuple[RankUse, ...] = ()
    """Ranks whose share is known."""
    imbalance: float | None = None
    """Bytes of the rank that moved most, over the mean of all; None where the log does not separate ranks."""
    heat: tuple[TimeBin, ...] = ()
    """Bytes over time; empty where the log does not tell it of this file system."""
    counted_by: str = "time stamps"
    """What tells how many calls were in progress: ``DXT`` (each call), or ``time stamps`` (first start, last end).
    Of what :data:`COUNTED_BY_KERNEL` each figure is the most that it can be, and nothing proves more than 0."""

    @property
    def is_proved(self) -> bool:
        """Whether these calls were of this file system: of a process's sums nobody knows."""
        return self.counted_by != COUNTED_BY_KERNEL

    @property
    def moved(self) -> Bounds:
        """Bytes."""
        return Bounds(self.bytes if self.is_proved else 0, self.bytes)

    @property
    def calls(self) -> Bounds:
        return Bounds(self.operations if self.is_proved else 0, self.operations)

    @property
    def inside_s(self) -> Bounds:
        """Seconds inside calls, summed over all ranks."""
        return Bounds(self.busy_s if self.is_proved else 0.0, self.busy_s)

    @property
    def rate_bytes_per_s(self) -> Bounds | None:
        """While calls were in progress; None where nothing bounds it."""
        if not self.is_proved:
            return None
        slow = self.bytes / self.active_s.high if self.active_s.high > 0 else 0.0
        return Bounds(slow, self.bytes / self.active_s.low if self.active_s.low > 0 else slow)

    @property
    def peak(self) -> TimeBin | None:
        """The fullest bin; None where there are none, or where one is longer than any call was in progress: then its
        mean says less than the rate does."""
        fullest = max(self.heat, key=lambda one: one.bytes_per_s, default=None)
        return fullest if fullest is not None and fullest.length_s <= self.active_s.high else None

    @property
    def bursts(self) -> int | None:
        """Groups of bins with bytes, between bins without; None where there are no bins."""
        if not self.heat:
            return None
        moved = [one.bytes > 0 for one in self.heat]
        return sum(now and not before for before, now in zip([False, *moved], moved, strict=False))

    @property
    def transfer_size(self) -> int | None:
        """The size by which most bytes went where that is certain, or the mean of the range by which they did, else the
        mean of all, in bytes; None where nothing is certain."""
        if not self.is_proved:
            return None
        least = {**{one.size: one.size for one in self.common}, **{one.size: low for one, low in self._others()}}
        most = max(self.sizes, key=lambda one: least[one.size] * one.count, default=None)
        if most is not None and 2 * least[most.size] * most.count >= self.bytes:
            return most.size
        return max(1, self.bytes // self.operations) if self.operations else 0

    @property
    def sizes(self) -> tuple[SizeCount, ...]:
        """The common sizes, and of each range the mean size of its other calls."""
        return (*self.common, *(one for one, _ in self._others()))

    def _others(self) -> list[tuple[SizeCount, int]]:
        """Calls of no common size, with the least that each moved: of each range their mean, which lies as far between
        its ends as those of all have to for the bytes to add up; calls that no range has are of any size."""
        counts, moved = list(self.bins), sum(one.size * one.count for one in self.common)
        for one in self.common:
            at = bisect_left(BIN_EDGES, one.size)
            counts[at] = max(0, counts[at] - one.count)
        calls = self.operations - sum(one.count for one in self.common)
        ends = zip((0, *(edge + 1 for edge in BIN_EDGES)), (*BIN_EDGES, self.bytes), counts, strict=True)
        ranges = [(low, max(low, high), count) for low, high, count in ends if count]
        left, unsized = self.bytes - moved, calls - sum(counts)
        if unsized > 0:
            ranges.append((0, left // unsized, unsized))
        least = sum(low * count for low, _, count in ranges)
        most = sum(high * count for _, high, count in ranges)
        share = min(1.0, max(0.0, (left - least) / max(1, most - least)))
        files = max(1, self.files - sum(one.files for one in self.common))
        return [
            (SizeCount(size, count, min(count, files)), low)
            for low, high, count in ranges
            if (size := round(low + share * (high - low))) > 0
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """Calls on names and descriptors."""

    opens: int
    stats: int
    seeks: int
    syncs: int
    """``fsync`` and ``fdatasync``; flushes of stdio."""
    busy_s: float
    """In opens, closes, stats and seeks, summed over all ranks."""
    first_s: float
    last_s: float

    @property
    def operations(self) -> int:
        """Opens and stats: what a server of metadata is asked."""
        return self.opens + self.stats


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSystemUse:
    """One mount point."""

    mount: str
    type: str
    reads: Transfers | None
    writes: Transfers | None
    metadata: Metadata
    files: int
    only_read: int
    only_written: int
    shared: int
    """Files that several ranks used."""
    mapped: int = 0
    """Calls of ``mmap``: what went through these mappings, no counter has."""

    @property
    def transfers(self) -> tuple[Transfers, ...]:
        """Those that there were."""
        return tuple(one for one in (self.writes, self.reads) if one is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobUse:
    """One run of a program."""

    program: str
    """Its file name; empty where nothing tells it."""
    command: str
    source: str
    """What counted: ``Darshan 3.4.7``, ``Tonnage``."""
    processes: int
    started_ns: int
    run_s: float
    clock_s: float = 0.0
    """The job may have lasted so much less or more: some logs have whole seconds."""
    file_systems: tuple[FileSystemUse, ...]
    job_id: str = ""
    problems: tuple[str, ...] = field(default=())
    """Sentences about what is missing."""
    lacking: tuple[str, ...] = ()
    """Parts of a log of which records are missing, left out as damaged or never written: the figures lack their calls,
    and nothing says how much more the job asked."""

    @property
    def lasted_s(self) -> float:
        """Until its end or its last call: the clocks of ranks and of the job differ, and a short job may last 0."""
        return self._at_least(self.run_s)

    @property
    def lasted(self) -> Bounds:
        """What its clock proves of that."""
        return Bounds(self._at_least(self.run_s - self.clock_s), self._at_least(self.run_s + self.clock_s))

    def _at_least(self, run_s: float) -> float:
        last = [moved.last_s for place in self.file_systems for moved in place.transfers]
        return max(run_s, 1e-9, *last, *(place.metadata.last_s for place in self.file_systems))

    def over_the_job(self, value: Bounds) -> Bounds:
        """Returns the amount per second of the job."""
        return Bounds(value.low / self.lasted.high, value.high / self.lasted.low)
