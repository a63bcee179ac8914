"""How far a replay is from the job whose demand it makes: counter by counter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tonnage.demand.job_use import BIN_NAMES, Bounds, FileSystemUse, JobUse, Transfers


@dataclass(frozen=True, slots=True)
class Deviation:
    """One counter of both."""

    counter: str
    unit: str
    """``bytes``, ``s``, ``share`` or empty: a count."""
    job: Bounds
    replay: float | None
    """None where nothing says it of the replay."""

    @property
    def apart(self) -> float | None:
        """How far the replay is outside of the job's bounds: as a part of the nearer one, of a share the difference;
        None where the job has none of it, or the replay is not known."""
        if self.replay is None:
            return None
        nearer = min(max(self.replay, self.job.low), self.job.high)
        if self.unit == "share":
            return self.replay - nearer
        if nearer:
            return self.replay / nearer - 1
        return None if self.replay else 0.0


def _exact(value: Callable[[Transfers], float]) -> Callable[[Transfers], Bounds]:
    return lambda one: Bounds(value(one), value(one))


_EITHER = 0.5
"""A share that is less well known than so is not known."""
_Counter = tuple[str, str, Callable[[Transfers], Bounds]]
_COUNTERS: tuple[_Counter, ...] = (
    ("bytes", "bytes", _exact(lambda one: one.bytes)),
    ("calls", "", _exact(lambda one: one.operations)),
    ("sequential", "share", lambda one: one.sequential),
    ("files", "", _exact(lambda one: one.files)),
    ("tasks", "", lambda one: one.ranks),
    ("time inside calls", "s", _exact(lambda one: one.busy_s)),
    ("first call to last", "s", _exact(lambda one: one.last_s - one.first_s)),
)


def deviations(job: FileSystemUse, replay: JobUse) -> list[Deviation]:
    """Of the reads, the writes and the calls on names; what neither did is left out."""
    found: list[Deviation] = []
    others = replay.file_systems
    for operation in ("write", "read"):
        mine = job.writes if operation == "write" else job.reads
        own = [one for place in others if (one := place.writes if operation == "write" else place.reads) is not None]
        if mine is None and not own:
            continue
        for name, unit, value in _COUNTERS:
            told = _exactly(0) if mine is None else value(mine)
            found.append(Deviation(f"{operation}: {name}", unit, told, _replayed(name, unit, [*map(value, own)])))
        found += _sizes(operation, mine, own)
    counts: tuple[tuple[str, Callable[[FileSystemUse], int]], ...] = (
        ("opens", lambda place: place.metadata.opens),
        ("stats", lambda place: place.metadata.stats),
        ("syncs", lambda place: place.metadata.syncs),
    )
    for name, count in counts:
        found.append(Deviation(name, "", _exactly(count(job)), sum(count(place) for place in others)))
    return [one for one in found if one.job.high or one.replay]


def _replayed(name: str, unit: str, values: Sequence[Bounds]) -> float | None:
    """Of all file systems that the replay used; the first call of a file may have been either, and any more may not."""
    if unit == "share" and any(one.high - one.low > _EITHER for one in values):
        return None
    middles = [(one.low + one.high) / 2 for one in values]
    # A share and a number of tasks are not added up.
    return max(middles, default=0.0) if unit == "share" or name == "tasks" else sum(middles)


def _sizes(operation: str, job: Transfers | None, replay: Sequence[Transfers]) -> list[Deviation]:
    """Calls by size. A log has none of stdio's calls: each of them may be in any bin."""
    unsized = 0 if job is None else job.operations - sum(job.bins)
    found = []
    for at, name in enumerate(BIN_NAMES):
        known = 0 if job is None else job.bins[at]
        summed = sum(one.bins[at] for one in replay)
        if known or summed:
            found.append(Deviation(f"{operation}: calls of {name} bytes", "", Bounds(known, known + unsized), summed))
    return found


def _exactly(value: float) -> Bounds:
    return Bounds(value, value)
