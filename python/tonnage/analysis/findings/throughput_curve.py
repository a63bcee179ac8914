"""Findings about the curve of throughput over tasks."""

from __future__ import annotations

from collections.abc import Iterator

from tonnage.analysis.figure_texts import some, speed
from tonnage.analysis.findings.finding_rules import Evidence, finding, subject
from tonnage.analysis.findings.links import iperf3_limited
from tonnage.analysis.load_line.curve_hypotheses import UNLIKELY, nearest_law
from tonnage.analysis.load_line.estimate import curve_of
from tonnage.analysis.points import cpu_ns_of
from tonnage.analysis.results import Finding, Point
from tonnage.records.line_types import processors_of
from tonnage.units import BANDWIDTH, plural, share, time_text

CLIENT_SHARE = 0.5
"""The generator's own cost is within a factor of two of the whole."""
CPU_BUSY = 0.9
"""Share of the host's processors in use from which they are the limit."""


@finding("no-plateau")
def no_plateau(evidence: Evidence) -> Iterator[Finding]:
    if evidence.is_surface:
        return  # its sentence names the sizes
    ways = "Try more tasks (--max-tasks, or tasks of the workload), add nodes, or give a larger --budget"
    if evidence.run.manifest.get("imported"):
        ways = "Measure with more tasks, or more repetitions, and import all outputs together"
    for line in evidence.load_lines:
        if not line.reached:
            advice = f"{ways}; until then no cap on jobs follows from it."
            yield Finding("no-plateau", subject(line.op, line.group), line.why, advice)


@finding("odd-curve")
def odd_curve(evidence: Evidence) -> Iterator[Finding]:
    for op, group, points in evidence.curves():
        if (op, group) not in evidence.estimates:
            continue
        nearest = nearest_law(curve_of({point.tasks: point.values for point in points}))
        if nearest is not None and nearest.chance < UNLIKELY:
            yield Finding(
                "odd-curve",
                subject(op, group),
                f"no law of throughput over tasks fits: the nearest is off by {100 * nearest.off:+.0f} % at "
                f"{plural(nearest.tasks, 'task')}, where the noise of a trial is {share(nearest.noise)}",
                "A step, a dip or a loss at some numbers of tasks has a cause of its own: nodes that fill one after "
                "the other, stripes, a lock. The load line rests on the measured numbers alone; sweep those between.",
            )


@finding("client-limited")
def client_limited(evidence: Evidence) -> Iterator[Finding]:
    if evidence.simulated:
        return
    yield from iperf3_limited(evidence)
    for op, group, points in evidence.curves():
        top = max(points, key=lambda point: point.median)
        limit = _generator_share(evidence, top) or _busy_processors(evidence, top)
        if limit:
            yield Finding(
                "client-limited",
                subject(op, group, top.tasks),
                f"{limit} at {speed(top.median, top)}",
                "This is the limit of this host, not of the storage, which may carry more: measure from more nodes, "
                "or with larger transfers.",
            )


def _generator_share(evidence: Evidence, point: Point) -> str | None:
    """Whether the generator's own time for an operation is a large part of all the time it takes."""
    manifest = evidence.run.manifest
    costs = manifest.get("costs") or [manifest.get("cost") or {}]
    of_size = [cost for cost in costs if cost.get("transfer_size", point.transfer_size) == point.transfer_size]
    own_ns = of_size[0].get("ns_per_operation") if of_size else None
    # The cost is that of a transfer; what a name or a copy costs the generator is not measured.
    if point.metric != BANDWIDTH or not own_ns or not point.operations_per_s:
        return None
    whole_ns = point.tasks * 1e9 / point.operations_per_s
    part = own_ns / whole_ns
    if part < CLIENT_SHARE:
        return None
    return f"{share(part)} of the {time_text(whole_ns)} of an operation is the generator's own {time_text(own_ns)}"


def _busy_processors(evidence: Evidence, point: Point) -> str | None:
    if point.kind == "command":
        return None  # busy processors are what a program is for
    processors = processors_of(evidence.run.manifest)
    lines = evidence.trials.named(point.records)
    used_ns, elapsed_ns = cpu_ns_of(lines), lines.total("elapsed_ns")
    if not processors or used_ns is None or not elapsed_ns:
        return None
    part = used_ns / (processors * elapsed_ns)
    return f"{share(part)} of {processors} processors were busy" if part >= CPU_BUSY else None


SINGLE = "measured once only, so without an interval"
SINGLE_IMPORTED = "the imported files have one figure, and no repetitions that the importer could see, so no interval"


def _counted(point: Point) -> tuple[int, str]:
    """What the table of its kind counts in the first column, and the noun for one."""
    for noun in ("accelerator", "user"):
        if isinstance(number := point.setting.get(f"{noun}s"), int):
            return number, noun
    return point.tasks, "task"


@finding("single-repetition")
def single_repetition(evidence: Evidence) -> Iterator[Finding]:
    imported = bool(evidence.run.manifest.get("imported"))
    if evidence.is_surface:
        return
    for op, group, points in evidence.curves():
        single = [str(_counted(point)[0]) for point in points if point.repetitions == 1]
        if single:
            noun = _counted(points[0])[1]
            yield Finding(
                "single-repetition",
                subject(op, group),
                f"{SINGLE_IMPORTED if imported else SINGLE}: {some(single)} {noun}{'' if single == ['1'] else 's'}",
                f"One {'figure' if imported else 'run'} can be off by any amount: "
                + (
                    "import more outputs of the same command together."
                    if imported
                    else "give a larger --budget, or repeats in the campaign file."
                ),
            )
