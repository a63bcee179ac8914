"""Findings about figures that are not what they seem."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from tonnage.analysis.findings.links import above_link
from tonnage.analysis.findings.registry import Evidence, finding, subject
from tonnage.analysis.results import BANDWIDTH, Finding
from tonnage.analysis.text import count, share, some
from tonnage.units import rate_text

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
    for line in evidence.trials.having("verify"):
        verify = line["verify"]
        if not verify.get("damaged_operations"):
            continue
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
        for line in evidence.trials.having("cache")
        if (cache := line["cache"]).get("hole_bytes") and cache.get("examined_bytes")
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
    for name, ceiling in _ceilings(evidence).items():
        for op, group, points in evidence.curves():
            if points[0].metric != BANDWIDTH:
                continue
            above = [point for point in points if point.median > ABOVE_CEILING * ceiling]
            if above:
                top = max(above, key=lambda point: point.median)
                yield Finding(
                    "above-ceiling",
                    subject(op, group, top.tasks),
                    f"{rate_text(top.median)} is above the measured {name} ceiling of {rate_text(ceiling)}",
                    "Data cannot have moved this fast on the path you mean: look for a cache, compression, "
                    "holes in files, or a ceiling measured while the host was busy.",
                )


def _ceilings(evidence: Evidence) -> dict[str, int]:
    """The highest measured value of each ceiling, in bytes per second."""
    highest: dict[str, int] = {}
    for ceiling in evidence.run.manifest.get("ceilings") or ():
        value = ceiling.get("bytes_per_s")
        if value:
            highest[ceiling["name"]] = max(value, highest.get(ceiling["name"], 0))
    return highest


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
    known = {line["record"] for line in evidence.trials.having("wrapped") if line["phase"] == "write"}
    for op, group, points in evidence.curves() if known else ():
        lines = [record for point in points for record in point.records]
        again = [record for record in lines if record in known]
        if again:
            yield Finding(
                "wrapped",
                subject(op, group),
                f"in {len(again)} of {count(len(lines), 'trial')} tasks overwrote their block after its end",
                "Overwriting is not writing new data: give a larger block size, or a shorter trial.",
            )
