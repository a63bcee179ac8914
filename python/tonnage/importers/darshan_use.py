"""What a Darshan log says of a job's use of each file system; what its counters cannot tell stays between bounds."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from posixpath import normpath
from typing import Any

import numpy as np
import numpy.typing as npt

from tonnage.demand.job_use import (
    BIN_EDGES,
    Bounds,
    FileSystemUse,
    JobUse,
    Metadata,
    Order,
    RankUse,
    SizeCount,
    TimeBin,
    Transfers,
)
from tonnage.importers.darshan_log import Calls, Counters, Log
from tonnage.importers.darshan_trace import bytes_over_time, counted_order, most_at_once, order_of, total_s, union

_BINS = ("0_100", "100_1K", "1K_10K", "10K_100K", "100K_1M", "1M_4M", "4M_10M", "10M_100M", "100M_1G", "1G_PLUS")
_COMMON = (1, 2, 3, 4)
_SYNCS = ("FSYNCS", "FDSYNCS", "FLUSHES", "SYNCS")
_MOST_COMMON = 8
_STREAMS = ("<STDIN>", "<STDOUT>", "<STDERR>")
_MPI_CALLS = ("INDEP", "COLL", "SPLIT", "NB")
UNKNOWN = "unknown"

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class _Table:
    """The records of one module on one file system."""

    module: str
    counters: Counters
    on: Mask

    def counts(self, name: str) -> npt.NDArray[np.int64]:
        """Of each record; 0 where a counter is not known."""
        found = self.counters.counts.get(name)
        return np.zeros(int(self.on.sum()), np.int64) if found is None else np.maximum(found[self.on], 0)

    def times(self, name: str) -> npt.NDArray[np.float64]:
        found = self.counters.times.get(name)
        return np.zeros(int(self.on.sum())) if found is None else np.maximum(found[self.on], 0.0)

    @property
    def ids(self) -> npt.NDArray[np.uint64]:
        return self.counters.ids[self.on]

    @property
    def ranks(self) -> npt.NDArray[np.int64]:
        return self.counters.ranks[self.on]

    def operations(self, direction: str) -> npt.NDArray[np.int64]:
        if self.module != "MPI-IO":
            return self.counts(f"{direction}S")
        found: npt.NDArray[np.int64] = sum(
            (self.counts(f"{kind}_{direction}S") for kind in _MPI_CALLS), np.zeros(int(self.on.sum()), np.int64)
        )
        return found

    def moved(self, direction: str) -> npt.NDArray[np.int64]:
        return self.counts("BYTES_READ" if direction == "READ" else "BYTES_WRITTEN")


def use_of(log: Log) -> JobUse:
    """Returns the use of each file system on which the job opened a file."""
    mounts = sorted(log.mounts, key=lambda mount: -len(mount[0]))
    where: dict[int, tuple[str, str]] = {}
    for key, name in log.names.items():
        if name not in _STREAMS and not name.startswith("heatmap:"):
            # Names are as the program gave them.
            path = normpath(name)
            where[key] = next((mount for mount in mounts if _is_below(path, mount[0])), (UNKNOWN, UNKNOWN))
    nowhere = {key for key, name in log.names.items() if name in _STREAMS}
    tables = _tables(log)
    problems = [*log.problems, *_partial(log)]
    if log.others and not tables:
        problems.append(f"its records are of {', '.join(log.others)}, which are not read")
    places: dict[tuple[str, str], None] = {}
    for _, counters in tables:
        for key in np.unique(counters.ids):
            if int(key) not in nowhere:
                places[where.get(int(key), (UNKNOWN, UNKNOWN))] = None
    found = []
    for place in sorted(places):
        parts = [_Table(module, one, _mask(one.ids, where, nowhere, place)) for module, one in tables]
        traced = None if log.calls is None else _mask(log.calls.ids, where, nowhere, place)
        found.append(_file_system(place, log, [part for part in parts if part.on.any()], traced))
    return JobUse(
        program=_program(log.program),
        command=log.program,
        source=f"Darshan {log.library or 'log ' + log.version}",
        processes=log.processes,
        started_ns=log.start_ns,
        run_s=log.run_s,
        clock_s=log.clock_s,
        file_systems=tuple(found),
        job_id=str(log.job_id),
        problems=tuple(problems),
        lacking=_incomplete(log, tables),
    )


def _is_below(name: str, mount: str) -> bool:
    return name == mount or name.startswith(mount.rstrip("/") + "/")


def _program(command: str) -> str:
    return PurePath(command.split()[0]).name if command.split() else ""


def _partial(log: Log) -> list[str]:
    return [
        f"module {name} is partial: its table was full, and files that came later are not in the log"
        for name in log.partial
    ]


def _incomplete(log: Log, tables: Sequence[tuple[str, Counters]]) -> tuple[str, ...]:
    """Modules of whose calls some are not in the figures."""
    beside = {"MPI-IO"} if any(name == "POSIX" for name, _ in tables) else set()
    damaged = [name for name in log.damaged if name not in beside]
    return (*damaged, *(name for name, _ in tables if name in log.partial))


def _tables(log: Log) -> list[tuple[str, Counters]]:
    """Those whose bytes add up: MPI-IO calls POSIX, so its records count only where POSIX has none at all."""
    found = [(name, log.modules[name]) for name in ("POSIX", "STDIO") if name in log.modules]
    if "POSIX" not in log.modules and "MPI-IO" in log.modules:
        found.append(("MPI-IO", log.modules["MPI-IO"]))
    return found


def _mask(ids: npt.NDArray[np.uint64], where: dict[int, tuple[str, str]], nowhere: set[int], place: object) -> Mask:
    keys, at = np.unique(ids, return_inverse=True)
    mine = [int(key) not in nowhere and where.get(int(key), (UNKNOWN, UNKNOWN)) == place for key in keys]
    return np.array(mine, np.bool_)[at] if len(keys) else np.zeros(0, np.bool_)


def _file_system(place: tuple[str, str], log: Log, parts: Sequence[_Table], traced: Mask | None) -> FileSystemUse:
    used: dict[int, set[int]] = {}
    read: set[int] = set()
    written: set[int] = set()
    for part in parts:
        reads, writes = part.operations("READ"), part.operations("WRITE")
        for key, rank, reading, writing in zip(
            part.ids.tolist(), part.ranks.tolist(), reads.tolist(), writes.tolist(), strict=True
        ):
            used.setdefault(key, set()).add(rank)
            if reading:
                read.add(key)
            if writing:
                written.add(key)
    return FileSystemUse(
        mount=place[0],
        type=place[1],
        reads=_transfers("read", log, parts, traced),
        writes=_transfers("write", log, parts, traced),
        metadata=_metadata(parts),
        files=len(used),
        only_read=len(read - written),
        only_written=len(written - read),
        shared=sum(-1 in ranks or len(ranks) > 1 for ranks in used.values()),
        mapped=int(sum(part.counts("MMAPS").sum() for part in parts)),
    )


def _metadata(parts: Sequence[_Table]) -> Metadata:
    def total(*names: str) -> int:
        return int(sum(part.counts(name).sum() for part in parts for name in names))

    starts = [value for part in parts for value in part.times("F_OPEN_START_TIMESTAMP").tolist() if value > 0]
    ends = [value for part in parts for value in part.times("F_CLOSE_END_TIMESTAMP").tolist() if value > 0]
    return Metadata(
        opens=total("OPENS", "FDOPENS"),
        stats=total("STATS"),
        seeks=total("SEEKS"),
        syncs=total("FSYNCS", "FDSYNCS", "FLUSHES"),
        busy_s=float(sum(part.times("F_META_TIME").sum() for part in parts)),
        first_s=min(starts, default=0.0),
        last_s=max(ends, default=0.0),
    )


@dataclass(frozen=True, slots=True)
class _Windows:
    """First start and last end of the calls of each record, its seconds inside calls, and its rank."""

    ranks: npt.NDArray[np.int64]
    start_s: npt.NDArray[np.float64]
    end_s: npt.NDArray[np.float64]
    busy_s: npt.NDArray[np.float64]
    synced_s: npt.NDArray[np.float64]
    """Until when a call may have been in progress: a sync counts as time inside writes and has no time stamp, so that a
    file that was synced may have been until it was closed."""
    is_synced: bool


def _transfers(operation: str, log: Log, parts: Sequence[_Table], traced: Mask | None) -> Transfers | None:
    """None where there was no such call."""
    direction = operation.upper()
    active = [part.operations(direction) > 0 for part in parts]
    operations = int(sum(part.operations(direction).sum() for part in parts))
    if not operations:
        return None
    windows = _windows(parts, active, direction, log.run_s + log.clock_s)
    moved = int(sum(part.moved(direction).sum() for part in parts))
    calls = _exact(log, traced, operation, operations, moved)
    heat, by_rank = _heat(log, parts, direction)
    if calls is not None:
        heat = bytes_over_time(calls)
    each = _each(parts, active, direction)
    at_once, mean, busy_in = _overlap(windows, calls, log.processes)
    ranks = _ranks(windows, each, by_rank, calls, Bounds(at_once.low, log.processes))
    share = [part for part in parts if part.module == "POSIX"]
    order, sequential, consecutive = _order(share, direction, operations, calls, log.processes)
    return Transfers(
        operation=operation,
        bytes=moved,
        operations=operations,
        bins=tuple(int(sum(part.counts(f"SIZE_{direction}_{name}").sum() for part in share)) for name in _BINS),
        common=_common(share, direction, calls),
        sequential=sequential,
        consecutive=consecutive,
        order=order,
        files=len({key for part, on in zip(parts, active, strict=True) for key in part.ids[on].tolist()}),
        ranks=ranks,
        at_once=at_once,
        mean_at_once=mean,
        busy_s=float(windows.busy_s.sum()),
        active_s=busy_in,
        first_s=float(windows.start_s.min()),
        last_s=float(windows.end_s.max()),
        each=each,
        imbalance=_imbalance(by_rank or [one.bytes for one in each], ranks),
        heat=heat,
        counted_by="time stamps" if calls is None or windows.is_synced else "DXT",
    )


def _windows(parts: Sequence[_Table], active: Sequence[Mask], direction: str, run_s: float) -> _Windows:
    def column(name: str) -> npt.NDArray[np.float64]:
        return np.concatenate([part.times(name)[on] for part, on in zip(parts, active, strict=True)])

    def counted(*names: str) -> npt.NDArray[np.int64]:
        return np.concatenate(
            [sum(part.counts(name)[on] for name in names) for part, on in zip(parts, active, strict=True)]
        )

    ranks = np.concatenate([part.ranks[on] for part, on in zip(parts, active, strict=True)])
    start, end = column(f"F_{direction}_START_TIMESTAMP"), column(f"F_{direction}_END_TIMESTAMP")
    # A clock without a step between two calls gives an end before its start.
    end = np.maximum(end, start)
    synced = counted(*_SYNCS) > 0 if direction == "WRITE" else np.zeros(len(end), np.bool_)
    closed = column("F_CLOSE_END_TIMESTAMP")
    last = np.where(synced, np.maximum(end, np.where(closed > 0, closed, run_s)), end)
    return _Windows(ranks, start, end, column(f"F_{direction}_TIME"), last, bool(synced.any()))


def _exact(log: Log, traced: Mask | None, operation: str, operations: int, moved: int) -> Calls | None:
    """The traced calls, where DXT has every one of them and their bytes."""
    if log.calls is None or traced is None:
        return None
    on = traced & (log.calls.wrote == (operation == "write"))
    if int(on.sum()) != operations or int(log.calls.lengths[on].sum()) != moved:
        return None
    kept = log.calls
    return Calls(
        kept.ids[on], kept.ranks[on], kept.wrote[on], kept.offsets[on], kept.lengths[on], kept.start_s[on],
        kept.end_s[on],
    )  # fmt: skip


def _each(parts: Sequence[_Table], active: Sequence[Mask], direction: str) -> tuple[RankUse, ...]:
    """Empty where one of the records is of all ranks together."""
    if any((part.ranks[on] < 0).any() for part, on in zip(parts, active, strict=True)):
        return ()
    found: dict[int, RankUse] = {}
    for part, on in zip(parts, active, strict=True):
        columns: Iterable[Any] = (
            part.ranks[on], part.moved(direction)[on], part.operations(direction)[on],
            part.times(f"F_{direction}_TIME")[on], part.times(f"F_{direction}_START_TIMESTAMP")[on],
            part.times(f"F_{direction}_END_TIMESTAMP")[on],
        )  # fmt: skip
        for rank, moved, operations, busy, first, last in zip(*(column.tolist() for column in columns), strict=True):
            one = found.get(rank) or RankUse(rank, 0, 0, 0.0, first, last)
            found[rank] = RankUse(
                rank, one.bytes + moved, one.operations + operations, one.busy_s + busy,
                min(one.first_s, first), max(one.last_s, last),
            )  # fmt: skip
    return tuple(found[rank] for rank in sorted(found))


def _ranks(
    windows: _Windows, each: Sequence[RankUse], by_rank: Sequence[int], calls: Calls | None, otherwise: Bounds
) -> Bounds:
    """``otherwise``: at least as many as calls were in progress at once, for a rank counts as one task."""
    if each:
        return Bounds(len(each), len(each))
    if calls is not None:
        count = len(np.unique(calls.ranks))
        return Bounds(count, count)
    if by_rank:
        count = sum(moved > 0 for moved in by_rank)
        return Bounds(count, count)
    own = len(np.unique(windows.ranks[windows.ranks >= 0]))
    return Bounds(max(otherwise.low, own), otherwise.high)


def _overlap(windows: _Windows, calls: Calls | None, processes: int) -> tuple[Bounds, Bounds, Bounds]:
    """Most calls at once, their mean, and the time in which there was one. Syncs count as calls of writes."""
    at_once, mean, active = _stamped(windows, processes)
    if calls is None:
        return at_once, mean, active
    most = most_at_once(calls.start_s, calls.end_s)
    inside = float((calls.end_s - calls.start_s).sum())
    some = total_s(*union(calls.start_s, calls.end_s))
    if windows.is_synced:  # which no trace has
        whole = Bounds(min(max(active.low, some), active.high), max(active.high, some))
        return Bounds(max(at_once.low, most), max(at_once.high, most)), mean, whole
    share = inside / some if some > 0 else 1.0
    return Bounds(most, most), Bounds(share, share), Bounds(some, some)


def _stamped(windows: _Windows, processes: int) -> tuple[Bounds, Bounds, Bounds]:
    """The same from time stamps: what they prove."""
    busy_s, ends = float(windows.busy_s.sum()), windows.synced_s
    open_s = total_s(*union(windows.start_s, ends))
    own = windows.ranks >= 0
    each = [windows.ranks == rank for rank in np.unique(windows.ranks[own])]
    if (~own).any():
        most = processes
    else:
        # A rank is in one call at a time: its own windows count once.
        merged = [union(windows.start_s[mine], ends[mine]) for mine in each]
        most = most_at_once(np.concatenate([one[0] for one in merged]), np.concatenate([one[1] for one in merged]))
    most = max(1, most)
    longest = max((float(windows.busy_s[mine].sum()) for mine in each), default=0.0)
    least_s = min(max(longest, busy_s / most), open_s) if open_s > 0 else 0.0
    mean_low = min(busy_s / open_s, float(most)) if open_s > 0 else 1.0
    mean_high = min(busy_s / least_s, float(most)) if least_s > 0 else float(most)
    low = max(1.0, float(np.ceil(mean_low - 1e-3)))
    return (
        Bounds(min(low, most), most),
        Bounds(max(min(mean_low, mean_high), min(1.0, mean_high)), max(mean_low, mean_high, 1.0)),
        Bounds(least_s, open_s),
    )


def _order(
    parts: Sequence[_Table], direction: str, operations: int, calls: Calls | None, processes: int
) -> tuple[Order, Bounds, Bounds]:
    """In which order ranks went through files; the shares of calls behind the one before, and exactly there.

    Darshan counts a call against the one before it of its rank and file; the first has none and counts as either. What
    has no such counter (stdio, MPI-IO alone) counts as either, too.
    """
    if calls is not None:
        return order_of(calls)
    made = np.concatenate([np.zeros(0, np.int64), *(part.operations(direction) for part in parts)])
    ranks = np.concatenate([np.zeros(0, np.int64), *(part.ranks for part in parts)])
    first = np.minimum(np.where(ranks < 0, processes, 1), made)
    unsized = operations - int(made.sum())
    followed = operations - int(first.sum())
    if not followed and not unsized:
        return "sequential", Bounds(0.0, 1.0), Bounds(0.0, 1.0)
    shares, followers = [], []
    for counter in (f"SEQ_{direction}S", f"CONSEC_{direction}S"):
        counted = np.concatenate([np.zeros(0, np.int64), *(part.counts(counter) for part in parts)])
        sure = int(np.maximum(counted - first, 0).sum())
        most = int(np.minimum(counted, made).sum()) + unsized
        either = int(np.minimum(first, made - counted).clip(0).sum()) + unsized
        shares.append(Bounds(int(counted.sum()) / operations, min(1.0, (int(counted.sum()) + either) / operations)))
        followers.append(Bounds(sure / followed, min(1.0, most / followed)) if followed else Bounds(0.0, 1.0))
    return counted_order(*followers), shares[0], shares[1]


def _common(parts: Sequence[_Table], direction: str, calls: Calls | None) -> tuple[SizeCount, ...]:
    """Of every call where DXT has them; else the sizes of records that went one way only, for Darshan counts the most
    frequent sizes of a file without the direction."""
    found: dict[int, tuple[int, set[int]]] = {}

    def add(size: int, count: int, files: set[int]) -> None:
        before, known = found.get(size, (0, set()))
        found[size] = before + count, known | files

    if calls is not None:
        sizes, counts = np.unique(calls.lengths, return_counts=True)
        kept = sorted(zip(sizes.tolist(), counts.tolist(), strict=True), key=lambda one: -one[0] * one[1])
        for size, count in kept[:_MOST_COMMON]:
            add(size, count, set(calls.ids[calls.lengths == size].tolist()))
    for part in parts if calls is None else ():
        other = part.operations("WRITE" if direction == "READ" else "READ")
        mine, ids = part.operations(direction), part.ids
        for number in _COMMON:
            size, count = part.counts(f"ACCESS{number}_ACCESS"), part.counts(f"ACCESS{number}_COUNT")
            for at in np.flatnonzero((count > 0) & (mine > 0)).tolist():
                if other[at] == 0 or _only(part, at, direction, int(size[at]), int(count[at])):
                    add(int(size[at]), int(count[at]), {int(ids[at])})
    ordered = sorted(found.items(), key=lambda item: (-item[0] * item[1][0], item[0]))
    return tuple(SizeCount(size, count, len(files)) for size, (count, files) in ordered[:_MOST_COMMON] if size > 0)


def _only(part: _Table, at: int, direction: str, size: int, count: int) -> bool:
    """Whether a common size of a file that was read and written belongs to one way: the other way has no transfer in
    its bin."""
    # A bin has its upper edge: 1 MiB is in 100K_1M.
    name = _BINS[bisect_left(BIN_EDGES, size)]
    other = "WRITE" if direction == "READ" else "READ"
    return bool(part.counts(f"SIZE_{other}_{name}")[at] == 0 and part.counts(f"SIZE_{direction}_{name}")[at] >= count)


def _heat(log: Log, parts: Sequence[_Table], direction: str) -> tuple[tuple[TimeBin, ...], list[int]]:
    """Bytes over time, and bytes of each rank: a heat map is of all file systems together, so that it says something
    of one only where all bytes of its module are there."""
    total: npt.NDArray[np.int64] | None = None
    width_s = 0.0
    by_rank: dict[int, int] = {}
    for part in parts:
        rows = [row for row in log.heat if row.module == part.module.replace("-", "")]
        moved = [row.read if direction == "READ" else row.written for row in rows]
        if not rows or sum(int(one.sum()) for one in moved) != int(part.moved(direction).sum()):
            if part.moved(direction).sum():
                return (), []
            continue
        for row, bins in zip(rows, moved, strict=True):
            by_rank[row.rank] = by_rank.get(row.rank, 0) + int(bins.sum())
            if total is None:
                total, width_s = np.zeros(len(bins), np.int64), row.width_s
            if len(bins) > len(total):
                total = np.concatenate([total, np.zeros(len(bins) - len(total), np.int64)])
            total[: len(bins)] += bins
    if total is None or width_s <= 0:
        return (), []
    values = enumerate(total.tolist())
    return tuple(TimeBin(at * width_s, (at + 1) * width_s, moved) for at, moved in values), list(by_rank.values())


def _imbalance(moved: Sequence[int], ranks: Bounds) -> float | None:
    used = [one for one in moved if one > 0]
    if len(used) < 2 or not ranks.is_exact:
        return None
    return max(used) * len(used) / sum(used)
