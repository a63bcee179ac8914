"""What IOR's output does not say, or says wrongly: one line each, after the output."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tonnage.analysis.points import columns_of, intervals_of, medians
from tonnage.analysis.results import Intervals
from tonnage.compat.ior.campaign_of_test import stripe_of
from tonnage.compat.ior.number_format import MEBIBYTE, mean
from tonnage.compat.ior.options import DEFAULTS, Parameters, spellings
from tonnage.compat.ior.results import Row, TestResult
from tonnage.compat.measure import Finding
from tonnage.records.lines import COLD_SHARE
from tonnage.units import time_text

_TELLS = 0.001
"""Share by which a mean of rates may be off before it is reported."""
_BACKENDS: dict[str, tuple[str, ...]] = {
    "POSIX": ("POSIX", "AIO", "URING"),
    "rangelocks": ("POSIX",),
    "DUMMY": ("DUMMY",),
    "MMAP": ("MMAP",),
    "MPIIO": ("MPIIO",),
    "AIO": ("AIO", "URING"),
}
"""Module of an option, or the option itself → the backends it is for."""


def findings(result: TestResult) -> list[Finding]:
    """Of a test that was run."""
    found = [*_missing(result), *_not_as_it_reads(result.test), *_without_effect(result.test)]
    for access in ("write", "read"):
        if rows := result.of(access):
            found += [*_mean_rate(access, rows), *_latency(access, rows)]
            if result.test.api != "DUMMY":
                found += [*_durability(access, rows), *_holes(access, rows), *_memory(access, rows)]
    return found


def _missing(result: TestResult) -> Iterator[Finding]:
    test = result.test
    for access, asked in (("write", test.write_file), ("read", test.read_file or test.check_read)):
        done = len(result.of(access))
        if asked and done < test.repetitions:
            text = f"{access}: {done} of {test.repetitions} repetitions were measured; the summary is of those"
            yield Finding("missing-repetitions", text)


def _not_as_it_reads(test: Parameters) -> Iterator[Finding]:
    """Where IOR's option does something else than its words say, or than was done here."""
    if test.random_offset > 1 and test.block_size > test.transfer_size:
        inside = test.block_size // test.transfer_size
        text = f"-z -z draws blocks, with {inside} transfers in order in each; -b {test.transfer_size} draws transfers"
        yield Finding("random-blocks", text)
    if test.random_prefill and test.write_file:
        yield Finding("prefill-apart", "write: the prefill is not in its time, where IOR counts it with the transfers")
    if stripe_of(test):
        text = "write: a striped file is made in a directory with that striping and moved; open(s) includes the move"
        yield Finding("striped-by-move", text)
    if test.buffer_type[:1] in ("o", "t") and test.write_file:
        text = f"-l {test.buffer_type}: what was written does not compress or deduplicate, where IOR's pattern would"
        yield Finding("payload-kind", text)


def _without_effect(test: Parameters) -> Iterator[Finding]:
    """Options that this backend makes nothing of, as IOR's does not."""
    if test.collective and test.api != "MPIIO":
        yield Finding("no-effect", f"-c: the transfers of {test.api} are each task's own; collective are MPIIO's only")
    for name, found in spellings().items():
        backends = _BACKENDS.get(name) or _BACKENDS.get(found.module, (test.api,))
        if test.api not in backends and getattr(test, name) != getattr(DEFAULTS, name):
            yield Finding("no-effect", f"--{found.long}: is for -a {backends[0]}; nothing was made of it")
    if test.advise_dont_need and test.api == "MMAP":
        text = "--mmap.madv_dont_need: is said of a mapping with no page in it yet, and the page cache keeps its own"
        yield Finding("no-effect", text)


def _mean_rate(access: str, rows: Sequence[Row]) -> Iterator[Finding]:
    rate = mean([row.bandwidth for row in rows]) / MEBIBYTE
    true = sum(row.bytes for row in rows) / sum(row.total for row in rows) / MEBIBYTE
    if abs(rate / true - 1) >= _TELLS:
        yield Finding(
            "mean-of-rates",
            f"{access}: Mean(MiB) {rate:.2f} is a mean of rates; all bytes by all time are {true:.2f} MiB/s "
            f"({rate / true - 1:+.1%})",
        )


def _latency(access: str, rows: Sequence[Row]) -> Iterator[Finding]:
    """The measured latency of one operation: each repetition's own percentiles, their median and its interval."""
    columns = columns_of([row.line["latency"] for row in rows if row.line["latency"]])
    if columns:
        latency, intervals = medians(columns), intervals_of(columns)
        shown = ", ".join(f"{name} {_wait(latency, intervals, f'{name}_ns')}" for name in ("p50", "p99", "max"))
        text = f"{access}: Latency(s) is the lowest mean of a task; the latencies measured are {shown}"
        yield Finding("lowest-mean-latency", text)


def _wait(latency: Mapping[str, int], intervals: Intervals, key: str) -> str:
    bounds, middle = intervals.get(key), time_text(latency[key])
    return middle if bounds is None else f"{middle} ({time_text(bounds.low_ns)} to {time_text(bounds.high_ns)})"


def _durability(access: str, rows: Sequence[Row]) -> Iterator[Finding]:
    if access == "write" and rows[0].line["durability"] == "none" and not rows[0].line["direct"]:
        text = "write: without -e the rate is that into memory; the data may not be on a device yet"
        yield Finding("not-durable", text)


def _memory(access: str, rows: Sequence[Row]) -> Iterator[Finding]:
    shares = [row.line["cache"]["device_share"] for row in rows if row.line["cache"]]
    known = [share for share in shares if share is not None]
    if known and min(known) < COLD_SHARE:
        yield Finding(
            "cache-read",
            f"{access}: {min(known):.0%} of the bytes came from a device, the rest from the page cache; "
            "read what another node wrote, or files larger than the memory",
        )


def _holes(access: str, rows: Sequence[Row]) -> Iterator[Finding]:
    caches = [row.line["cache"] for row in rows]
    holes = max((cache.get("hole_bytes") or 0 for cache in caches if cache), default=0)
    if holes:
        text = f"{access}: {holes} bytes of the files are holes; what is read of them is zeros at the speed of memory"
        yield Finding("holes", text)
