"""A search for the largest number, of accelerators or of users, that keeps an objective: a schedule that asks
``analysis`` how many to try next."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from tonnage.analysis.load_line.largest_number import NumberSearch, Values
from tonnage.campaign.kinds import Setting
from tonnage.campaign.model import Campaign
from tonnage.campaign.schedule import Trial
from tonnage.records.line_types import StopReason, TrialLine


@dataclass(frozen=True, slots=True)
class Numbered:
    """What a search counts."""

    phase: str
    number: Callable[[TrialLine], int]
    """Of a trial."""
    values: Callable[[Iterable[TrialLine]], Values]
    """What trials tell, by number."""
    setting: Callable[[int], Setting]
    """Of a trial with this number."""


class NumberProbe:
    """Trials of one length, each with another number or the same again, until the answer is known or the time is
    over."""

    def __init__(self, numbered: Numbered, search: NumberSearch, budget_ns: int) -> None:
        self._numbered = numbered
        self._search = search
        self._budget_ns = budget_ns
        self._trial_ns = numbered.setting(1).time_limit_ns or 0

    def next(self, lines: Sequence[TrialLine], spent_ns: int) -> Trial | None:
        """The next trial; None when the answer is known, a trial failed, or the time is used up."""
        mine = self._mine(lines)
        if any(line["status"] == "failed" for line in mine):
            return None  # others would meet the same fault; its record says which
        # What was asked for gets one trial, however late it is.
        if mine and spent_ns + self._trial_ns > self._budget_ns:
            return None
        number = self._next_number(mine)
        if number is None:
            return None
        repetition = sum(1 for line in mine if self._numbered.number(line) == number)
        return Trial(self._numbered.setting(number), repetition, repetition)

    def stopped(self, lines: Sequence[TrialLine], cut: StopReason) -> dict[int, StopReason]:
        """Of each trial: why its number was not measured again."""
        mine = self._mine(lines)
        failed = any(line["status"] == "failed" for line in mine)
        reason: StopReason = "failed" if failed else "known" if self._next_number(mine) is None else cut
        return {line["trial"]: reason for line in mine}

    def _mine(self, lines: Sequence[TrialLine]) -> list[TrialLine]:
        return [line for line in lines if line["phase"] == self._numbered.phase and line["purpose"] == "measure"]

    def _next_number(self, mine: Sequence[TrialLine]) -> int | None:
        return self._search.next(self._numbered.values(line for line in mine if line["status"] == "ok"))


def accelerator_probe(campaign: Campaign, seed: int) -> NumberProbe:
    """The search for the most accelerators that are fed."""
    from tonnage.analysis.load_line.accelerators import LIMIT_TRIALS, stretches
    from tonnage.campaign.kinds.number_searches import objective_of, training_of
    from tonnage.campaign.kinds.training import PHASE, with_accelerators

    search = campaign.accelerators
    if search is None:
        raise ValueError("a campaign without [accelerators] has no such search")
    (training,) = campaign.workloads
    base = training_of(campaign.settings()[0])
    numbered = Numbered(
        phase=PHASE,
        number=lambda line: int(line["setting"]["accelerators"]),
        values=stretches,
        setting=lambda number: with_accelerators(base, number),
    )
    stretch = 1 / objective_of(search, training)
    return NumberProbe(
        numbered, NumberSearch(search.most, stretch, f"accelerators-{seed}", LIMIT_TRIALS), search.budget_ns
    )


def user_probe(campaign: Campaign, seed: int) -> NumberProbe:
    """The search for the most users that are served."""
    from tonnage.analysis.load_line.users import times_of
    from tonnage.campaign.kinds.kv_cache import PHASE, with_users
    from tonnage.campaign.kinds.number_searches import kv_cache_of

    search = campaign.users
    if search is None:
        raise ValueError("a campaign without [users] has no such search")
    base = kv_cache_of(campaign.settings()[0])
    numbered = Numbered(
        phase=PHASE,
        number=lambda line: int(line["setting"]["users"]),
        values=lambda lines: times_of(lines, search.p95_ns),
        setting=lambda number: with_users(base, number),
    )
    return NumberProbe(numbered, NumberSearch(search.most, search.p95_ns, f"users-{seed}"), search.budget_ns)
