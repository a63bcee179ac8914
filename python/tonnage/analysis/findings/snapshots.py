"""Findings about what happens once a round, whatever the round writes."""

from __future__ import annotations

from collections.abc import Iterator

from tonnage.analysis.findings.finding_rules import Evidence, finding
from tonnage.analysis.results import Finding
from tonnage.analysis.snapshots import Rounds, SnapshotCost
from tonnage.analysis.statistics.fixed_cost import COSTS, UNCHANGED, Change
from tonnage.units import plural, share, size_text, three_digits, time_text

FIXED_SHARE = 0.10
"""Of a round without a snapshot, where it is the largest share: less of it is lost among the noise of most storages."""

_TIMES = 2.0
"""Of a round, from which per cents become unreadable."""


@finding("fixed-cost")
def fixed_cost(evidence: Evidence) -> Iterator[Finding]:
    for found in evidence.snapshots:
        most = max(found.rounds, key=lambda rounds: rounds.share)
        if found.cost.verdict != COSTS or found.cost.cost_ns < FIXED_SHARE * most.without_ns:
            continue
        yield Finding(
            "fixed-cost",
            ", ".join(filter(None, (f"snapshot {found.means}", found.group))),
            f"each snapshot adds {time_text(found.cost.cost_ns)} to its round ({share(found.cost.confidence)} interval "
            f"{time_text(max(found.cost.low_ns, 0))} to {time_text(found.cost.high_ns)}); {_shares(found, most)}; "
            f"{_changes(found)}",
            "Count snapshots, not per cents: of a round that writes little this is most of its time, and in one that "
            "writes much it hides among the noise. Take fewer, or write more between two.",
        )


def _shares(found: SnapshotCost, most: Rounds) -> str:
    least = max(found.rounds, key=lambda rounds: rounds.without_ns)
    cost_ns = found.cost.cost_ns
    text = f"that is {_share_text(cost_ns / most.without_ns)} a round {_round(most)}"
    return text if least is most else f"{text} and {_share_text(cost_ns / least.without_ns)} one {_round(least)}"


def _share_text(of_it: float) -> str:
    return f"{three_digits(of_it)} times" if of_it >= _TIMES else f"{share(of_it)} of"


def _round(rounds: Rounds) -> str:
    return f"of {size_text(rounds.bytes)} by {plural(rounds.tasks, 'task')}"


def _changes(found: SnapshotCost) -> str:
    changes = []
    for change, each, what in (
        (found.with_tasks, "each doubling of the tasks", "the number of tasks"),
        (found.with_bytes, "each GiB more in a round", "the size"),
    ):
        if change is not None:
            changes.append(_change(change, each, what))
    return "; ".join(changes) or "neither tasks nor sizes were varied"


def _change(change: Change, each: str, what: str) -> str:
    if change.verdict == UNCHANGED:
        return f"no change shown with {what}"
    return f"it {change.verdict} by {time_text(abs(change.per_unit_ns))} for {each}"
