"""fio's terse lines (``--output-format=terse`` or ``--minimal``), of versions 3, 4 and 5.

A line is a job: KiB, KiB/s, operations a second and milliseconds of its reads, then of its writes; latencies are whole
microseconds. How many operations there were, it does not say.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from tonnage.importers.fio_jobs import JobResult, size_of_one, together
from tonnage.importers.imported_phases import ImportedFile, Latency, few, latency
from tonnage.importers.rounded_numbers import KIB, elapsed_ns, rounded, whole
from tonnage.importers.trace import content

_FIRST = 5
"""Column of the reads' KiB."""
_COLUMNS = {"3": 41, "4": 41, "5": 47}
"""Version → columns of one direction."""
_CLAT, _PERCENTILES, _QUANTILES = 8, 12, 20
_WANTED = {"50.000000%": "p50_ns", "90.000000%": "p90_ns", "99.000000%": "p99_ns", "99.900000%": "p999_ns"}


def read(data: bytes, _: str) -> ImportedFile:
    """Reads the lines. Never raises: ``problems`` names each line that it cannot read."""
    lines, torn = content(data)
    shares: list[JobResult] = []
    problems: list[str] = []
    version = None
    for number, line in enumerate(lines, 1):
        cells = line.split(";")
        width = _COLUMNS.get(cells[0].strip())
        if width is None or len(cells) < 3 or not cells[1].startswith("fio-"):
            if cells[0].strip() == "2" and len(cells) > _FIRST:
                problems.append(f"line {number}: terse version 2 is not read; hint: fio --terse-version=3")
            continue
        if len(cells) <= _FIRST + 2 * width or (torn and number == len(lines)):
            # It may be one of several jobs of a name: all of them are then not known.
            dropped = cells[2:4] if len(cells) > _FIRST else [shares[-1].job, shares[-1].group] if shares else []
            shares = [share for share in shares if [share.job, share.group] != dropped]
            problems.append(f"line {number}: this job is cut off; left out, with those of its name")
            continue
        version = version or cells[1].removeprefix("fio-")
        for op, begin in (("read", _FIRST), ("write", _FIRST + width)):
            share = _share(cells, cells[begin : begin + width], op, number)
            if isinstance(share, str):
                problems.append(f"line {number}: {op} of job {cells[2]} {share}; left out")
            elif share is not None:
                shares.append(share)
    if not shares and not problems:
        problems.append("line 1: it has no terse line of fio that read or wrote anything")
    return ImportedFile(phases=together(shares), problems=few(problems), tool="fio", version=version)


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
