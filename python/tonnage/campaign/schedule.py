"""The order of trials: every combination of a campaign's factors, repeated, in an order drawn from the seed."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from tonnage.campaign.kinds import Setting, setting_of
from tonnage.campaign.model import Campaign
from tonnage.records import headline, trial_line
from tonnage.records.line_types import StopReason, TrialLine
from tonnage.records.phase_results import PhaseResult


@dataclass(frozen=True, slots=True)
class Allocation:
    """Describes the resources that a job must be submitted for. Trials of one allocation can share a job."""

    partition: str | None = None
    hosts: tuple[str, ...] | None = None

    @classmethod
    def of(cls, setting: Setting) -> Allocation:
        """Where a trial of this setting runs."""
        return cls(setting.job_partition, setting.hosts)


@dataclass(frozen=True, slots=True)
class Trial:
    """One setting, once."""

    setting: Setting
    repetition: int
    block: int
    purpose: str = "measure"
    """``measure``; ``sustain`` for a long trial on the plateau; ``offered`` for an offered rate."""

    def line(
        self, number: int, phase: str, *, started: str, result: PhaseResult | None, reason: str | None
    ) -> TrialLine:
        """The record of a phase of it that no engine ran: ``result`` is a PhaseResult all the same, or None."""
        return trial_line(
            trial=number,
            setting=self.setting.as_dict(),
            phase=phase,
            repetition=self.repetition,
            block=self.block,
            started=started,
            result=result,
            purpose=self.purpose,
            reason=reason,
        )


class Schedule(Protocol):
    """Says which trial is next. The run loop asks until the answer is None."""

    def next(self, lines: Sequence[TrialLine], spent_ns: int) -> Trial | None:
        """``lines`` of the trials so far (also of the run that is resumed), and time used on the run's clock. From one
        call to the next lines are only added."""

    def stopped(self, lines: Sequence[TrialLine], cut: StopReason) -> dict[int, StopReason]:
        """Of each trial: why its point was not measured again. ``cut``: what ended the run before all was measured."""


class Sweep:
    """Randomised blocks: each block holds every setting that still needs a repetition, in an order of its own.

    Where settings run in several allocations, those of one stay together: the allocations are drawn in an order, and in
    each its settings. So a block is one batch in each allocation, and a job carries one batch.

    With a fixed number of repetitions that is all of them; with an interval rule a setting leaves once its interval
    is narrow, or after ``at_most`` repetitions. A trial that failed counts as measured, an interrupted one does not.
    """

    def __init__(self, campaign: Campaign, seed: int) -> None:
        self._settings = campaign.settings()
        self._shuffled = campaign.order == "random"
        self._repeat = campaign.repeat
        self._time_ns = campaign.budget.time_ns
        self._seed = seed
        self._order: Iterator[Trial] | None = None
        self._block = -1
        self._done = _Done()

    def next(self, lines: Sequence[TrialLine], spent_ns: int) -> Trial | None:
        if self._time_ns is not None and spent_ns >= self._time_ns:
            return None
        done = self._done.update(lines)
        while True:
            for trial in self._order or ():
                if trial.repetition not in done.get(trial.setting, {}):
                    return trial
            self._block += 1
            trials = self._draw(self._block, done)
            if not trials:
                return None
            self._order = iter(trials)

    def stopped(self, lines: Sequence[TrialLine], cut: StopReason) -> dict[int, StopReason]:
        done = self._done.update(lines)
        reasons = {setting: self._reason(done.get(setting, {}), cut) for setting in self._done.trials_of}
        return {trial: reasons[setting] for setting, trials in self._done.trials_of.items() for trial in trials}

    def _reason(self, measured: Mapping[int, float], cut: StopReason) -> StopReason:
        rule = self._repeat
        if self._wanted(len(measured), measured):
            return cut
        if rule.fixed is not None:
            return "repetitions"
        rates = [rate for rate in measured.values() if rate > 0]
        if rates and _narrow(rates, rule.interval or 0.0):
            return "narrow"
        return "most" if len(measured) >= rule.at_most else "failed"

    def _draw(self, block: int, done: Mapping[Setting, Mapping[int, float]]) -> list[Trial]:
        trials = [
            Trial(setting, block, block) for setting in self._settings if self._wanted(block, done.get(setting, {}))
        ]
        if not self._shuffled:
            return trials
        # A generator of its own for each block: a resumed run draws the same order without replaying the past.
        drawing = random.Random(f"{self._seed}/{block}")
        allocations = list(dict.fromkeys(Allocation.of(trial.setting) for trial in trials))
        if len(allocations) > 1:
            drawing.shuffle(allocations)
        drawing.shuffle(trials)
        return sorted(trials, key=lambda trial: allocations.index(Allocation.of(trial.setting)))

    def _wanted(self, block: int, measured: Mapping[int, float]) -> bool:
        rule = self._repeat
        if rule.fixed is not None:
            return block < rule.fixed
        if block < rule.at_least:
            return True
        earlier = [bandwidth for repetition, bandwidth in measured.items() if repetition < block and bandwidth > 0]
        # A repetition that failed brought no figure; measuring on would not narrow anything if all did.
        return block < rule.at_most and bool(earlier) and not _narrow(earlier, rule.interval or 0.0)


def _narrow(values: Sequence[float], share: float) -> bool:
    from tonnage.analysis.statistics.intervals import median_interval

    median, low, high, confidence = median_interval(values)
    return confidence > 0 and high - low <= share * median


class _Done:
    """Knows what need not be measured again. The lines of a run only grow, so each is read once."""

    def __init__(self) -> None:
        self.rates: dict[Setting, dict[int, float]] = {}
        """Setting → repetition → rate (0 where it failed)."""
        self._seen = 0
        self._trials: dict[int, list[TrialLine]] = {}
        self.trials_of: dict[Setting, set[int]] = {}
        """Numbers of the trials of each setting, also of those that were interrupted."""

    def update(self, lines: Sequence[TrialLine]) -> dict[Setting, dict[int, float]]:
        """``rates`` with what ``lines`` has more than before."""
        new = lines[self._seen :]
        self._seen = len(lines)
        for line in new:
            self._trials.setdefault(line["trial"], []).append(line)
        for trial in dict.fromkeys(line["trial"] for line in new):
            self._count(self._trials[trial])
        return self.rates

    def _count(self, lines: Sequence[TrialLine]) -> None:
        """Takes a trial in, as far as it has come."""
        measured = [line for line in lines if line["purpose"] == "measure"]
        if not measured:
            return
        setting = setting_of(measured[0]["setting"])
        self.trials_of.setdefault(setting, set()).add(measured[0]["trial"])
        # A trial of several phases is interrupted as a whole.
        if any(line["status"] == "interrupted" for line in lines):
            return
        # A run that was killed between two phases has no line that says so.
        if not {line["phase"] for line in lines} >= set(setting.phases):
            return
        repetitions = self.rates.setdefault(setting, {})
        for line in measured:
            rate = headline(line)[0] or 0 if line["status"] == "ok" else 0
            # The slowest phase of a trial decides; 0, where one failed.
            repetitions[line["repetition"]] = min(rate, repetitions.get(line["repetition"], rate))
