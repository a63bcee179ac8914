"""Darshan's logs (version 3): for each file system a trial of the job's writes, one of its reads and one of its calls
on names, with all that the counters tell of them in the trial's facts."""

from __future__ import annotations

from datetime import datetime, timezone

from tonnage.demand.job_use import FileSystemUse, JobUse, Transfers
from tonnage.importers.darshan_log import UnreadableLog, read_log
from tonnage.importers.darshan_use import use_of
from tonnage.importers.imported_phases import ImportedFile, Note, Phase, Task, few
from tonnage.importers.trace import LARGEST
from tonnage.records.line_types import SettingValues

_SECOND = 10**9
_BIN_FACTS = (
    "size_0_100", "size_100_1k", "size_1k_10k", "size_10k_100k", "size_100k_1m", "size_1m_4m", "size_4m_10m",
    "size_10m_100m", "size_100m_1g", "size_1g_up",
)  # fmt: skip
COUNTED = Note(
    "counted-calls",
    "counters of the calls of a program: the page cache is in its figures, and the time from the first call to the "
    "last holds what the program did between them",
)


def read(data: bytes, _: str) -> ImportedFile:
    """What a log says; whatever it holds, it is read or told of."""
    try:
        used = use_of(read_log(data))
    except UnreadableLog as error:
        return ImportedFile(problems=(str(error),))
    return ImportedFile(
        phases=tuple(phase for place in used.file_systems for phase in _phases(used, place)),
        problems=few(used.problems),
        tool="Darshan",
        version=used.source.removeprefix("Darshan "),
        command=used.command or None,
        printed=_instant(used.started_ns + round(max(0.0, min(used.run_s, 1e9)) * _SECOND)),
    )


def _phases(used: JobUse, place: FileSystemUse) -> list[Phase]:
    found = [_transfers(used, place, moved) for moved in place.transfers]
    names = place.metadata
    if names.operations:
        span_s = max(names.last_s - names.first_s, names.busy_s / used.processes, 1e-9)
        found.append(
            Phase(
                phase="metadata",
                setting=_setting(used, place, "metadata", used.processes),
                elapsed_ns=_ns(span_s),
                bytes=0,
                operations=names.operations,
                line=1,
                started=_instant(used.started_ns + _ns(names.first_s)),
                facts={
                    "opens": names.opens,
                    "stats": names.stats,
                    "seeks": names.seeks,
                    "syncs": names.syncs,
                    "busy_ns": _ns(names.busy_s),
                    "files": place.files,
                    "files_only_read": place.only_read,
                    "files_only_written": place.only_written,
                    "files_shared": place.shared,
                    "mappings": place.mapped,
                    "run_ns": _ns(used.run_s),
                },
                notes=(COUNTED,),
            )
        )
    return found


def _transfers(used: JobUse, place: FileSystemUse, moved: Transfers) -> Phase:
    first_ns = _ns(moved.first_s)
    return Phase(
        phase=moved.operation,
        setting=_setting(used, place, moved.operation, int(moved.ranks.high)),
        elapsed_ns=max(1, _ns(moved.last_s) - first_ns),
        bytes=moved.bytes,
        operations=moved.operations,
        line=1,
        started=_instant(used.started_ns + first_ns),
        tasks=tuple(
            Task(
                start_ns=max(0, _ns(one.first_s) - first_ns),
                end_ns=max(_ns(one.last_s) - first_ns, _ns(one.first_s) - first_ns + 1, 1),
                bytes=one.bytes,
                operations=one.operations,
            )
            for one in moved.each
        ),
        facts=_facts(used, place, moved),
        notes=(COUNTED,),
        series=tuple(
            # Of the first bin, that part which lies in the phase: a series begins with it.
            (max(0, _ns(one.start_s) - first_ns), _ns(one.end_s) - first_ns, one.bytes)
            for one in moved.heat
            if _ns(one.end_s) > max(first_ns, _ns(one.start_s))
        ),
    )


def _setting(used: JobUse, place: FileSystemUse, operation: str, tasks: int) -> SettingValues:
    return {
        "kind": "application",
        "op": operation,
        "tasks": max(1, tasks),
        "processes": used.processes,
        "command": used.command or None,
        "file_system": place.mount,
    }


def _facts(used: JobUse, place: FileSystemUse, moved: Transfers) -> dict[str, int]:
    """Times in nanoseconds, shares in millionths; ``_low`` and ``_high``: what the counters prove."""
    bounds = {
        "ranks": (moved.ranks.low, moved.ranks.high),
        "at_once": (moved.at_once.low, moved.at_once.high),
        "mean_at_once_thousandths": (1000 * moved.mean_at_once.low, 1000 * moved.mean_at_once.high),
        "sequential_millionths": (10**6 * moved.sequential.low, 10**6 * moved.sequential.high),
        "consecutive_millionths": (10**6 * moved.consecutive.low, 10**6 * moved.consecutive.high),
        "active_ns": (moved.active_s.low * _SECOND, moved.active_s.high * _SECOND),
    }
    found = {f"{name}_{end}": round(value) for name, ends in bounds.items()
             for end, value in zip(("low", "high"), ends, strict=True)}  # fmt: skip
    found |= {"busy_ns": _ns(moved.busy_s), "run_ns": _ns(used.run_s), "files": moved.files}
    found |= {"files_shared": place.shared, "clock_ns": _ns(used.clock_s)}
    if moved.transfer_size is not None:
        found["transfer_size"] = moved.transfer_size
    found |= {"traced": int(moved.counted_by == "DXT")}
    found |= dict(zip(_BIN_FACTS, moved.bins, strict=True))
    if moved.imbalance is not None:
        found["imbalance_thousandths"] = round(1000 * moved.imbalance)
    if moved.bursts is not None:
        found["bursts"] = moved.bursts
    if moved.peak is not None:
        found |= {"peak_bytes_per_s": round(moved.peak.bytes_per_s), "peak_over_ns": _ns(moved.peak.length_s)}
    return found


def _ns(seconds: float) -> int:
    return max(0, min(round(seconds * _SECOND), LARGEST - 1))


def _instant(ns: int) -> str | None:
    try:
        return datetime.fromtimestamp(ns / 1e9, timezone.utc).isoformat(timespec="milliseconds")
    except (OverflowError, ValueError, OSError):
        return None
