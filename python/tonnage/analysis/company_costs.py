"""What company costs: throughput and p99 of a workload beside another one, as ratios to alone, with intervals.

Trials alone and beside each company are drawn in blocks, one of each a block, so that both sides see the same storage
whatever that does over the hours. A block gives one ratio. The interval is Student's of the logarithms of these ratios:
exact where the noise of a trial is log-normal, and free of what a whole block has in common, such as drift.

Company is offered its rate from before the measured tasks begin, and its queue fills only when they are there. What a
trial moves before that is more than company leaves: the rates are those after the first half second.
"""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from tonnage.analysis.load_line.trial_checks import intervals
from tonnage.analysis.statistics.intervals import CONFIDENCE, spread, student_t
from tonnage.records import headline, loop_rate, setting_key
from tonnage.records.line_types import Json, Manifest, SettingValues, TrialLine
from tonnage.units import BANDWIDTH, OPERATIONS

HELD = 0.95
"""Company that reached less of its offered rate did not hold it. In short trials one that does reaches less than all:
what it has in flight at the end is not counted."""
LEAST_BLOCKS = 3
"""Of which a ratio has an interval."""
_FILLS_NS = 500_000_000
"""Longer than the queue of company takes to fill: on a device of 50 MB/s that is shared by 8 measured tasks and 8
operations of company of 1 MiB each it takes a third of a second."""
_LEAST_INTERVALS = 4
"""Of a series after that, for a rate of them; of a shorter trial all is counted."""
Series = Callable[[str], Mapping[str, Sequence[int]] | None]
"""Columns of a record's series."""


@dataclass(frozen=True, slots=True)
class Share:
    """A ratio to alone. Too few blocks give no interval: the ends are None, and ``confidence`` is 0."""

    ratio: float
    low: float | None
    high: float | None
    confidence: float


@dataclass(frozen=True, slots=True)
class CompanyCost:
    """A workload beside a company."""

    op: str
    workload: str
    tasks: int | None
    """None where it is of several numbers of tasks, as in a search."""
    beside: str
    blocks: int
    """Ratios are of so many pairs of trials; 0 where it was not measured alone."""
    metric: str
    alone: float | None
    """Median rates, in the metric."""
    median: float
    rate: Share | None
    p99: Share | None
    """None where it was not measured alone, or nothing was timed."""
    offered_operations_per_s: float
    """To the company; the median over its trials, as all that is of it."""
    reached: float
    """Share of that which it did."""

    @property
    def at_offered_rate(self) -> bool:
        """Whether the company did what it was offered."""
        return self.reached >= HELD


def company_costs(
    trials: Sequence[TrialLine], manifest: Manifest, series: Series = lambda _: None
) -> tuple[CompanyCost, ...]:
    """Of each workload and company, in the order of the campaign. Of a search of all numbers of tasks together, of
    which none was measured alone. ``series``: without them rates are those of whole trials."""
    searched = bool(manifest.get("search"))
    tables: Sequence[Json] = (manifest.get("campaign") or {}).get("workloads") or ()
    if not any(table.get("beside") for table in tables):
        return ()
    measured = [line for line in trials if line["purpose"] == "measure" and line["status"] == "ok"]
    sides: dict[tuple[str, str], dict[str | None, list[TrialLine]]] = defaultdict(lambda: defaultdict(list))
    for line in measured:
        sides[line["phase"], _without_company(line["setting"], searched=searched)][
            line["setting"].get("beside")
        ].append(line)
    found = [
        _cost(lines, by_company.get(None, ()), series, searched=searched)
        for by_company in sides.values()
        for text, lines in by_company.items()
        if text is not None and all("company" in line for line in lines)
    ]
    return tuple(sorted(found, key=lambda one: _position(one, tables)))


def _position(one: CompanyCost, tables: Sequence[Json]) -> tuple[int, int, int]:
    """Where it stands in the campaign: its workload, its tasks, and its company in the workload's list."""
    named = [str(table.get("name") or "") for table in tables]
    place = named.index(one.workload) if one.workload in named else len(named)
    companies = list(tables[place].get("beside") or ()) if place < len(named) else []
    return place, one.tasks or 0, companies.index(one.beside) if one.beside in companies else len(companies)


def _without_company(setting: SettingValues, *, searched: bool) -> str:
    if searched:
        return str(setting.get("workload") or "")
    return setting_key({key: value for key, value in setting.items() if key != "beside"})


def _cost(lines: Sequence[TrialLine], alone: Sequence[TrialLine], series: Series, *, searched: bool) -> CompanyCost:
    first = lines[0]
    rates = {line["record"]: _filled_rate(line, series) for line in (*lines, *alone)}
    base = {line["repetition"]: line for line in alone}
    pairs = [(line, base[line["repetition"]]) for line in lines if line["repetition"] in base]
    companies = [line["company"] for line in lines]
    beside_rates, alone_rates = (_positive(rates[line["record"]] for line in some) for some in (lines, alone))
    return CompanyCost(
        op=first["phase"],
        workload=str(first["setting"].get("workload") or ""),
        tasks=None if searched else first["setting"]["tasks"],
        beside=first["company"]["beside"],
        blocks=len(pairs),
        metric=OPERATIONS if headline(first)[1] == "1/s" else BANDWIDTH,
        alone=statistics.median(alone_rates) if alone_rates else None,
        median=statistics.median(beside_rates) if beside_rates else 0.0,
        rate=share_of([(rates[line["record"]], rates[other["record"]]) for line, other in pairs]),
        p99=share_of([(_p99(line), _p99(other)) for line, other in pairs]),
        offered_operations_per_s=statistics.median(one["offered_operations_per_s"] for one in companies),
        reached=statistics.median(
            (one["operations_per_s"] or 0) / one["offered_operations_per_s"] for one in companies
        ),
    )


def _filled_rate(line: TrialLine, series: Series) -> float | None:
    """In the metric of :func:`headline`, after the queue has filled, until the first task may have ended."""
    columns = series(line["record"])
    if not columns:
        return loop_rate(line)
    rows = intervals(columns, "operations" if headline(line)[1] == "1/s" else "bytes")
    rows = [row for row in rows[:-1] if row[0] >= rows[0][0] + _FILLS_NS]
    if len(rows) < _LEAST_INTERVALS:
        return loop_rate(line)
    return sum(moved for _, _, moved in rows) * 1e9 / (rows[-1][1] - rows[0][0])


def unmeasured_pairs(costs: Sequence[CompanyCost], campaign: Json) -> list[str]:
    """Names the pairs that a campaign wanted compared with the workload alone and that have no interval."""
    found = {(one.workload, one.beside): one.blocks for one in sorted(costs, key=lambda one: -one.blocks)}
    return [
        f"{table.get('name') or table.get('kind') or ''} beside {text}"
        for table in campaign.get("workloads") or ()
        for text in table.get("beside") or ()
        if "alone" in table["beside"]
        and text != "alone"
        and found.get((table.get("name") or "", text), 0) < LEAST_BLOCKS
    ]


def share_of(pairs: Iterable[tuple[float | None, float | None]]) -> Share | None:
    """The ratio of the first of each pair to the second, which are of one block; None without a pair of values."""
    ratios = [value / base for value, base in pairs if value and base]
    if not ratios:
        return None
    found = math.exp(statistics.fmean(map(math.log, ratios)))
    if len(ratios) < LEAST_BLOCKS:
        return Share(found, None, None, 0.0)
    half = student_t(CONFIDENCE, len(ratios) - 1) * spread(ratios) / math.sqrt(len(ratios))
    return Share(found, found * math.exp(-half), found * math.exp(half), CONFIDENCE)


def _p99(line: Mapping[str, object] | TrialLine) -> float | None:
    latency = line.get("latency")
    return float(latency["p99_ns"]) if isinstance(latency, dict) else None


def _positive(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value]
