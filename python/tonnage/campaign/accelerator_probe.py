"""The search for the most accelerators that are fed: a schedule that asks ``analysis`` how many to try next."""

from __future__ import annotations

from collections.abc import Sequence

from tonnage.analysis.load_line.accelerators import FeedingSearch, stretches
from tonnage.campaign.kinds.accelerator_search import objective_of, training_of
from tonnage.campaign.kinds.training import PHASE, with_accelerators
from tonnage.campaign.model import Campaign
from tonnage.campaign.schedule import Trial
from tonnage.records.line_types import StopReason, TrialLine


class AcceleratorProbe:
    """Trials of one length, each with another number of accelerators or the same again, until that is known or the
    time is over."""

    def __init__(self, campaign: Campaign, seed: int) -> None:
        if campaign.accelerators is None:
            raise ValueError("a campaign without [accelerators] has no such search")
        (training,) = campaign.workloads
        self._budget_ns = campaign.accelerators.budget_ns
        self._base = training_of(campaign.settings()[0])
        self._search = FeedingSearch(campaign.accelerators.most, objective_of(campaign.accelerators, training), seed)

    def next(self, lines: Sequence[TrialLine], spent_ns: int) -> Trial | None:
        """The next trial; None when the answer is known, a trial failed, or the time is used up."""
        mine = [line for line in lines if line["phase"] == PHASE and line["purpose"] == "measure"]
        if any(line["status"] == "failed" for line in mine):
            return None  # others would meet the same fault; its record says which
        # What was asked for gets one trial, however late it is.
        if mine and spent_ns + (self._base.time_limit_ns or 0) > self._budget_ns:
            return None
        accelerators = self._search.next(stretches(line for line in mine if line["status"] == "ok"))
        if accelerators is None:
            return None
        repetition = sum(1 for line in mine if line["setting"]["accelerators"] == accelerators)
        return Trial(with_accelerators(self._base, accelerators), repetition, repetition)

    def stopped(self, lines: Sequence[TrialLine], cut: StopReason) -> dict[int, StopReason]:
        """Of each trial: why its number of accelerators was not measured again."""
        mine = [line for line in lines if line["phase"] == PHASE and line["purpose"] == "measure"]
        failed = any(line["status"] == "failed" for line in mine)
        known = self._search.next(stretches(line for line in mine if line["status"] == "ok")) is None
        reason: StopReason = "failed" if failed else "known" if known else cut
        return {line["trial"]: reason for line in mine}
