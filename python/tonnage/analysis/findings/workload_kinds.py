"""Findings about kinds of workload: open loops, readers that follow, copies of commands and their workflows."""

from __future__ import annotations

from collections.abc import Iterator

from tonnage.analysis.figure_texts import some
from tonnage.analysis.findings.finding_rules import Evidence, asked_rate, finding, subject
from tonnage.analysis.results import Finding, Point
from tonnage.analysis.workflow import ALL_ENGINE, ENGINE
from tonnage.units import plural, rate_text, share, time_text

LATE = 0.98
"""Share of the asked rate below which the storage did not keep it."""
WAITED = 10.0
"""A p99 latency of so many periods of a task: operations stood in line behind others that should have been over."""
WAITED_NS = 10**6
"""… and not less than this: shorter waits are those of a timer."""
LAG_NS = 10**9
"""A reader that is this far behind, at the 99th percentile, does not follow any more."""
ENGINE_SHARE = 0.2
"""Of a workflow's elapsed time: an engine that takes more of it decides how partitions compare."""
_POLLS = 5
"""… and by so many polls of the end of the file: a slow poll is no slow reader."""


@finding("late")
def late(evidence: Evidence) -> Iterator[Finding]:
    for op, group, points in evidence.curves():
        for point in points:
            asked = asked_rate(point.setting)
            reason = _late(point, *asked) if asked else None
            if reason:
                yield Finding(
                    "late",
                    subject(op, group, point.tasks),
                    reason,
                    "Latency counts from when each operation was due, so the line that formed is in it; a closed loop "
                    "would have waited and hidden it. Ask for a lower rate, or read these as figures of an overload.",
                )
                break  # the first number of tasks is enough to say


def _late(point: Point, asked: int, what: str) -> str | None:
    got = point.bandwidth_bytes_per_s if what == "bytes" else point.operations_per_s
    wanted = rate_text(asked) if what == "bytes" else f"{asked} operations/s"
    if got < LATE * asked:
        reached = rate_text(got) if what == "bytes" else f"{got:.0f} operations/s"
        return f"{wanted} were asked for, and {reached} reached: {share(got / asked)}"
    tasks = 1 if point.kind == "tail" else point.tasks
    period_ns = tasks * 1e9 / point.operations_per_s
    waited_ns = point.latency.get("p99_ns", 0)
    if waited_ns < max(WAITED * period_ns, WAITED_NS):
        return None
    return (
        f"{wanted} were kept on the whole, but one operation in a hundred took {time_text(waited_ns)} or more from "
        f"when it was due, and a task has one due every {time_text(period_ns)}"
    )


@finding("lag")
def lag(evidence: Evidence) -> Iterator[Finding]:
    for op, group, points in evidence.curves():
        behind = [point for point in points if point.follow and point.follow.lag.get("p99_ns", 0) >= _allowed_ns(point)]
        worst = max(behind, key=lambda point: point.follow.lag["p99_ns"] if point.follow else 0, default=None)
        if worst is None or worst.follow is None:
            continue
        yield Finding(
            "lag",
            subject(op, group),
            f"with {plural(worst.follow.readers, 'reader')}, one read in a hundred came "
            f"{time_text(worst.follow.lag['p99_ns'])} or more after its data was written; a reader was up to "
            f"{worst.follow.max_lag_bytes / 1e6:.3g} MB behind",
            "Readers do not keep up with the writer: give it a rate, or look at stalls, caches and locks between them.",
        )


def _allowed_ns(point: Point) -> int:
    return max(LAG_NS, _POLLS * (point.setting.get("poll_ns") or 0))


@finding("copy-failed")
def copy_failed(evidence: Evidence) -> Iterator[Finding]:
    failed = [
        copy
        for copy in evidence.run.copies()
        if copy.get("exit_code") or copy.get("signal") is not None or copy.get("error")
    ]
    if not failed:
        return
    ends = [
        copy.get("error") or (f"signal {copy['signal']}" if copy.get("signal") else f"exit status {copy['exit_code']}")
        for copy in failed
    ]
    which = some([f"copy {copy['copy']} of {copy['record']}" for copy in failed], 3)
    kept = evidence.trials.where_set("setting", "keep_output")
    yield Finding(
        "copy-failed",
        some(list(dict.fromkeys(str(copy["record"]) for copy in failed))),
        f"{len(failed)} failed ({which}): {some(list(dict.fromkeys(ends)), 3)}",
        "A trial with a failed copy gives no figure. "
        + ("What the copies said is in output/ of the run." if kept else "keep_output = true keeps what copies say."),
    )


@finding("engine-time")
def engine_time(evidence: Evidence) -> Iterator[Finding]:
    flows = [(point, point.workflow) for point in evidence.points if point.workflow]
    worst = max(flows, key=lambda flow: flow[1].parts[ALL_ENGINE].share, default=None)
    if worst is None or (own := worst[1].parts[ALL_ENGINE]).share < ENGINE_SHARE:
        return
    point, flow = worst
    parts = ", ".join(f"{time_text(flow.parts[part].median_ns)} {part}" for part in ENGINE)
    yield Finding(
        "engine-time",
        subject(point.op, point.group),
        f"{share(own.share)} of {time_text(point.elapsed_ns)} were {flow.engine}'s own, while no task ran and none "
        f"waited in the queue ({parts})",
        "Elapsed times of such short workflows compare engines rather than storages: compare the time in which tasks "
        "run, give the workflow more to do, or let the engine look at its jobs more often.",
    )
