"""Findings about latencies that a closed loop understates (coordinated omission)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from tonnage.analysis.findings.finding_rules import Evidence, asked_rate, finding, subject
from tonnage.analysis.results import Finding, Point
from tonnage.units import time_text

OMITTED = 10.0
"""What one moment in a hundred meets, in times of what one operation in a hundred took."""
OMITTED_NS = 10**8
"""… and not less than this: shorter waits are the scatter of any storage."""
_SHARE = 0.01
_CLOSED = ("stream", "files")
"""Kinds whose tasks do one operation after the other, as fast as they can."""


@finding("coordinated-omission")
def coordinated_omission(evidence: Evidence) -> Iterator[Finding]:
    """A task that waits sends nothing: a long wait is one operation among thousands, and a large part of the time."""
    for op, group, points in evidence.curves():
        suspects = [point for point in points if _suspect(point)]
        if not suspects:
            continue
        point = max(suspects, key=lambda point: point.latency["max_ns"])
        wait_ns, p99_ns = moment_wait_ns(*_latencies(evidence, point)), point.latency["p99_ns"]
        if wait_ns < max(OMITTED * p99_ns, OMITTED_NS):
            continue
        yield Finding(
            "coordinated-omission",
            subject(op, group, point.tasks),
            f"one operation in a hundred took {time_text(p99_ns)} or more, but who comes at a moment of his own waits "
            f"{time_text(wait_ns)} or more one time in a hundred: a task that waits sends nothing, which counts once",
            "Do not quote these quantiles as what users meet: ask for a rate below the plateau (`rate`, "
            "`operations_rate`), where latency counts from when each operation was due.",
        )


def _suspect(point: Point) -> bool:
    """Whether its longest operation alone could do it: histograms are read only then."""
    asked = asked_rate(point.setting) or point.setting.get("rate")
    known = all(point.latency.get(key) for key in ("count", "mean_ns", "p99_ns", "max_ns"))
    return (
        point.kind in _CLOSED
        and not asked
        and known
        and point.latency["max_ns"] >= max(OMITTED * point.latency["p99_ns"], OMITTED_NS)
    )


def _latencies(evidence: Evidence, point: Point) -> tuple[list[tuple[int, int]], float]:
    """``(ns, operations)``, ascending, and the time in all operations; of a summary, what it is certain of."""
    merged: Counter[int] = Counter()
    for record in point.records:
        pairs = evidence.run.histogram(record)
        if pairs is None:
            latency = point.latency
            spent_ns = float(latency["count"] * latency["mean_ns"])
            top = max(int(latency["count"] * 0.001) - 1, 0) if latency.get("p999_ns") else 0
            return [(latency.get("p999_ns", 0), top), (latency["max_ns"], 1)], spent_ns
        merged.update(dict(pairs))
    found = sorted(merged.items())
    return found, float(sum(value * count for value, count in found))


def moment_wait_ns(pairs: Sequence[tuple[int, int]], spent_ns: float) -> int:
    """What an arrival at a random moment waits, or longer, one time in a hundred, in nanoseconds.

    A request that arrives within the first ``l - x`` ns of an operation of ``l`` ns waits longer than ``x``: the share
    of such moments is the sum of ``l - x`` over the operations longer than ``x``, by the time in all of them.
    """
    allowed_ns, operations, total_ns = _SHARE * spent_ns, 0, 0.0
    for place in range(len(pairs) - 1, -1, -1):
        value, count = pairs[place]
        operations, total_ns = operations + count, total_ns + value * count
        shorter = pairs[place - 1][0] if place else 0
        wait_ns = (total_ns - allowed_ns) / max(operations, 1)
        if wait_ns >= shorter:
            return max(int(wait_ns), 0)
    return 0
