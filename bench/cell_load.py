"""What every contender is asked to do, and what it answers. Sizes in bytes, times in nanoseconds."""

from __future__ import annotations

from dataclasses import dataclass, replace

KIB = 1 << 10
MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Load:
    """One stream of equal operations on one file a task."""

    op: str
    """``read`` or ``write``."""
    transfer: int
    file_bytes: int
    tasks: int = 1
    random: bool = False
    depth: int = 1
    """Operations in flight; above 1 it is io_uring with fixed buffers and registered files."""
    fresh: bool = False
    """Write a new file once. Otherwise the file is there, in the page cache, and is gone over until the time is up."""
    read_percent: int | None = None
    """Reads and writes mixed: this share of the operations reads."""
    null: bool = False
    """No storage at all: what the generator itself costs."""
    seconds: float = 1.0

    def smallest(self) -> Load:
        """The same with two operations a task (IOR shuffles no fewer), to learn what starting and ending costs."""
        return replace(self, file_bytes=2 * self.transfer, seconds=0.0)

    @property
    def once(self) -> bool:
        """One pass over the file and no time limit."""
        return self.fresh or self.seconds == 0.0

    @property
    def whole_seconds(self) -> int:
        """For contenders that know no shorter limit than a second."""
        return max(1, round(self.seconds))


@dataclass(frozen=True, slots=True)
class Sample:
    """One run of one contender."""

    bytes: int
    operations: int
    elapsed_ns: int
    cpu_ns: int
    """User and system time of the whole process tree, start and end included."""

    @property
    def operations_per_s(self) -> float:
        return self.operations * 1e9 / self.elapsed_ns
