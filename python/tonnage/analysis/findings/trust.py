"""Findings about figures that are not what they seem."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from tonnage.analysis.ceilings import Ceiling, ceilings_at
from tonnage.analysis.findings.links import above_link
from tonnage.analysis.findings.registry import Evidence, finding, subject
from tonnage.analysis.results import BANDWIDTH, Finding, Point
from tonnage.analysis.text import count, share, some
from tonnage.units import rate_text, size_text

ABOVE_CEILING = 1.05
"""A figure this many times a measured ceiling is above it, not beside it."""


@finding("trial-failed")
def trial_failed(evidence: Evidence) -> Iterator[Finding]:
    failed = evidence.trials.where("status", "failed")
    for (phase, purpose), group in groupby(sorted(failed, key=_kind), key=_kind):
        lines = list(group)
        records = some([line["record"] for line in lines])
        yield Finding(
            "trial-failed",
            phase if purpose in ("measure", phase) else f"{phase} ({purpose})",
            f"{count(len(lines), 'trial')} failed ({records}): {lines[0].get('reason') or 'no reason recorded'}",
            "Their figures are left out. Find the cause before trusting the rest: first_error says where it was.",
        )


def _kind(line: object) -> tuple[str, str]:
    return line["phase"], line["purpose"]  # type: ignore[index]


@finding("damaged-data")
def damaged_data(evidence: Evidence) -> Iterator[Finding]:
    for line in evidence.trials.having("verify", "damaged_operations"):
        verify = line["verify"]
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
            line["record"],
            f"{count(verify['damaged_operations'], 'operation')} read back other bytes than were written{where}",
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
        tasks = some([str(point.tasks) for point in warm])
        yield Finding(
            "cache-read",
            subject(op, group),
            f"{' to '.join(ends)} of the bytes came from a device, at {tasks} tasks; the rest came from this host's "
            "page cache",
            "These are figures of memory, not of the storage: read with direct I/O, drop the cache before each trial, "
            "or use files larger than memory.",
        )


@finding("holes")
def holes(evidence: Evidence) -> Iterator[Finding]:
    known = {
        line["record"]: cache["hole_bytes"] / cache["examined_bytes"]
        for line in evidence.trials.having("cache", "hole_bytes")
        if (cache := line["cache"]).get("examined_bytes")
    }
    for op, group, points in evidence.curves() if known else ():
        caches = [record for point in points for record in point.records]
        shares = [known[record] for record in caches if record in known]
        if shares:
            yield Finding(
                "holes",
                subject(op, group),
                f"in {len(shares)} of {count(len(caches), 'trial')} up to {share(max(shares))} of the files was holes, "
                "which no block holds",
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
    elsewhere = ceiling.elsewhere is not None
    measured = f"{ceiling.name} ceiling of {rate_text(ceiling.bytes_per_s)}"
    return Finding(
        "above-ceiling",
        subject(op, group, top.tasks),
        f"{rate_text(top.median)} is above the measured {measured}"
        + (f", measured with transfers of {size_text(ceiling.elsewhere or 0)}" if elsewhere else ""),
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
    known = evidence.trials.where("phase", "write").having("wrapped")
    for op, group, points in evidence.curves() if known else ():
        every = sum(len(point.records) for point in points)
        lines = (evidence.trials.named(point.records) for point in points)
        again = sum(len(same.where("phase", "write").having("wrapped")) for same in lines)
        if again:
            yield Finding(
                "wrapped",
                subject(op, group),
                f"in {again} of {count(every, 'trial')} tasks overwrote their block after its end",
                "Overwriting is not writing new data: give a larger block size, or a shorter trial.",
            )
