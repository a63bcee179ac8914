"""From a campaign to its trials: every combination of the factors, repeated, in an order drawn from the seed."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, Protocol

from tonnage.campaign.model import Campaign, Workload
from tonnage.campaign.setting import Setting, Trial

FACTORS = (
    "op",
    "tasks",
    "transfer_size",
    "block_size",
    "segments",
    "access",
    "layout",
    "direct",
    "sync",
    "queue_depth",
    "storage",
    "cache",
)


class Schedule(Protocol):
    """Says which trial is next. The run loop asks until the answer is None."""

    def next(self, lines: Sequence[Mapping[str, Any]], spent_ns: int) -> Trial | None:
        """``lines`` of the trials so far (also of the run that is resumed), and time used on the run's clock."""


def settings(workload: Workload) -> list[Setting]:
    """Every combination of the workload's factors, without repetition, in the order of the file."""
    combinations = product(*(getattr(workload, factor) for factor in FACTORS))
    found = (
        Setting(
            **dict(zip(FACTORS, values, strict=True)),
            verify=workload.verify,
            time_limit_ns=workload.time_limit_ns,
            payload=workload.payload,
            wrap=workload.wrap,
        )
        for values in combinations
    )
    return list(dict.fromkeys(found))


class Sweep:
    """Randomised blocks: each block holds every setting that still needs a repetition, in an order of its own.

    With a fixed number of repetitions that is all of them; with an interval rule a setting leaves once its interval
    is narrow, or after ``at_most`` repetitions. A trial that failed counts as measured, an interrupted one does not.
    """

    def __init__(self, campaign: Campaign, seed: int) -> None:
        self._settings = settings(campaign.workload)
        self._repeat = campaign.repeat
        self._time_ns = campaign.budget.time_ns
        self._seed = seed
        self._order: Iterator[Trial] | None = None
        self._block = -1

    def next(self, lines: Sequence[Mapping[str, Any]], spent_ns: int) -> Trial | None:
        if self._time_ns is not None and spent_ns >= self._time_ns:
            return None
        done = _done(lines)
        while True:
            for trial in self._order or ():
                if trial.repetition not in done.get(trial.setting, {}):
                    return trial
            self._block += 1
            trials = self._draw(self._block, done)
            if not trials:
                return None
            self._order = iter(trials)

    def _draw(self, block: int, done: Mapping[Setting, Mapping[int, int]]) -> list[Trial]:
        trials = [
            Trial(setting, block, block) for setting in self._settings if self._wanted(block, done.get(setting, {}))
        ]
        # A generator of its own for each block: a resumed run draws the same order without replaying the past.
        random.Random(f"{self._seed}/{block}").shuffle(trials)
        return trials

    def _wanted(self, block: int, measured: Mapping[int, int]) -> bool:
        rule = self._repeat
        if rule.fixed is not None:
            return block < rule.fixed
        if block < rule.at_least:
            return True
        earlier = [bandwidth for repetition, bandwidth in measured.items() if repetition < block and bandwidth > 0]
        # A repetition that failed brought no figure; measuring on would not narrow anything if all did.
        return block < rule.at_most and bool(earlier) and not _narrow(earlier, rule.interval or 0.0)


def _narrow(values: Sequence[int], share: float) -> bool:
    from tonnage.analysis.statistics import median_interval

    median, low, high, confidence = median_interval(values)
    return confidence > 0 and high - low <= share * median


def _done(lines: Sequence[Mapping[str, Any]]) -> dict[Setting, dict[int, int]]:
    """Setting → repetition → bandwidth (0 where it failed) of everything that need not be measured again."""
    done: dict[Setting, dict[int, int]] = {}
    for line in lines:
        if line["purpose"] == "measure" and line["status"] != "interrupted":
            bandwidth = line["bandwidth_bytes_per_s"] or 0 if line["status"] == "ok" else 0
            done.setdefault(Setting(**line["setting"]), {})[line["repetition"]] = bandwidth
    return done
