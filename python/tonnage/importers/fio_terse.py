"""fio's terse lines (``--output-format=terse`` or ``--minimal``), of versions 3, 4 and 5.

A line is a job: KiB, KiB/s, operations a second and milliseconds of its reads, then of its writes; latencies are whole
microseconds. How many operations there were, it does not say, nor which call of fio it is of.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from tonnage.importers.fio_jobs import JobResult, size_of_one, together
from tonnage.importers.imported_phases import ImportedFile, Latency, Note, few, latency
from tonnage.importers.rounded_numbers import KIB, elapsed_ns, rounded, whole
from tonnage.importers.trace import content

_FIRST = 5
"""Column of the reads' KiB."""
_COLUMNS = {"3": 41, "4": 41, "5": 47}
"""Version → columns of one direction."""
_CLAT, _PERCENTILES, _QUANTILES = 8, 12, 20
_WANTED = {"50.000000%": "p50_ns", "90.000000%": "p90_ns", "99.000000%": "p99_ns", "99.900000%": "p999_ns"}


@dataclass(slots=True)
class _Call:
    """Lines of one call of fio, as far as their order tells: it counts its groups up, and prints jobs of a name
    together."""

    lines: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Of each job so far, by group and name, in their order."""
    cut: set[tuple[str, str]] = field(default_factory=set)
    shares: list[JobResult] = field(default_factory=list)

    def last(self) -> tuple[str, str]:
        """Returns the job of the last line."""
        return next(reversed(self.lines), ("", ""))

    def ends_before(self, job: tuple[str, str]) -> bool:
        """Whether a line of this job is one of another call."""
        last = self.last()
        return job != last and (job in self.lines or (whole(job[0]) or 0) < (whole(last[0]) or 0))

    def results(self) -> list[JobResult]:
        """Returns what whole lines say, with a note: they do not state how many jobs ran at once."""
        found = []
        for share in self.shares:
            count = self.lines[share.group, share.job]
            if (share.group, share.job) not in self.cut:
                found.append(replace(share, notes=(_ONE if count == 1 else _assumed(count, share.job),)))
        return found


_ONE = Note(
    "tasks-assumed",
    "a line is taken for one job; with --group_reporting it is the sum of numjobs of them, which it does not state",
)


def _assumed(lines: int, job: str) -> Note:
    return Note(
        "tasks-assumed",
        f"{lines} lines of job {job} are taken for jobs that ran at the same time; several runs in one file, "
        "and states of one run (--status-interval), have the same lines",
    )


def read(data: bytes, _: str) -> ImportedFile:
    """Reads the lines. Never raises: ``problems`` names each line that it cannot read."""
    lines, torn = content(data)
    calls = [_Call()]
    problems: list[str] = []
    version = None
    for number, line in enumerate(lines, 1):
        cells = line.split(";")
        width = _COLUMNS.get(cells[0].strip())
        if width is None or len(cells) < 3 or not cells[1].startswith("fio-"):
            if cells[0].strip() == "2" and len(cells) > _FIRST:
                problems.append(f"line {number}: terse version 2 is not read; hint: fio --terse-version=3")
            continue
        job = (cells[3], cells[2]) if len(cells) > _FIRST else calls[-1].last()
        if calls[-1].ends_before(job):
            calls.append(_Call())
        call = calls[-1]
        call.lines[job] += 1
        if len(cells) <= _FIRST + 2 * width or (torn and number == len(lines)):
            # It may be one of several jobs of a name: all of them are then not known.
            call.cut.add(job)
            problems.append(f"line {number}: this job is cut off; left out, with those of its name")
            continue
        version = version or cells[1].removeprefix("fio-")
        for op, begin in (("read", _FIRST), ("write", _FIRST + width)):
            share = _share(cells, cells[begin : begin + width], op, number)
            if isinstance(share, str):
                problems.append(f"line {number}: {op} of job {cells[2]} {share}; left out")
            elif share is not None:
                call.shares.append(share)
    phases = [
        phase for number, call in enumerate(calls, 1) for phase in together(call.results(), call=f"call {number}")
    ]
    if not phases and not problems:
        problems.append("line 1: it has no terse line of fio that read or wrote anything")
    return ImportedFile(phases=tuple(phases), problems=few(problems), tool="fio", version=version)


def _share(cells: Sequence[str], columns: Sequence[str], op: str, number: int) -> JobResult | str | None:
    """None where it did nothing in this direction."""
    kib, rate, a_second, ms = whole(columns[0]), *(rounded(cell) for cell in columns[1:4])
    if kib == 0:
        return None
    if kib is None or rate is None or a_second is None or ms is None:
        return "is not whole"
    moved, seconds = kib * KIB, ms.times(Fraction(1, 1000))
    rate = rate.times(KIB)
    lasted = elapsed_ns(moved, seconds, rate)
    if lasted is None:
        return "has no time"
    counted = type(a_second).between(a_second.low * seconds.low, a_second.high * seconds.high)
    size = size_of_one(moved, counted)
    error = whole(cells[4])
    operations = moved // size if size else round(a_second.middle * lasted / 10**9)
    return JobResult(
        line=number,
        job=cells[2],
        group=cells[3],
        op=op,
        bytes=moved,
        operations=operations,
        elapsed_ns=lasted,
        rate=rate,
        seconds=seconds,
        text=f"{columns[1]} KiB/s",
        latency=_latency(columns, operations if size else None),
        transfer_size=size,
        failed=f"fio ended it with error {error}" if error else None,
    )


def _latency(columns: Sequence[str], count: int | None) -> Latency | None:
    least, most, mean = columns[_CLAT : _CLAT + 3]
    if not _ns(most):
        return None
    quantiles = dict(cell.split("=", 1) for cell in columns[_PERCENTILES : _PERCENTILES + _QUANTILES] if "=" in cell)
    return latency(
        count,
        minimum=_ns(least),
        mean=_ns(mean),
        maximum=_ns(most),
        quantiles={key: _ns(quantiles.get(name, "")) for name, key in _WANTED.items()},
    )


def _ns(microseconds: str) -> int | None:
    found = rounded(microseconds)
    if found is None:
        return None
    return round((found.middle if found.low else found.high / 2 if "." not in microseconds else found.low) * 1000)
