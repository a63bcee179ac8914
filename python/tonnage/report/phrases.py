"""The sentences that the terminal and the page both print, each made in one place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tonnage import units
from tonnage.analysis.figure_texts import some
from tonnage.analysis.findings.undoing import Undone
from tonnage.analysis.results import Finding, Intervals, LoadLine, Point, Promise
from tonnage.analysis.run_analysis import Analysis
from tonnage.analysis.transfer_sizes import measured_at
from tonnage.records.line_types import CeilingEntry, CostEntry, StopReason
from tonnage.records.lines import AMPLIFIED
from tonnage.records.measuring_process import ENDED_WITHOUT_SUMMARY

TOO_FEW = "too few repetitions to tell, 2 of each would"
"""Where a figure has no interval."""
_KEPT = {True: "kept", False: "not kept", None: "do not apply"}


def subject(op: str, group: str) -> str:
    """What a curve is of: ``write``, or ``write (transfer_size=4 KiB)``."""
    return f"{op} ({group})" if group else op


def interval(line: LoadLine) -> str:
    """`` [5, 8]``, or nothing where there is no interval."""
    if line.tasks_low is None or line.tasks_high is None or not line.confidence:
        return ""
    return f" [{line.tasks_low}, {line.tasks_high}]"


def sentence(line: LoadLine) -> str:
    """Returns the answer of a run for one curve: ``write: 6 tasks [5, 8] reach 95 % of …``."""
    return f"{subject(line.op, line.group)}: {line.why}"


_STATES = {
    "running": "This run has not ended, or its process died: what is here is what was recorded so far.",
    ENDED_WITHOUT_SUMMARY: "This run ended without a summary: its process is gone. What is here is what was recorded "
    "before; tonnage run --resume goes on with it.",
    "interrupted": "This run was interrupted: what is here is what was recorded before.",
    "failed": "This run failed.",
    "incomplete": "Parts of the imported files are missing or cannot be read: what is here is what could be.",
}


def state(analysis: Analysis) -> str | None:
    """Says that a run is not whole; None where it is."""
    return _STATES.get(analysis.state)


def as_they_are(altered: str) -> str:
    """Says that files of a run are not those that were sealed: ``trials.jsonl was altered since …``."""
    return f"{altered}: what follows is of the files as they are now; see tonnage verify"


def doubts(findings: Sequence[Finding]) -> tuple[str, ...]:
    """What undoes an answer, a sentence each: ``cache-read: 0 % of the bytes …``; of many with one code the first."""
    codes: dict[str, list[Finding]] = {}
    for finding in findings:
        codes.setdefault(finding.code, []).append(finding)
    return tuple(
        f"{code}: {several[0].evidence}" + (f"; and {number(len(several) - 1)} more" if len(several) > 1 else "")
        for code, several in codes.items()
    )


def undone(found: Sequence[Undone]) -> tuple[str, ...]:
    """What undoes an answer of several runs, a sentence for each code: ``cache-read in runs/2 (read): 0 % of …``."""
    codes: dict[str, list[Undone]] = {}
    for one in found:
        codes.setdefault(one.code, []).append(one)
    return tuple(
        f"{code} in {some(list(dict.fromkeys(one.run for one in several)), 3)} ({several[0].subject}): "
        f"{several[0].evidence}"
        for code, several in codes.items()
    )


def explained(findings: Sequence[Finding]) -> str:
    """How to read more of what was found: ``More: tonnage explain stall warm-up``."""
    return f"More: tonnage explain {' '.join(dict.fromkeys(finding.code for finding in findings))}"


def tasks(number: int) -> str:
    """Returns text such as ``1 task``, ``6 tasks``."""
    return units.plural(number, "task")


def number(value: int) -> str:
    """Returns text such as ``4,608``."""
    return f"{value:,}"


def objectives(line: LoadLine) -> tuple[str, ...]:
    """The latency line of each objective: the largest load that meets it, or why that was not shown."""
    return tuple(found.why for found in line.latency_lines)


def plateau(line: LoadLine) -> str | None:
    """The interval of the plateau, its ends rounded away from each other: what is printed holds what was found."""
    if line.plateau_low is None or line.plateau_high is None or not line.confidence:
        return None
    low, high = units.outward(line.plateau_low, line.plateau_high)
    return f"the plateau lies between {units.interval(low, high, lambda end: units.speed(end, line.metric), ' and ')}"


_ENDS: dict[StopReason, str] = {
    "known": "when the load line was known well enough",
    "limit": "because no plateau shows up to the largest number of tasks, and repetitions would not change that",
    "budget": "when its time was used up",
    "failed": "because a trial failed",
    "interrupted": "because the run was interrupted",
}


def ended(line: LoadLine) -> str | None:
    """Why no more was measured; None where that is as asked, or the run does not say."""
    if line.stopped == "failed" and not line.reached:
        return None  # its sentence says so
    return f"measuring ended {_ENDS[line.stopped]}" if line.stopped in _ENDS else None


def stopped(reason: StopReason | None) -> str:
    """Why a point was not measured again, in a word."""
    return reason.replace("-", " ") if reason else units.NOT_MEASURED


def done(kind: str) -> str:
    """What a workload counts: ``Operations``, or the copies of a command."""
    return "Copies" if kind == "command" else "Operations"


def bounds(point: Point) -> str:
    """The interval of the median, ``1.88 GB/s – 1.96 GB/s``; a dash where there is none."""
    if not point.confidence:
        return units.NOT_MEASURED
    return units.interval(point.low, point.high, lambda value: units.speed(value, point.metric))


def wait(latency: Mapping[str, int], intervals: Intervals, key: str) -> str:
    """Formats a latency with its interval over the repetitions, ``17.5 ms [16.9, 18.2]``, or with a dash for one of a
    single trial."""
    value = latency.get(key)
    if value is None or key not in intervals:
        return units.duration(value)
    bounds = intervals[key]
    divisor, _ = units.time_scale(value)
    if bounds is None:
        return f"{units.duration(value)} [{units.NOT_MEASURED}]"
    text = units.interval(bounds.low_ns, bounds.high_ns, lambda ns: units.significant(ns / divisor), ", ")
    return f"{units.duration(value)} [{text}]"


def promises(judged: Sequence[Promise]) -> str:
    """How many are kept: ``9 kept, 1 not kept, 2 do not apply``."""
    counts = [(sum(one.kept is kept for one in judged), words) for kept, words in _KEPT.items()]
    return ", ".join(f"{many} {words}" for many, words in counts if many)


def waits(point: Point) -> tuple[str, str, str]:
    """Returns p50, p99 and the longest of all operations."""
    p50, p99, longest = (wait(point.latency, point.latency_intervals, key) for key in ("p50_ns", "p99_ns", "max_ns"))
    return p50, p99, longest


def cache(point: Point) -> str:
    """Describes where the bytes of a read came from, ``cold, 99.8 %``, and how many a device gave for them where it
    gave more: ``cold, 620 times the bytes read``; empty for a write."""
    ratio = point.cache_device_ratio
    if point.cache_state is None:
        return ""
    if ratio is not None and ratio > AMPLIFIED:
        return f"{point.cache_state}, {units.ratio(ratio)} times the bytes read"
    share = point.cache_device_share
    return point.cache_state if share is None else f"{point.cache_state}, {units.share(share)}"


def ceiling_name(name: object) -> str:
    """Returns text such as ``memory copy``."""
    return str(name).replace("-", " ")


def ceilings(entries: Sequence[CeilingEntry]) -> list[tuple[str, str]]:
    """Each measured or stated upper bound, and how it was measured (empty: not said). One that was measured with
    several transfer sizes is one sentence."""
    names: dict[str, list[CeilingEntry]] = {}
    for entry in entries:
        names.setdefault(ceiling_name(entry.get("name", "ceiling")), []).append(entry)
    return [
        (_by_size(name, several), "")
        if len(several) > 1
        else (_ceiling(name, *several), str(several[0].get("source") or ""))
        for name, several in names.items()
    ]


def _by_size(name: str, entries: Sequence[CeilingEntry]) -> str:
    ordered = sorted(entries, key=lambda entry: measured_at(entry) or 0)
    figures = [
        units.rate(entry.get("bytes_per_s")) + (f" at {units.size(size)}" if (size := measured_at(entry)) else "")
        for entry in ordered
    ]
    return f"{name}, by transfer size: {', '.join(figures)}{_with_tasks(ordered[0])}"


def _with_tasks(entry: CeilingEntry) -> str:
    number = entry.get("tasks")
    return f" with {tasks(number)}" if number else ""


def _ceiling(name: str, entry: CeilingEntry) -> str:
    figures = []
    if entry.get("bytes_per_s") is not None:
        figures.append(units.rate(entry["bytes_per_s"]))
    if entry.get("operations_per_s") is not None:
        figures.append(f"{units.count(entry['operations_per_s'])} operations/s")
    return f"{name}: {', '.join(figures) or units.NOT_MEASURED}{_with_tasks(entry)}"


def cost(entry: CostEntry) -> str:
    """What driving the load costs the generator itself."""
    found = []
    if entry.get("ns_per_operation") is not None:
        found.append(f"{units.duration(entry['ns_per_operation'])} an operation")
    if entry.get("cpu_ns_per_operation") is not None:
        found.append(f"{units.duration(entry['cpu_ns_per_operation'])} of CPU")
    if entry.get("operations_per_s") is not None:
        found.append(f"{units.count(entry['operations_per_s'])} operations/s a task")
    return ", ".join(found) or units.NOT_MEASURED
