"""Findings about figures that are not what they seem."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from tonnage.analysis.figure_texts import some
from tonnage.analysis.findings.finding_rules import Evidence, finding, subject
from tonnage.analysis.findings.links import above_link
from tonnage.analysis.results import Finding, Point
from tonnage.analysis.transfer_sizes import Ceiling, ceilings_at
from tonnage.records.line_types import TrialLine
from tonnage.records.lines import COLD_SHARE
from tonnage.records.phase_results import VerifyResult
from tonnage.units import BANDWIDTH, plural, rate_text, share, size_text, three_digits, time_text

ABOVE_CEILING = 1.05
"""A figure this many times a measured ceiling is above it, not beside it."""
READ_AHEAD = 1.5
"""As many bytes from a device for each byte read are more than its blocks and the file system's own need."""
MEMORY_NS = 3000
MEMORY_BYTES_PER_NS = 20
"""An operation that took less than this time, and than its bytes at this rate, did not wait for a device."""


@finding("trial-failed")
def trial_failed(evidence: Evidence) -> Iterator[Finding]:
    failed = evidence.trials.where("status", "failed")
    for (phase, purpose), group in groupby(sorted(failed, key=_kind), key=_kind):
        lines = list(group)
        records = some([line["record"] for line in lines])
        yield Finding(
            "trial-failed",
            phase if purpose in ("measure", phase) else f"{phase} ({purpose})",
            f"{plural(len(lines), 'trial')} failed ({records}): {lines[0].get('reason') or 'no reason recorded'}",
            "Their figures are left out. Find the cause before trusting the rest: first_error says where it was.",
        )


def _kind(line: TrialLine) -> tuple[str, str]:
    return line["phase"], line["purpose"]


@finding("damaged-data")
def damaged_data(evidence: Evidence) -> Iterator[Finding]:
    verify: VerifyResult
    for record, verify in evidence.trials.where_set("verify", "damaged_operations").columns("record", "verify"):
        places = verify.get("first_damage") or []
        where = (
            f"; the first at offset {places[0]['offset']} of file {places[0]['file']}: {places[0]['what']}"
            if places
            else ""
        )
        if len(places) > 1:
            where += f"; then at {some([str(place['offset']) for place in places[1:]])}"
        yield Finding(
            "damaged-data",
            record,
            f"{plural(verify['damaged_operations'], 'operation')} read back other bytes than were written{where}",
            "This storage returned wrong data. Stop using it for anything you need, and show its vendor this record.",
        )


@finding("cache-read")
def cache_read(evidence: Evidence) -> Iterator[Finding]:
    if evidence.memory_backed:
        return  # memory-backed says it: there is no device behind it
    for op, group, points in evidence.curves():
        warm = [point for point in points if point.cache_state == "warm"]
        if not warm:
            continue
        shares = [point.cache_device_share for point in warm if point.cache_device_share is not None]
        ends = list(dict.fromkeys((share(min(shares)), share(max(shares))))) if shares else ["less than 95 %"]
        tasks = _tasks(warm)
        yield Finding(
            "cache-read",
            subject(op, group),
            f"{' to '.join(ends)} of the bytes came from a device, at {tasks}; the rest came from this host's "
            "page cache",
            "These are figures of memory, not of the storage: read with direct I/O, drop the cache before each trial, "
            "or use files larger than memory.",
        )


@finding("cache-unknown")
def cache_unknown(evidence: Evidence) -> Iterator[Finding]:
    if evidence.memory_backed:
        return
    for op, group, points in evidence.curves():
        cached = [point for point in points if _may_be_cached(evidence, point)]
        if cached:
            tasks = _tasks(cached)
            yield Finding(
                "cache-unknown",
                subject(op, group),
                f"up to {share(max(point.cached_share or 0 for point in cached))} of the files was in this host's page "
                f"cache before the reads, at {tasks}, and nobody counted truly what came from a device",
                "These may be figures of memory: read with direct I/O, drop the cache before each trial, or use files "
                "larger than memory.",
            )


def _tasks(points: Sequence[Point]) -> str:
    """``1 task``, ``1, 2 and 4 tasks``."""
    numbers = some([str(point.tasks) for point in points])
    return f"{numbers} task" if numbers == "1" else f"{numbers} tasks"


def _may_be_cached(evidence: Evidence, point: Point) -> bool:
    if point.cache_state != "unknown" or (point.cached_share or 0) <= 1 - COLD_SHARE:
        return False
    return not all(evidence.trials.named(point.records).column("direct"))


@finding("read-ahead")
def read_ahead(evidence: Evidence) -> Iterator[Finding]:
    if evidence.simulated:
        return
    for op, group, all_points in evidence.curves():
        # A small file takes a whole block, and brings nothing for the next one.
        points = [point for point in all_points if point.kind != "files"]
        more = [point for point in points if (point.cache_device_ratio or 0) >= READ_AHEAD]
        found = more or [point for point in points if point.cache_state == "cold" and _from_memory(point)]
        if not found:
            continue
        ratio = max(point.cache_device_ratio or 0 for point in found)
        fast = [point.latency["p50_ns"] for point in found if _from_memory(point)]
        reasons = [f"a device gave {three_digits(ratio)} bytes for each byte read"] if more else []
        reasons += (
            [f"half of the operations took {time_text(min(fast))} or less, which no device answers in"] if fast else []
        )
        yield Finding(
            "read-ahead",
            subject(op, group),
            f"{' and '.join(reasons)}, at {_tasks(found)}",
            "The kernel fetched more than each operation asked for, and later ones found their bytes in memory: these "
            "latencies are no device's. Read with direct I/O to time the device.",
        )


def _from_memory(point: Point) -> bool:
    size, half_ns = point.transfer_size, point.latency.get("p50_ns")
    return size is not None and half_ns is not None and 0 < half_ns <= MEMORY_NS + size / MEMORY_BYTES_PER_NS


@finding("holes")
def holes(evidence: Evidence) -> Iterator[Finding]:
    examined = evidence.trials.where_set("cache", "hole_bytes").where_set("cache", "examined_bytes")
    holes_of, files = (examined.floats("cache", key).tolist() for key in ("hole_bytes", "examined_bytes"))
    known = {record: hole / held for record, hole, held in zip(examined.records, holes_of, files, strict=True)}
    for op, group, points in evidence.curves() if known else ():
        caches = [record for point in points for record in point.records]
        shares = [known[record] for record in caches if record in known]
        if shares:
            yield Finding(
                "holes",
                subject(op, group),
                f"in {len(shares)} of {plural(len(caches), 'trial')} up to {share(max(shares))} of the files was "
                "holes, which no block holds",
                "A hole reads as zeros at the speed of memory. Write the files whole before they are read.",
            )


@finding("above-ceiling")
def above_ceiling(evidence: Evidence) -> Iterator[Finding]:
    if evidence.simulated:
        return
    yield from above_link(evidence)
    measured = evidence.run.manifest.get("ceilings") or ()
    for op, group, points in evidence.curves() if measured else ():
        if points[0].metric != BANDWIDTH:
            continue
        above: dict[str, list[tuple[Point, Ceiling]]] = {}
        for point in points:
            for ceiling in ceilings_at(measured, point.transfer_size):
                if point.median > ABOVE_CEILING * ceiling.bytes_per_s:
                    above.setdefault(ceiling.name, []).append((point, ceiling))
        for found in above.values():
            yield _above(op, group, *max(found, key=lambda pair: pair[0].median))


def _above(op: str, group: str, top: Point, ceiling: Ceiling) -> Finding:
    elsewhere = ceiling.other_transfer_size is not None
    measured = f"{ceiling.name} ceiling of {rate_text(ceiling.bytes_per_s)}"
    return Finding(
        "above-ceiling",
        subject(op, group, top.tasks),
        f"{rate_text(top.median)} is above the {'stated' if ceiling.stated else 'measured'} {measured}"
        + (f", measured with transfers of {size_text(ceiling.other_transfer_size or 0)}" if elsewhere else ""),
        "Data cannot have moved this fast on the path you mean: look for a cache, compression, holes in files, or a "
        f"ceiling measured while the host was busy{', or with transfers of another size' if elsewhere else ''}.",
    )


@finding("memory-backed")
def memory_backed(evidence: Evidence) -> Iterator[Finding]:
    if evidence.target.get("memory_backed"):
        yield Finding(
            "memory-backed",
            str(evidence.target.get("name") or evidence.target.get("path") or "target"),
            f"the file system is {evidence.target.get('file_system') or 'one'} that lives in memory",
            "These are figures of this host's memory. Give a directory on the storage that you want to know.",
        )


@finding("wrapped")
def wrapped(evidence: Evidence) -> Iterator[Finding]:
    known = evidence.trials.where("phase", "write").where_set("wrapped")
    for op, group, points in evidence.curves() if known else ():
        every = sum(len(point.records) for point in points)
        lines = (evidence.trials.named(point.records) for point in points)
        again = sum(len(same.where("phase", "write").where_set("wrapped")) for same in lines)
        if again:
            yield Finding(
                "wrapped",
                subject(op, group),
                f"in {again} of {plural(every, 'trial')} tasks overwrote their block after its end",
                "Overwriting is not writing new data: give a larger block size, or a shorter trial.",
            )
