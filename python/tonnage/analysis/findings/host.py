"""Findings about the host, and fallbacks that the storage took."""

from __future__ import annotations

from collections.abc import Iterator

from tonnage.analysis.findings.registry import Evidence, finding
from tonnage.analysis.results import Finding
from tonnage.analysis.text import count, some

LOAD_PER_CPU = 0.5
"""Load average of the last minute, per processor."""
IO_PRESSURE = 10.0
"""Per cent of the last ten seconds in which some process waited for I/O."""

_ADVICE = {
    "no-direct": "Operations went through the page cache: read the cache state of each figure.",
    "direct-unaligned": "Give a transfer size that is a multiple of the device's block, or accept buffered figures.",
    "io-uring-off": "Operations were synchronous and the queue depth had no effect: "
    "ask for kernel.io_uring_disabled=0, or use more tasks.",
    "no-fixed-buffers": "Each operation pays for mapping its buffer: raise the limit of locked memory (ulimit -l).",
    "no-preallocation": "Space was taken while writing: a full disk shows in the middle of a trial, not at its start.",
    "no-file-mark": "Remove the file by hand before the next run, or use a target on a file system with attributes.",
    "kept-foreign": "Nothing of yours is ever removed: take the file away by hand if you want the name.",
    "from-summary": "Equal values are each an iteration, but a drift over the run cannot be seen.",
    "bytes-estimated": "Import the text or the JSON instead, where the tool wrote one: these say it.",
    "side-by-side": "Compare each with the same mix only.",
    "coordinated-omission": "Do not quote these latencies as what users meet: have fio submit from threads of its own "
    "(io_submit_mode=offload).",
    "cut-short": "Look for the rest of the output, or take it as the beginning of a longer measurement.",
    "depth-one": "This storage does one operation at a time in each task: use more tasks, or the uring storage.",
}


@finding("load-present")
def load_present(evidence: Evidence) -> Iterator[Finding]:
    if evidence.simulated:
        return
    before = evidence.run.manifest.get("load_before") or {}
    processors = (evidence.run.manifest.get("host") or {}).get("cpu_count") or 1
    load = before.get("load_1min") or 0.0
    waiting = ((before.get("pressure") or {}).get("io") or {}).get("some_avg10") or 0.0
    reasons = []
    if load > LOAD_PER_CPU * processors:
        reasons.append(f"the load average was {load:.2g} on {count(processors, 'processor')}")
    if waiting > IO_PRESSURE:
        reasons.append(f"processes waited for I/O {waiting:.0f} % of the time")
    if reasons:
        yield Finding(
            "load-present",
            str((evidence.run.manifest.get("host") or {}).get("hostname") or "host"),
            f"before the run began, {' and '.join(reasons)}",
            "Other work shared this host: repeat on an idle one, or read these figures as what is left beside it.",
        )


@finding("away-from-interrupt")
def away_from_interrupt(evidence: Evidence) -> Iterator[Finding]:
    host = evidence.run.manifest.get("host") or {}
    allowed, served = set(host.get("cpu_affinity") or ()), set(evidence.target.get("interrupt_cpus") or ())
    if not allowed or not served or allowed & served or evidence.simulated:
        return
    if not evidence.trials.having("direct").where("purpose", "measure"):
        return
    yield Finding(
        "away-from-interrupt",
        str(host.get("hostname") or "host"),
        f"tasks may run on CPU {_numbers(allowed)} only, and CPU {_numbers(served)} serves the device's interrupts",
        "Each operation then waits for another processor to wake up, which can cost half of the rate of small ones: "
        "do not bind the process, or bind it where the interrupts are (mpirun --bind-to none).",
    )


_SPREADING = {"lustre", "beegfs"}
"""File systems of one number whose directories can each be on storage targets of their own."""


def _numbers(processors: set[int]) -> str:
    return some([str(number) for number in sorted(processors)])


@finding("no-striping")
def no_striping(evidence: Evidence) -> Iterator[Finding]:
    for problem in (evidence.target.get("stripe") or {}).get("problems") or ():
        yield Finding(
            "no-striping",
            str(evidence.target.get("name") or "target"),
            f"the files were not striped as asked: {problem}",
            "Files lie where the file system puts them: install its tools (lfs, beegfs-ctl), or leave [stripe] out.",
        )


@finding("same-device")
def same_device(evidence: Evidence) -> Iterator[Finding]:
    """Directories that were measured as devices, and are on one file system."""
    directories = evidence.target.get("directories") or []
    numbers = [place.get("device_number") for place in directories]
    if len(directories) < 2 or None in numbers or len(set(numbers)) == len(numbers):
        return
    paths = list(dict.fromkeys(place["path"] for place in directories))
    spreads = {place["file_system"] for place in directories} <= _SPREADING
    stripe = evidence.target.get("stripe") or {}
    pinned = (stripe.get("wanted") or {}).get("osts") and not stripe.get("problems")
    if pinned or (spreads and len(paths) == len(directories)):
        return  # each directory may well be on a device of its own, whatever its number says
    what = count(len(set(numbers)), "file-system device")
    yield Finding(
        "same-device",
        str(evidence.target.get("name") or "target"),
        f"the {len(directories)} devices that were measured are directories on {what} (in {some(paths)})",
        "Figures by number of devices then say nothing of several devices: list a directory on each as the target.",
    )


@finding("notes")
def notes(evidence: Evidence) -> Iterator[Finding]:
    """Notes of the storage, each code once, under its own code."""
    seen: dict[str, list[tuple[str, str]]] = {}
    for record, told in evidence.trials.having("notes").columns("record", "notes"):
        for note in told:
            seen.setdefault(note["code"], []).append((record, note["message"]))
    for note in evidence.target.get("notes") or ():
        seen.setdefault(note["code"], []).append(("", note["message"]))
    for code, places in seen.items():
        records = list(dict.fromkeys(record for record, _ in places if record))
        yield Finding(
            code,
            count(len(records), "trial") if records else str(evidence.target.get("name") or "target"),
            places[0][1],
            _ADVICE.get(code, "A fallback was taken: the figures are those of the fallback."),
        )
