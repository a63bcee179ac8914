"""Findings about phases over several hosts."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterator

from tonnage.analysis.findings.registry import Evidence, finding, subject
from tonnage.analysis.hosts import by_host, host_rates, tasks_on, work_of
from tonnage.analysis.results import Finding, Point
from tonnage.analysis.text import count, some
from tonnage.units import BANDWIDTH, share

STRAGGLER_HOST = 0.75
"""A host whose tasks have less than this share of the median host's rate lags: the mean over a host's tasks leaves less
to chance than one task does."""
_NOT_ALIKE = ("tail", "command", "network")
"""Kinds whose tasks differ: a writer and its readers, copies that the tasks do not divide, flows between pairs."""
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
            f"(in {len(lagged[slow[0]])} of {count(taken[slow[0]], 'trial')})",
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
            f"{count(len(few), 'host')} ({some(few)}) had {count(fewest, 'task')} where others had up to {most}",
            "Hosts with fewer tasks end early or move less, and the rate of all is that of an uneven load: give a "
            "number of tasks that the hosts divide, or the same number of ranks to each.",
        )
