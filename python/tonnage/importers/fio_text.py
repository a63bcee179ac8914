"""fio's text for people (``--output-format=normal``), as version 3 prints it.

Bytes and rates have binary units first (``8192KiB``, ``308MiB/s``), and the decimal ones in brackets. Bytes are
rounded; where all operations are of one size, they are that many of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from tonnage.importers.fio_jobs import JobResult, together
from tonnage.importers.imported_phases import MOST_TASKS, ImportedFile, Latency, Note, few, latency
from tonnage.importers.rounded_numbers import UNITS, Rounded, elapsed_ns, exact, rounded, whole
from tonnage.importers.trace import LARGEST, content

_HEAD = re.compile(r"(.+): \(g=(\d{1,9})\): rw=(\w+), (.*)")
_SIZE = re.compile(r"\((R|W)\) ([0-9.]+)([KMG]i)?B-([0-9.]+)([KMG]i)?B")
_ENGINE = re.compile(r"ioengine=([^,]+), iodepth=([0-9]{1,9})")
_JOB = re.compile(r"(.+): \(groupid=(\d{1,9}), jobs=(\d{1,9})\): err= ?(\d+)(?: \(.*\))?: pid=(\d+)")
"""Of a job that failed the error stands in brackets, with the place in fio's sources."""
_WAY = re.compile(
    r"  +(read|write) ?: IOPS=([0-9.]+)([kMG]?), BW=([0-9.]+)([KMGT]?i?)B/s \([^)]*\)"
    r"\(([0-9.]+)([KMGT]?i?)B/([0-9]+)msec\)"
)
_NOT_READ = re.compile(r"  +(?:(?:read|write) ?: IOPS=\S+ BW=[0-9.]+[KMGT]?i?(bit)/s|mixed ?: IOPS=)")
_CLAT = re.compile(r" +clat \(([num]?sec)\): min= *([0-9.]+)(k?), max= *([0-9.]+)(k?), avg= *([0-9.]+)(k?)")
_QUANTILES = re.compile(r" +clat percentiles \(([num]?sec)\):")
_QUANTILE = re.compile(r"([0-9.]+)th=\[ *([0-9]+)\]")
_ISSUED = re.compile(r" +issued rwts: total=(\d+),(\d+),")
_GROUP = re.compile(r"Run status group (\d+) \(all jobs\):")
_UNITS_NS = {"nsec": 1, "usec": 1000, "msec": 10**6}
_WANTED = {"50.00": "p50_ns", "90.00": "p90_ns", "99.00": "p99_ns", "99.90": "p999_ns"}
_ROUNDED = Note(
    "bytes-estimated", "fio's text rounds bytes, and its operations are not all of one size; its JSON has the bytes"
)


@dataclass(slots=True)
class _Way:
    line: int
    rate: Rounded
    text: str
    moved: Rounded
    seconds: Rounded
    times: dict[str, int] = field(default_factory=dict)
    unit_ns: int = 0
    """Of the percentiles that follow."""


@dataclass(slots=True)
class _Job:
    name: str
    group: str
    jobs: int
    error: str
    ways: dict[str, _Way] = field(default_factory=dict)
    issued: dict[str, int] | None = None


@dataclass(frozen=True, slots=True)
class _Options:
    pattern: str
    sizes: Mapping[str, int]
    """Of one operation, in the directions in which all have one."""
    storage: str | None
    depth: int | None


@dataclass(slots=True)
class _Call:
    """The output of one call of fio: a file may have several."""

    options: dict[str, _Options] = field(default_factory=dict)
    jobs: dict[tuple[str, str, str], _Job] = field(default_factory=dict)
    """With ``--status-interval`` a job is printed again and again: the last time counts."""
    ended: set[str] = field(default_factory=set)
    """Groups all of whose jobs were printed."""
    version: str | None = None
    job: _Job | None = None
    way: _Way | None = None

    def take(self, line: str, number: int) -> None:
        if found := _HEAD.match(line):
            self.options[found[1]] = _options(found)
        elif found := _JOB.match(line):
            self.job, self.way = _Job(found[1], found[2], int(found[3]), found[4]), None
            self.jobs[found[2], found[1], found[5]] = self.job
        elif found := _GROUP.match(line):
            self.ended.add(found[1])
            self.job = self.way = None
        elif line.startswith("fio-"):
            self.version = self.version or line.removeprefix("fio-").strip() or None
        elif self.job is not None:
            self._of_job(self.job, line, number)

    def begins_anew(self, line: str) -> bool:
        """Whether this line is of another call: fio names all jobs of one before it prints what any of them did."""
        return bool(self.jobs) and _HEAD.match(line) is not None

    def _of_job(self, job: _Job, line: str, number: int) -> None:
        if found := _WAY.match(line):
            if (way := _way(found, number)) is not None:
                self.way = job.ways[found[1]] = way
        elif found := _ISSUED.match(line):
            job.issued, self.way = {"read": int(found[1]), "write": int(found[2])}, None
        elif self.way is None:
            return
        elif found := _CLAT.match(line):
            for key, at in (("min_ns", 2), ("max_ns", 4), ("mean_ns", 6)):
                self.way.times[key] = _ns(found[at], found[at + 1], found[1])
        elif found := _QUANTILES.match(line):
            self.way.unit_ns = _UNITS_NS[found[1]]
        elif self.way.unit_ns and line.lstrip().startswith("|"):
            for name, value in _QUANTILE.findall(line):
                if name in _WANTED:
                    self.way.times[_WANTED[name]] = int(value) * self.way.unit_ns
        else:
            self.way.unit_ns = 0


def read(data: bytes, _: str) -> ImportedFile:
    """Reads an output. Never raises: ``problems`` names the line of each part that it cannot read."""
    lines, torn = content(data)
    calls = [_Call()]
    problems: list[str] = []
    for number, line in enumerate(lines[: -1 if torn else None], 1):
        if calls[-1].begins_anew(line):
            calls.append(_Call())
        calls[-1].take(line, number)
        if found := _NOT_READ.match(line):
            why = "rates in bits (--unit_base=1)" if found[1] else "sums of reads and writes (unified_rw_reporting)"
            problems.append(f"line {number}: {why} are not read; hint: import fio's JSON, or leave that option out")
    phases = [
        phase
        for number, call in enumerate(calls, 1)
        for phase in together(_shares(call, problems), call=f"call {number}")
    ]
    if not phases and not problems:
        problems.append("line 1: it has no job of fio's text that read or wrote anything")
    return ImportedFile(phases=tuple(phases), problems=few(problems), tool="fio", version=calls[0].version)


def _shares(call: _Call, problems: list[str]) -> list[JobResult]:
    """What each of its jobs did in each direction, as far as that is whole."""
    shares: list[JobResult] = []
    for job in call.jobs.values():
        for op, way in job.ways.items():
            # What was cut off may have been jobs of the same name: all of it is not known.
            whole_job = job.group in call.ended
            share = _share(job, op, way, call.options.get(job.name)) if whole_job else "breaks off before its end"
            if isinstance(share, str):
                problems.append(f"line {way.line}: {op} of job {job.name} {share}; left out")
            else:
                shares.append(share)
    return shares


def _options(found: re.Match[str]) -> _Options:
    sizes = {
        {"R": "read", "W": "write"}[way]: size
        for way, low, low_unit, high, high_unit in _SIZE.findall(found[4])
        if (low, low_unit) == (high, high_unit) and (size := _size(low, low_unit))
    }
    engine = _ENGINE.search(found[4])
    return _Options(found[3], sizes, engine[1] if engine else None, whole(engine[2]) if engine else None)


def _size(number: str, unit: str) -> int | None:
    """Of ``64.0`` KiB; None where it was rounded."""
    return exact(number, UNITS[f"{unit}b".lower()])


def _way(found: re.Match[str], number: int) -> _Way | None:
    rate, moved = _bytes(found[4], found[5]), _bytes(found[6], found[7])
    ms = rounded(found[8])
    if rate is None or moved is None or ms is None:
        return None
    return _Way(number, rate, f"{found[4]}{found[5]}B/s", moved, ms.times(Fraction(1, 1000)))


def _bytes(number: str, unit: str) -> Rounded | None:
    value, factor = rounded(number), UNITS.get(f"{unit}b".lower())
    return value.times(factor) if value is not None and factor else None


def _ns(number: str, thousands: str, unit: str) -> int:
    value = rounded(number)
    factor = _UNITS_NS[unit] * (1000 if thousands else 1)
    found = round(value.middle * factor) if value is not None and value.low else 0
    return min(found, LARGEST - 1)


def _share(job: _Job, op: str, way: _Way, options: _Options | None) -> JobResult | str:
    if job.issued is None:
        return "breaks off before its end"
    operations = job.issued[op]
    size = options.sizes.get(op) if options else None
    is_exact = bool(size) and way.moved.low <= operations * (size or 0) <= way.moved.high
    moved = operations * size if size and is_exact else round(way.moved.middle)
    lasted = elapsed_ns(moved, way.seconds, way.rate)
    if lasted is None or not 0 < moved < LARGEST or not operations or not 0 < job.jobs < MOST_TASKS:
        return "has no bytes or no time"
    return JobResult(
        line=way.line,
        job=job.name,
        group=job.group,
        op=op,
        bytes=moved,
        operations=operations,
        elapsed_ns=lasted,
        rate=way.rate,
        seconds=way.seconds,
        text=way.text,
        latency=_latency(way, operations),
        tasks=job.jobs,
        failed=f"fio ended it with error {int(job.error)}" if int(job.error) else None,
        transfer_size=size,
        pattern=options.pattern if options else None,
        storage=options.storage if options else None,
        queue_depth=options.depth if options else None,
        notes=() if is_exact else (_ROUNDED,),
    )


def _latency(way: _Way, count: int) -> Latency | None:
    times = way.times
    if not times.get("max_ns"):
        return None
    return latency(
        count,
        minimum=times.get("min_ns"),
        mean=times.get("mean_ns"),
        maximum=times["max_ns"],
        quantiles={key: times.get(key) for key in _WANTED.values()},
    )
