"""fio's JSON (``--output-format=json`` or ``json+``), of versions 2 and 3.

Units change with the version. ``bw`` is KiB/s in all; ``io_bytes`` is bytes where ``io_kbytes`` stands beside it (from
2.21 on), and KiB before; latencies without ``_ns`` in their name are microseconds (version 2), those with it
nanoseconds. Of a server with clients the entry
``All clients`` is the sum of the others.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from fractions import Fraction
from typing import Any

from tonnage.importers import broken_json
from tonnage.importers.fio_jobs import on_names
from tonnage.importers.imported_phases import (
    BESIDE_OTHERS,
    OF_A_MIX,
    ImportedFile,
    Latency,
    Note,
    Phase,
    StatedRate,
    Task,
    Unplaced,
    few,
    latency,
    line_of,
)
from tonnage.importers.rounded_numbers import KIB, Rounded, elapsed_ns, letters, no_time, rounded, whole
from tonnage.importers.trace import LARGEST
from tonnage.records.line_types import Json, SettingValues

_QUANTILES = {"p50_ns": "50.000000", "p90_ns": "90.000000", "p99_ns": "99.000000", "p999_ns": "99.900000"}
_KINDS = (("lat_ns", 1), ("clat_ns", 1), ("lat", 1000), ("clat", 1000))
"""Name and nanoseconds of its unit. ``lat`` begins at submission, ``clat`` at the kernel's acceptance."""


def latency_of(tables: Sequence[Json]) -> Latency | None:
    """Of an operation over all jobs; quantiles only of a single one, for those of several cannot be added up."""
    found = [one for table in tables if (one := _one(table)) is not None]
    if len(found) < len(tables) or not found:
        return None
    if len(found) == 1:
        return found[0]
    counts = [one["count"] for one in found]
    if any(count is None for count in counts):
        return None
    total = sum(count or 0 for count in counts)
    mean = sum((one["mean_ns"] or 0) * (one["count"] or 0) for one in found) // total if total else None
    least, most = [one["min_ns"] for one in found], [one["max_ns"] for one in found]
    return latency(
        total,
        minimum=None if None in least else min(value for value in least if value is not None),
        mean=mean,
        maximum=None if None in most else max(value for value in most if value is not None),
    )


def _one(table: Json) -> Latency | None:
    """The one with percentiles: fio has them of ``clat``, or of ``lat`` where it was asked to."""
    known = [(table[name], unit) for name, unit in _KINDS if isinstance(table.get(name), dict)]
    timed = [(part, unit) for part, unit in known if _ns(part.get("max"), unit)]
    if not timed:
        return None
    part, unit = next(((p, u) for p, u in timed if isinstance(p.get("percentile"), dict)), timed[0])
    quantiles = part.get("percentile") if isinstance(part.get("percentile"), dict) else {}
    return latency(
        whole(part.get("N")) or whole(table.get("total_ios")),
        minimum=_ns(part.get("min"), unit),
        mean=_ns(part.get("mean"), unit),
        maximum=_ns(part.get("max"), unit),
        quantiles={key: _ns(quantiles.get(name), unit) for key, name in _QUANTILES.items()},
    )


def _ns(value: Any, unit: int) -> int | None:
    found = rounded(value)
    if found is None or found.middle * unit >= LARGEST:
        return None
    return round(found.high * unit) if not found.low else round(found.middle * unit)


_WAYS = ("read", "write")
_BEGINS = re.compile(r'\{\s*"fio version"\s*:')
_SUM_OF_ALL = "All clients"
_SIZES = range(9, 31)
"""Of one operation, from 512 bytes to 1 GiB, as powers of two."""


def read(data: bytes, _: str) -> ImportedFile:
    """Reads an output. Never raises: ``problems`` names the line of each part that it cannot read."""
    return broken_json.each(data.decode("utf-8", "replace"), _BEGINS, _output, _is_later_state)


def _is_later_state(text: str, before: str) -> bool:
    """Whether an output is of the same run as the one ``before`` it: with ``--status-interval`` fio prints the whole
    output again and again. Then its jobs, whose groups ran one after another, began before the other was printed."""
    later, earlier = broken_json.read(text), broken_json.read(before)
    if later.line or not isinstance(later.value, dict) or not isinstance(earlier.value, dict):
        return False
    now_ms, then_ms = _printed_ms(later.value), _printed_ms(earlier.value)
    names, others = ([job.get("jobname") for job in _dicts(said.value.get("jobs"))] for said in (later, earlier))
    if names != others or now_ms is None or then_ms is None:
        return False
    spent_ms: dict[str, int] = {}
    for job in _dicts(later.value.get("jobs")):
        tables = [job[way] for way in (*_WAYS, "trim") if isinstance(job.get(way), dict)]
        group = str(job.get("groupid"))
        spent_ms[group] = max([spent_ms.get(group, 0), *(whole(table.get("runtime")) or 0 for table in tables)])
    return now_ms - sum(spent_ms.values()) < then_ms


def _printed_ms(said: Json) -> int | None:
    """When it was printed, since 1970; versions that tell seconds alone are not asked more."""
    return whole(said.get("timestamp_ms", ""))


def _output(text: str) -> ImportedFile:
    document = broken_json.read(text)
    said = document.value
    if not isinstance(said, dict) or "fio version" not in said:
        problem = f"line {document.line or 1}: this is no JSON of fio; hint: fio --output-format=json writes it"
        return ImportedFile(problems=(problem,))
    problems = []
    if document.line:
        problems.append(f"line {document.line}: the JSON breaks off or is damaged here; what stands before it is kept")
    clients = _dicts(said.get("client_stats"))
    jobs = _dicts(said.get("jobs")) or [job for job in clients if job.get("jobname") != _SUM_OF_ALL]
    shared = said.get("global options")
    version = str(said["fio version"]).removeprefix("fio-")
    # What was cut off may have been jobs of the last name: all of it is not known.
    groups = _together(jobs)[: -1 if document.line else None]
    phases: list[Phase] = []
    found = [
        _Job(
            tables=together,
            shared=shared if isinstance(shared, dict) else {},
            line=line_of(text, f'"{together[0].get("jobname")}"'),
            unit=KIB if version.partition(".")[0] in ("1", "2") else 1,
        )
        for together in groups
    ]
    for job in _at_once(found):
        phases += _phases(job, problems)
    if not phases:
        problems.append(f"line {document.line or 1}: no whole job of it read or wrote anything")
    return ImportedFile(
        phases=tuple(on_names(phase) for phase in _beside(phases)),
        problems=few(problems),
        tool="fio",
        version=version,
        printed=_printed(said),
    )


@dataclass(frozen=True, slots=True)
class _Job:
    """All entries of one name and group."""

    tables: Sequence[Json]
    shared: Json
    """Options of all jobs."""
    line: int
    unit: int
    """Bytes of one of ``io_bytes`` where nothing beside it tells."""
    beside: tuple[str, ...] = ()
    """What other jobs did at the same time."""

    @property
    def name(self) -> str:
        return str(self.tables[0].get("jobname"))

    @property
    def has_options(self) -> bool:
        """Whether the file has its options: versions up to 2.2 keep none."""
        return isinstance(self.tables[0].get("job options"), dict) or bool(self.shared)

    @property
    def options(self) -> Json:
        own = self.tables[0].get("job options")
        return {**self.shared, **(own if isinstance(own, dict) else {})}

    @property
    def asked(self) -> Json:
        """Its options, but for those that place and name it."""
        return {name: value for name, value in self.options.items() if name not in _WHERE | _NO_MATTER}

    @property
    def described(self) -> str:
        """Its name and options, for a job that ran beside it."""
        return " ".join([self.name, *(f"{name}={value}" for name, value in sorted(self.asked.items()))])


_WHERE = frozenset({"filename", "directory", "offset", "filename_format", "file_service_type"})
_NO_MATTER = frozenset(
    {
        *("name", "description", "group_reporting", "new_group", "stonewall", "wait_for", "unified_rw_reporting"),
        *("write_bw_log", "write_lat_log", "write_iops_log", "write_hist_log", "log_avg_msec", "log_hist_msec"),
        *("log_max_value", "log_unix_epoch", "per_job_logs", "bwavgtime", "iopsavgtime", "percentile_list"),
        *("clat_percentiles", "lat_percentiles", "slat_percentiles", "disk_util", "status_interval", "eta"),
        *("randseed", "allrandrepeat", "exitall", "unlink", "write_iolog", "significant_figures"),
    }
)
"""What fio prints or keeps, what it calls its jobs, and what random numbers begin with: no trial differs by it."""
_PLACED = frozenset(
    {"rw", "bs", "size", "direct", "iodepth", "ioengine", "rate", "rwmixread", "directory", "filename", "numjobs"}
)
"""What a setting has under the name of a ``stream``'s factor."""
_IN_TURN = ("wait_for", "startdelay")
"""Options of a job that may begin when another one of its group has ended."""


def _at_once(jobs: Sequence[_Job]) -> list[_Job]:
    """Jobs of one group run at the same time. Where they do the same they are the tasks of one trial; where not, each
    has what the others left it, and says so."""
    found: list[_Job] = []
    groups: dict[str, list[_Job]] = {}
    for job in jobs:
        groups.setdefault(str(job.tables[0].get("groupid")), []).append(job)
    for group in groups.values():
        alike: list[_Job] = []
        for job in group:
            same = next((one for one in alike if one.has_options and job.has_options and one.asked == job.asked), None)
            if same is None or any(name in job.options for name in _IN_TURN):
                alike.append(job)
            else:
                place = next(number for number, one in enumerate(alike) if one is same)
                alike[place] = replace(same, tables=(*same.tables, *job.tables))
        found += [replace(job, beside=tuple(sorted(one.described for one in alike if one is not job))) for job in alike]
    return found


def _dicts(value: Any) -> list[Json]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _together(jobs: Sequence[Json]) -> list[list[Json]]:
    """Jobs of one name and group ran at the same time: they are the tasks of one trial."""
    found: dict[tuple[str, str], list[Json]] = {}
    for job in jobs:
        found.setdefault((str(job.get("groupid")), str(job.get("jobname"))), []).append(job)
    return list(found.values())


@dataclass(frozen=True, slots=True)
class _Share:
    """What one job did in one direction."""

    bytes: int
    operations: int
    elapsed_ns: int
    rate: Rounded
    seconds: Rounded
    text: str
    table: Json


def _phases(job: _Job, problems: list[str]) -> list[Phase]:
    """A trial for each direction in which the jobs did anything."""
    found = []
    if any(isinstance(entry.get("mixed"), dict) for entry in job.tables):
        why = "counts reads and writes as one (unified_rw_reporting), and tells neither's rate"
        problems.append(f"line {job.line}: job {job.tables[0].get('jobname')} {why}; left out")
    for op in _WAYS:
        tables = [entry[op] for entry in job.tables if isinstance(entry.get(op), dict)]
        busy = [table for table in tables if str(table.get("io_bytes", "0")) != "0"]
        shares = [share for share in (_share(table, job) for table in busy) if share is not None]
        if len(shares) < len(busy):
            if any(no_time(table.get("runtime")) for table in busy):
                why = "states bytes beside a time of 0 ms"
                problems.append(f"line {job.line}: {op} of job {job.name} {why}; left out")
                continue
            problems.append(f"line {job.line}: {op} of job {job.tables[0].get('jobname')} is not whole; left out")
        elif shares:
            found.append(_phase(op, job, shares))
    return found


def _share(table: Json, job: _Job) -> _Share | None:
    """None where the figures are not whole."""
    said, runtime = whole(table.get("io_bytes")), rounded(table.get("runtime"))
    if no_time(table.get("runtime")):
        return None
    rate, precise = rounded(table.get("bw")), rounded(table.get("bw_bytes"))
    if not said or runtime is None or rate is None:
        return None
    moved, rate = said * (1 if "io_kbytes" in table else job.unit), rate.times(KIB)
    seconds = runtime.times(Fraction(1, 1000))
    lasted = elapsed_ns(moved, seconds, precise or rate)
    counted = whole(table["total_ios"]) if "total_ios" in table else _operations(table, moved, seconds)
    if lasted is None or counted is None:
        return None
    whole_table = {**table, "total_ios": counted}
    return _Share(moved, counted, lasted, rate, seconds, f"{table.get('bw')} KiB/s", whole_table)


def _operations(table: Json, moved: int, seconds: Rounded) -> int | None:
    """Up to 2.1 only their rate is said, and no size: the one power of two that agrees with all; None: several do."""
    rate = rounded(table.get("iops"))
    if rate is None:
        return None
    low, high = rate.low * seconds.low, rate.high * seconds.high
    agree = [moved >> bits for bits in _SIZES if not moved % (1 << bits) and low <= moved >> bits <= high]
    return agree[0] if len(agree) == 1 else None


def _phase(op: str, job: _Job, shares: Sequence[_Share]) -> Phase:
    first, options = shares[0], job.options
    # With group reporting one entry is the sum of all jobs of the group.
    tasks = len(shares) if len(shares) > 1 else whole(options.get("numjobs")) or 1
    lasted = max(share.elapsed_ns for share in shares)
    errors = [whole(entry.get("error")) or 0 for entry in job.tables]
    said = StatedRate(line=job.line, text=first.text, rate=first.rate, count=first.bytes, seconds=first.seconds)
    return Phase(
        phase=op,
        setting=_setting(op, tasks, job, first),
        elapsed_ns=lasted,
        bytes=sum(share.bytes for share in shares),
        operations=sum(share.operations for share in shares),
        line=job.line,
        started=_started(job.tables),
        tasks=tuple(Task(end_ns=share.elapsed_ns, bytes=share.bytes, operations=share.operations) for share in shares)
        if tasks == len(shares)
        else (),
        latency=latency_of([share.table for share in shares]),
        stated_rate=said,
        notes=(*_omits(options), *((BESIDE_OTHERS,) if job.beside else ())),
        durability=_durability(job) if op == "write" else "none",
        direct={"1": True, "0": False}.get(str(options.get("direct"))),
        reason=f"fio ended it with error {max(errors)}" if any(errors) else None,
        unplaced=None
        if job.has_options
        else Unplaced(f"job {job.name}", ("job",), "this version of fio keeps no options"),
    )


def _durability(job: _Job) -> str | None:
    """What fio was asked to do for it inside of its clock; None where that is not known, or is less than all of it."""
    if not job.has_options:
        return None
    asked = {name: str(job.options.get(name, "0")) for name in _DURABLE}
    if "1" in (asked["fsync"], asked["fdatasync"]) or asked["sync"] not in ("0", "none"):
        return "fsync-each"
    if any(asked[name] not in ("0",) for name in ("end_fsync", "fsync_on_close")):
        return "fsync"
    return "none" if set(asked.values()) <= {"0", "none"} else None


_DURABLE = ("fsync", "fdatasync", "sync", "end_fsync", "fsync_on_close", "sync_file_range")


def _omits(options: Json) -> tuple[Note, ...]:
    """Asked for a rate, fio counts an operation from when it began, not from when it was due, unless it offloads."""
    asked = any(options.get(name) for name in ("rate", "rate_iops"))
    if not asked or options.get("io_submit_mode") == "offload":
        return ()
    sentence = "fio was asked for a rate, and counts latency from when an operation began, not from when it was due"
    return (Note("coordinated-omission", sentence),)


def _setting(op: str, tasks: int, job: _Job, share: _Share) -> SettingValues:
    """Factors named as those of a ``stream``, and every other option of its own; of version 2.2 and before, which keeps
    none, the job's name."""
    options = job.options
    size = letters(str(options.get("bs", "")).split(",")[0])
    if size is None and share.operations and share.bytes % share.operations == 0:
        size = share.bytes // share.operations
    pattern = str(options["rw"]) if "rw" in options else None
    # A flag that was set has no value; fio's sync opens files with O_SYNC, and is no fsync.
    others = {
        "open_sync" if name == "sync" else name: True if value == "" else value
        for name, value in job.asked.items()
        if name not in _PLACED
    }
    return others | {
        "kind": "stream",
        "op": op,
        "tasks": tasks,
        "transfer_size": size,
        "transfer_sizes": str(options["bs"]) if not str(options.get("bs", "4k")).isalnum() else None,
        "block_size": letters(options.get("size", "")),
        "block_share": options.get("size") if letters(options.get("size", "0")) is None else None,
        "access": None if pattern is None else "random" if "rand" in pattern else "sequential",
        "pattern": pattern,
        "direct": options.get("direct"),
        "queue_depth": whole(options.get("iodepth", "")),
        "storage": options.get("ioengine"),
        "rate": options.get("rate"),
        "rwmixread": options.get("rwmixread"),
        "path": options.get("directory") or options.get("filename"),
        "job": None if job.has_options else job.name,
        "client": job.tables[0].get("hostname"),
        "beside": "; ".join(job.beside) or None,
    }


def _started(jobs: Sequence[Json]) -> str | None:
    """From 3.37 on each job says when it began, in milliseconds since 1970."""
    instants = [whole(job.get("job_start")) for job in jobs]
    known = [instant for instant in instants if instant and instant < 2**41]
    if not known or len(known) < len(instants):
        return None
    return datetime.fromtimestamp(min(known) / 1000, timezone.utc).isoformat(timespec="milliseconds")


def _printed(said: Json) -> str | None:
    """Its ``timestamp`` is when it ended, in seconds since 1970; versions before 2.2 have none."""
    instant = whole(said.get("timestamp", ""))
    if not instant or instant >= 2**32:
        return None
    return datetime.fromtimestamp(instant, timezone.utc).isoformat(timespec="seconds")


def _beside(phases: list[Phase]) -> list[Phase]:
    """Marks the reads and writes of one mix: each has the rate that the other left it."""
    both = {phase.line for phase in phases if phase.phase == "read"} & {
        phase.line for phase in phases if phase.phase == "write" and phase.setting["pattern"] is None
    }
    mixes = both | {phase.line for phase in phases if str(phase.setting["pattern"]) in ("rw", "readwrite", "randrw")}
    return [replace(phase, notes=(*phase.notes, OF_A_MIX)) if phase.line in mixes else phase for phase in phases]
