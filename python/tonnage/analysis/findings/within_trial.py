"""Findings about what happened inside a trial."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from tonnage.analysis.figure_texts import some
from tonnage.analysis.findings.finding_rules import Evidence, asked_rate, finding, subject
from tonnage.analysis.load_line.trial_checks import RULE
from tonnage.analysis.results import Finding, Point
from tonnage.records import loop_rate
from tonnage.records.line_types import EventLine
from tonnage.units import BANDWIDTH, plural, rate_text, share, time_text

WARM_UP = 0.10
"""Difference between a whole trial and its steady window, in the median of a curve's trials."""
BURST = 0.03
"""Short trials this much above what a long one sustained."""
STRAGGLER = 0.5
"""A task below this share of the median task's rate lags."""
_STALL_LATENCIES = 8
"""A stall is so many times as long as an operation of its trial: the engine compares with those before it, and a task's
first one has none."""
_MOSTLY = 0.5
"""Share of a curve's trials in which a task must lag: once is chance."""


@finding("stall")
def stall(evidence: Evidence) -> Iterator[Finding]:
    stalls = [event for event in stalls_of(evidence.events) if not _usual(evidence, event)]
    if not stalls:
        return
    longest = max(stalls, key=lambda event: event.get("duration_ns") or 0)
    records = list(dict.fromkeys(str(event.get("record")) for event in stalls))
    yield Finding(
        "stall",
        some(records),
        f"{plural(len(stalls), 'stall')}, the longest {time_text(longest.get('duration_ns') or 0)} "
        f"in {longest.get('record')}: a task completed nothing for at least 1 s",
        "No average shows this. Look at the time series, and at locks, leases or flushing on the servers then.",
    )


def _usual(evidence: Evidence, event: EventLine) -> bool:
    """Whether operations of its trial take as long as a rule: a task's first one has none before it to compare with."""
    line = evidence.trials.by_record.get(str(event.get("record")))
    latency = line.get("latency") if line else None
    # Where operations are offered at a rate, latencies hold the waiting behind an earlier stall.
    if line is None or latency is None or asked_rate(line["setting"]):
        return False
    usual_ns = latency.get("p50_ns") or 0
    return (event.get("duration_ns") or 0) < _STALL_LATENCIES * usual_ns


def stalls_of(events: Sequence[EventLine]) -> list[EventLine]:
    """The events that are stalls."""
    return [event for event in events if event["kind"] == "stall"]


@finding("warm-up")
def warm_up(evidence: Evidence) -> Iterator[Finding]:
    for op, group, points in evidence.curves() if evidence.steady else ():
        windows = [evidence.steady[r] for point in points for r in point.records if r in evidence.steady]
        ratios = [w.whole_per_s / w.inside_per_s for w in windows if w.inside_per_s]
        if not ratios:
            continue
        difference = statistics.median(ratios) - 1
        if abs(difference) < WARM_UP:
            continue
        start = time_text(statistics.median(w.start_ns for w in windows))
        kind = "below" if difference < 0 else "above"
        yield Finding(
            "warm-up",
            subject(op, group),
            f"whole trials are {share(abs(difference))} {kind} their steady window, which begins at {start} ({RULE})",
            "Give longer trials, so that the start counts less"
            + ("." if difference < 0 else "; a buffer filled up first, and the storage's own rate is the later one."),
        )


@finding("burst")
def burst(evidence: Evidence) -> Iterator[Finding]:
    for (op, group), found in evidence.searched.items():
        lines = evidence.long.get(op, ())
        if not lines or not found.reached:
            continue
        sustained = statistics.median(loop_rate(line) or 0 for line in lines)
        length_ns = statistics.median(line["elapsed_ns"] or 0 for line in lines)
        if evidence.estimates[op, group].differs and found.plateau > (1 + BURST) * sustained:
            lengths = [evidence.line(r)["elapsed_ns"] or 0 for p in evidence.points if p.op == op for r in p.records]
            yield Finding(
                "burst",
                subject(op, group),
                f"trials of {time_text(statistics.median(lengths))} show a plateau of {rate_text(found.plateau)}, "
                f"{time_text(length_ns)} on end only {rate_text(sustained)}",
                "The storage saves up while it idles (a throttle, credits, a burst buffer). The plateau given here is "
                "the sustained one; short jobs may see more.",
            )


_UNLIKE_TASKS = ("tail", "command", "application", "training", "kv-cache")
"""A writer and its readers are not alike, nor are copies whose number the tasks do not divide; readers of samples take
the next one when they are asked to, and users of a cache have turns when they will."""


@finding("straggler-task")
def straggler_task(evidence: Evidence) -> Iterator[Finding]:
    for op, group, points in evidence.curves() if evidence.tasks else ():
        if points[0].kind in _UNLIKE_TASKS or op == "drop":
            # Snapshots of all tasks together, and their data, are removed by one.
            continue
        several = [point for point in points if point.tasks > 1]
        slowest = [found for point in several for found in _slowest(evidence, point)]
        lagging = [part for part in slowest if part < STRAGGLER]
        if not slowest or len(lagging) <= _MOSTLY * len(slowest):
            continue
        part = statistics.median(lagging)
        yield Finding(
            "straggler-task",
            subject(op, group),
            f"in {len(lagging)} of {len(slowest)} trials the slowest task had {share(part)} of the median task's rate",
            "One device, server or processor is slower, or turns are unfair: the per-task view shows which task it is.",
        )


def _slowest(evidence: Evidence, point: Point) -> Iterator[float]:
    """Of each repetition: the rate of its slowest task as a share of the median task's."""
    import numpy as np

    done = evidence.tasks.numbers("bytes" if point.metric == BANDWIDTH else "operations", 0.0)
    starts, ends, stood_for = (evidence.tasks.numbers(key, 1.0) for key in ("start_ns", "end_ns", "tasks"))
    for _, rows in evidence.tasks.alike(point.records):
        elapsed_ns = ends[rows] - starts[rows]
        # What took no time has no rate, and is behind all others.
        rates = np.where(elapsed_ns > 0, done[rows] / (stood_for[rows] * np.maximum(elapsed_ns, 1)), np.inf)
        rates.sort(axis=1)
        working = (elapsed_ns > 0).sum(axis=1)
        chosen = working > 1
        middle = np.take_along_axis(rates, (working // 2)[:, None], axis=1)[chosen, 0]
        slowest = rates[chosen, 0]
        yield from np.divide(slowest, middle, out=np.ones_like(slowest), where=middle > 0).tolist()
