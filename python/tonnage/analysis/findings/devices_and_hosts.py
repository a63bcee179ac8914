"""Findings about devices, the host, fallbacks that the storage took, and phases over several hosts."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from tonnage.analysis.balance import UNEVEN, largest
from tonnage.analysis.figure_texts import some
from tonnage.analysis.findings.finding_rules import Evidence, finding, subject
from tonnage.analysis.hosts import by_host, devices_of, host_rates, tasks_on, work_of
from tonnage.analysis.results import DevicePart, Devices, Finding, Point
from tonnage.units import BANDWIDTH, plural, rate_text, share

SLOW = 0.75
"""Share of the other devices' median rate below which a device is slow."""
_LEAST = 3
"""Devices of which one can be told from the others, and repetitions after which it is no accident."""


@finding("straggler-device")
def straggler_device(evidence: Evidence) -> Iterator[Finding]:
    """A device that was slower than the others in every repetition. Of each curve the point with most tasks."""
    found = devices_of(evidence.points, evidence.trials, evidence.tasks, evidence.run.devices())
    largest = {(one.op, one.group): one for one in sorted(found, key=lambda one: one.tasks)}
    for one in largest.values():
        slow = [(part, ratio) for part in one.parts if (ratio := _ratio(one, part)) is not None and ratio < SLOW]
        if slow and len(slow) <= len(one.parts) // 2:
            yield _slow_devices(one, slow)


def _ratio(found: Devices, part: DevicePart) -> float | None:
    """Its best repetition against the other devices' medians: only what is always slow is called so."""
    others = [other.median_bytes_per_s for other in found.parts if other is not part and other.median_bytes_per_s]
    if len(others) < _LEAST - 1 or len(part.rates) < _LEAST:
        return None
    return max(part.rates) / statistics.median(others)


def _slow_devices(found: Devices, slow: Sequence[tuple[DevicePart, float]]) -> Finding:
    worst, _ = min(slow, key=lambda pair: pair[1])
    middle = statistics.median(
        part.median_bytes_per_s for part in found.parts if part is not worst and part.median_bytes_per_s
    )
    rate = worst.median_bytes_per_s or 0.0
    more = f", and {plural(len(slow) - 1, 'other')} as well" if len(slow) > 1 else ""
    return Finding(
        "straggler-device",
        subject(found.op, found.group, found.tasks),
        f"tasks on {worst.device} moved {rate_text(rate)}, {share(rate / middle)} of the other devices' median, "
        f"in each of {plural(len(worst.rates), 'repetition')}{more}",
        "That device or its server is slower: compare it by itself (`device`), and look at what else uses it.",
    )


@finding("uneven-osds")
def uneven_osds(evidence: Evidence) -> Iterator[Finding]:
    """Of each operation the point with the most objects: the others have a part of the same."""
    for found in largest(evidence.balances):
        if found.verdict != UNEVEN:
            continue
        busiest = max((part for part in found.parts if part.fair_share), key=lambda part: part.share / part.fair_share)
        yield Finding(
            "uneven-osds",
            subject(found.op, found.group, found.tasks),
            f"osd.{busiest.osd} took {share(busiest.share)} of the bytes of {plural(found.objects, 'object')}, "
            f"{found.busiest:.3g} times its fair share; random draws stay below {found.most:.3g} times in 95 of 100",
            "Look at the weights of the OSDs, at the number of placement groups and at the balancer; few objects on "
            "few groups stay uneven whatever is done.",
        )


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
    "utilisation-missed": "Run it with fewer accelerators: `tonnage probe --training` tells how many are fed.",
    "bytes-estimated": "Import the tool's JSON instead, IOR's text, or what iperf3's client printed: these say it.",
    "items-estimated": "The rate is what mdtest printed; only how many items it is of, and how long they took, is "
    "rounded.",
    "kept-apart": "State what the files leave out, if you know it, or import files that say it.",
    "summed-rates": "Quote the rate of all together, and never add the hosts' own up.",
    "marked-invalid": "Quote it as invalid; result.txt of IO500 has the reasons (lines `; ERROR INVALID`).",
    "tasks-assumed": "Import fio's JSON, or one file for each run; with --group_reporting a run has one line a job.",
    "side-by-side": "Compare each with the same mix only.",
    "coordinated-omission": "Do not quote these latencies as what users meet: have fio submit from threads of its own "
    "(io_submit_mode=offload).",
    "counted-calls": "Take bytes, sizes and calls as what the program asks; ask `tonnage demand` "
    "what of the rates is known.",
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
        reasons.append(f"the load average was {load:.2g} on {plural(processors, 'processor')}")
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
    if not evidence.trials.where_set("direct").where("purpose", "measure"):
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
    what = plural(len(set(numbers)), "file-system device")
    yield Finding(
        "same-device",
        str(evidence.target.get("name") or "target"),
        f"the {len(directories)} devices that were measured are directories on {what} (in {some(paths)})",
        "Figures by number of devices then say nothing of several devices: list a directory on each as the target.",
    )


@finding("notes")
def notes(evidence: Evidence) -> Iterator[Finding]:
    """Yields the notes of the storage, each code once, under its own code."""
    seen: dict[str, list[tuple[str, str]]] = {}
    for record, told in evidence.trials.where_set("notes").columns("record", "notes"):
        for note in told:
            seen.setdefault(note["code"], []).append((record, note["message"]))
    for note in evidence.target.get("notes") or ():
        seen.setdefault(note["code"], []).append(("", note["message"]))
    for code, places in seen.items():
        records = list(dict.fromkeys(record for record, _ in places if record))
        yield Finding(
            code,
            plural(len(records), "trial") if records else str(evidence.target.get("name") or "target"),
            places[0][1],
            _ADVICE.get(code, "A fallback was taken: the figures are those of the fallback."),
        )


STRAGGLER_HOST = 0.75
"""A host whose tasks have less than this share of the median host's rate lags: the mean over a host's tasks leaves less
to chance than one task does."""
_NOT_ALIKE = ("tail", "command", "network", "application")
"""Kinds whose tasks differ: a writer and its readers, copies that the tasks do not divide, flows between pairs, ranks
of a program."""
_MOSTLY = 0.5
"""Share of a host's trials in which it must lag: once is chance."""


@finding("straggler-host")
def straggler_host(evidence: Evidence) -> Iterator[Finding]:
    for op, group, points in evidence.curves() if evidence.tasks else ():
        if points[0].kind in _NOT_ALIKE:
            continue
        taken, lagged = _lagging(evidence, points)
        slow = [host for host in lagged if len(lagged[host]) > _MOSTLY * taken[host]]
        if not slow:
            continue
        slow.sort(key=lambda host: statistics.median(lagged[host]))
        worst = statistics.median(lagged[slow[0]])
        yield Finding(
            "straggler-host",
            subject(op, group),
            f"tasks on {some(slow)} had {share(worst)} of the median host's rate "
            f"(in {len(lagged[slow[0]])} of {plural(taken[slow[0]], 'trial')})",
            "The phase ends with that host: look at its network, mounts, load and memory, or leave it out with `hosts` "
            "and see whether the rate of all goes up.",
        )


def _lagging(evidence: Evidence, points: list[Point]) -> tuple[Counter[str], dict[str, list[float]]]:
    """How many trials each host took part in, and its shares of the median host's rate where it lagged."""
    taken: Counter[str] = Counter()
    lagged: dict[str, list[float]] = defaultdict(list)
    if len(evidence.tasks.lines.seen("host")) < 2:
        return taken, lagged
    for point in points:
        for record in filter(evidence.tasks.__contains__, point.records):
            rates = host_rates(evidence.tasks[record], "bytes" if point.metric == BANDWIDTH else "operations")
            if len(rates) < 2:
                continue
            middle = statistics.median_high(rates.values())
            taken.update(list(rates))
            for host, rate in rates.items():
                if rate < STRAGGLER_HOST * middle:
                    lagged[host].append(rate / middle)
    return taken, lagged


@finding("unequal-ranks")
def unequal_ranks(evidence: Evidence) -> Iterator[Finding]:
    for op, group, points in evidence.curves():
        if points[0].kind in _NOT_ALIKE:
            continue
        uneven = []
        for point in points:
            working = work_of(evidence.tasks.get(point.records[0], ()))
            numbers = {host: tasks_on(tasks) for host, tasks in by_host(working).items()}
            if len(set(numbers.values())) > 1:
                uneven.append((point.tasks, numbers))
        if not uneven:
            continue
        tasks, numbers = uneven[-1]
        fewest, most = min(numbers.values()), max(numbers.values())
        few = [host for host, number in numbers.items() if number == fewest]
        yield Finding(
            "unequal-ranks",
            subject(op, group, tasks),
            f"{plural(len(few), 'host')} ({some(few)}) had {plural(fewest, 'task')} where others had up to {most}",
            "Hosts with fewer tasks end early or move less, and the rate of all is that of an uneven load: give a "
            "number of tasks that the hosts divide, or the same number of ranks to each.",
        )
