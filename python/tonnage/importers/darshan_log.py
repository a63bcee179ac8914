"""A Darshan log as typed columns, read by PyDarshan in a process of its own (``darshan_child``)."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tonnage.importers.darshan_child import DXT, GENERIC, HEAT, NOT_INSTALLED
from tonnage.importers.darshan_regions import BadHeader, Regions, regions_of
from tonnage.importers.file_kinds import DARSHAN_MARKS

INSTALL_HINT = 'pip install "tonnage[darshan]", which has it for Python 3.10 to 3.12 on x86_64'
LIMIT_S = 300.0
"""A log of 64 MiB takes seconds."""
_MOST = 1 << 50
"""Bytes or operations of one record: above it the record is damaged."""
_LONGEST_S = 1e9

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class UnreadableLog(ValueError):
    """Why nothing of a log can be read: a sentence without a full stop."""


@dataclass(frozen=True, slots=True)
class Counters:
    """The records of a module, a row each: of one rank and file, or of all ranks together (rank −1)."""

    ids: npt.NDArray[np.uint64]
    """Of files: keys of ``Log.names``."""
    ranks: Ints
    counts: Mapping[str, Ints]
    """By the names of Darshan without the module's: ``OPENS``, ``BYTES_READ``; −1 is not known."""
    times: Mapping[str, Floats]
    """Seconds; instants since the job's start. 0: it never happened."""


@dataclass(frozen=True, slots=True)
class Calls:
    """What DXT traced: a row for each read or write."""

    ids: npt.NDArray[np.uint64]
    ranks: Ints
    wrote: npt.NDArray[np.bool_]
    offsets: Ints
    lengths: Ints
    start_s: Floats
    end_s: Floats


@dataclass(frozen=True, slots=True)
class HeatRow:
    """Bytes that one rank moved through one module, in bins of equal width from the job's start."""

    module: str
    rank: int
    width_s: float
    read: Ints
    written: Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """What a log has."""

    version: str
    """Of its format."""
    library: str | None
    """Version of the Darshan that wrote it."""
    program: str
    """The command line, as far as it was kept."""
    job_id: int
    processes: int
    start_ns: int
    """Since 1970."""
    run_s: float
    clock_s: float
    """The job may have lasted so much less or more."""
    mounts: tuple[tuple[str, str], ...]
    """Mount point and type."""
    names: Mapping[int, str]
    modules: Mapping[str, Counters]
    calls: Calls | None
    heat: tuple[HeatRow, ...]
    partial: tuple[str, ...]
    """Modules whose tables were full: more was done than they say."""
    others: tuple[str, ...]
    """Modules that are not read here."""
    problems: tuple[str, ...]
    damaged: tuple[str, ...]
    """Modules with counters of calls of which some or all were left out."""


def is_log(data: bytes) -> bool:
    """By the mark of its header; the version before it may be any."""
    return data[8:16] in DARSHAN_MARKS


def read_log(data: bytes) -> Log:
    """UnreadableLog where nothing of it can be read, or PyDarshan is not installed."""
    if not is_log(data):
        old = data.startswith((b"\x1f\x8b", b"BZh"))
        older = "; logs of Darshan 2 are compressed as a whole and are not read" if old else ""
        raise UnreadableLog(f"this is no log of Darshan 3, whose mark it does not have{older}")
    try:
        regions = regions_of(data)
    except BadHeader as error:
        raise UnreadableLog(f"it is damaged or cut off: {error}") from None
    _require_trust(regions)
    damaged = [at for at, one in enumerate(regions.modules) if one.wrong]
    with tempfile.TemporaryDirectory(prefix="tonnage-darshan-") as place:
        path = Path(place) / "log.darshan"
        path.write_bytes(data)
        answer = _asked(path, damaged)
    head, _, body = answer.partition(b"\n")
    try:
        log = _log(json.loads(head), io.BytesIO(body), regions)
    except (ValueError, KeyError, EOFError, IndexError) as error:
        raise UnreadableLog(f"its reader gave no whole answer ({error})") from None
    if (damaged or regions.problems) and not any(len(found.ids) for found in log.modules.values()):
        raise UnreadableLog("it is damaged, and no record of a file is left of it: " + "; ".join(log.problems))
    return log


def _require_trust(regions: Regions) -> None:
    """UnreadableLog where nothing can be said of the job, or of which files its records are."""
    for part, found in (("the description of its job", regions.job), ("the names of its files", regions.names)):
        if found is None:
            if regions.modules:
                raise UnreadableLog(f"it is damaged: it has records of files, and not {part}")
        elif found.cut:
            raise UnreadableLog(f"it is cut off within {part}")
        elif found.wrong:
            raise UnreadableLog(
                f"it is damaged: {part} {'does' if found is regions.job else 'do'} not agree with the check sum"
            )


def _asked(path: Path, damaged: Sequence[int]) -> bytes:
    argv = [sys.executable, "-P", "-m", "tonnage.importers.darshan_child", str(path), *map(str, damaged)]
    if sys.version_info < (3, 11):
        argv.remove("-P")
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        raise UnreadableLog(f"reading it takes longer than {LIMIT_S:g} s") from None
    if done.returncode == 0:
        return done.stdout
    said = [line for line in done.stderr.decode("utf-8", "replace").splitlines() if line.strip()]
    if done.returncode == NOT_INSTALLED:
        raise UnreadableLog(f"PyDarshan, which reads it, is not installed ({INSTALL_HINT})")
    if done.returncode < 0:
        raise UnreadableLog(f"it is damaged: the library that reads it ended by signal {-done.returncode}")
    raise UnreadableLog("it is damaged or cut off: " + "; ".join(dict.fromkeys(said[-2:])))


def _log(header: Any, body: io.BytesIO, regions: Regions) -> Log:
    job = header["job"]
    names = {int(key): name for key, name in header["names"].items()}
    modules: dict[str, Counters] = {}
    calls: Calls | None = None
    heat: tuple[HeatRow, ...] = ()
    problems: list[str] = [*regions.problems, *header["problems"]]
    problems += [f"module {name} does not agree with its check sum; it is left out" for name in header["left_out"]]
    cut_off = [name for name, region in zip(header["modules"], regions.modules, strict=False) if region.cut]
    damaged = [name for name in (*header["left_out"], *cut_off) if name in GENERIC]
    if regions.gaps:
        damaged.append("a part that has no place")
    untrue: list[str] = []
    for table in header["tables"]:
        module = table["module"]
        if module in GENERIC:
            modules[module], wild = _counters(module, table, [_array(body) for _ in range(4)])
            if wild:
                damaged.append(module)
                problems.append(f"module {module} has {wild} records that cannot be true; left out")
        elif module == DXT:
            calls = _calls([_array(body) for _ in range(7)])
            if calls is None:
                untrue.append(module)
        elif module == HEAT:
            heat = tuple(_heat([_array(body) for _ in range(6)], names))
    for module in untrue:
        # Where it breaks off does not matter any more.
        problems = [problem for problem in problems if not problem.startswith(f"module {module} ")]
        problems.append(f"module {module} has calls that cannot be true; it is left out")
    metadata = dict(line.split("=", 1) for line in job["metadata"].splitlines() if "=" in line)
    return Log(
        version=job["version"],
        library=metadata.get("lib_ver"),
        program=job["program"].strip(),
        job_id=job["job_id"],
        processes=max(1, job["processes"]),
        start_ns=job["start_ns"],
        run_s=max(0.0, (job["end_ns"] - job["start_ns"]) / 1e9),
        clock_s=_clock_s(job),
        mounts=tuple((path, kind) for path, kind in header["mounts"]),
        names=names,
        modules=modules,
        calls=calls,
        heat=heat,
        partial=tuple(header["partial"]),
        damaged=tuple(dict.fromkeys(damaged)),
        others=tuple(header["others"]),
        problems=tuple(problems),
    )


def _clock_s(job: Mapping[str, Any]) -> float:
    """Until version 3.41 a log has whole seconds of the job's start and end, cut off."""
    whole = job["start_ns"] % 10**9 == 0 and job["end_ns"] % 10**9 == 0
    return 1.0 if whole else 0.0


def _array(body: io.BytesIO) -> Any:
    return np.load(body, allow_pickle=False)


def _counters(module: str, table: Mapping[str, Sequence[str]], arrays: Sequence[Any]) -> tuple[Counters, int]:
    """The records that can be true, and how many cannot."""
    ids, ranks, counts, times = arrays
    prefix = module.replace("-", "") + "_"
    names = [name.removeprefix(prefix) for name in table["counters"]]
    sane = np.ones(len(ids), np.bool_)
    for at, name in enumerate(names if len(ids) else ()):
        if name.startswith(("BYTES_", "SIZE_")) or name in ("READS", "WRITES", "OPENS", "STATS"):
            sane &= counts[:, at] <= _MOST
    if len(ids):
        # A variance is of squares, and may be anything.
        judged = [at for at, name in enumerate(table["times"]) if "VARIANCE" not in name]
        sane &= (np.isfinite(times[:, judged]) & (times[:, judged] < _LONGEST_S)).all(axis=1)
        counts, times = counts[sane], times[sane]
    by_name = {name: _column(counts, at) for at, name in enumerate(names)}
    timed = {name.removeprefix(prefix): _column(times, at) for at, name in enumerate(table["times"])}
    return Counters(ids[sane], ranks[sane], by_name, timed), int((~sane).sum())


def _column(rows: Any, at: int) -> Any:
    return rows[:, at] if len(rows) else rows.reshape(0)


def _calls(arrays: Sequence[Any]) -> Calls | None:
    """None where the library gave figures that no call has: it does not see that a log breaks off."""
    found = Calls(*arrays)
    times = np.concatenate([found.start_s, found.end_s])
    sane = np.isfinite(times).all() and bool((abs(times) < _LONGEST_S).all())
    sane = sane and bool((found.end_s >= found.start_s).all())
    return found if sane and bool(((found.lengths >= 0) & (found.lengths <= _MOST)).all()) else None


def _heat(arrays: Sequence[Any], names: Mapping[int, str]) -> list[HeatRow]:
    ids, ranks, widths, bins, read, written = arrays
    ends = np.cumsum(bins)
    return [
        HeatRow(
            names.get(int(ids[at]), "").removeprefix("heatmap:"),
            int(ranks[at]),
            float(widths[at]),
            read[ends[at] - bins[at] : ends[at]],
            written[ends[at] - bins[at] : ends[at]],
        )
        for at in range(len(ids))
    ]
