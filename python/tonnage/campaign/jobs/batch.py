"""What one job measures: a stretch of the run's order of trials that lies in one allocation."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tonnage.campaign.kinds import Setting
from tonnage.campaign.model import Campaign
from tonnage.campaign.schedule import Allocation, Schedule, Trial
from tonnage.errors import RequestError
from tonnage.records.stopped import Reason


def allocations_of(campaign: Campaign) -> list[Allocation]:
    """Every allocation of the campaign, in the order of the file: a part names one by its number here."""
    return list(dict.fromkeys(Allocation.of(setting) for setting in campaign.settings()))


@dataclass(frozen=True, slots=True)
class Batch:
    """The share of a run that one of its jobs carries, as text ``job:allocation`` or ``job:allocation/block``."""

    job: int
    """Number of the job among those of the run, from 0."""
    allocation: int
    block: int | None
    """None: all that is left. A run in one allocation needs no second job, so that it is in the queue once."""

    def __str__(self) -> str:
        return f"{self.job}:{self.allocation}" + ("" if self.block is None else f"/{self.block}")

    @classmethod
    def parse(cls, text: str) -> Batch:
        """As ``str`` wrote it; RequestError where it is anything else."""
        match = re.fullmatch(r"(\d{1,9}):(\d{1,9})(?:/(\d{1,9}))?", text, re.ASCII)
        if match is None:
            raise RequestError(f"{text!r} is no part of a run; hint: only a submitted job is given one")
        job, allocation, block = match.groups()
        return cls(int(job), int(allocation), None if block is None else int(block))

    @classmethod
    def of(cls, job: int, trial: Trial | None, allocations: Sequence[Allocation]) -> Batch:
        """The stretch that begins with ``trial``; None: that of a search, which decides as it goes."""
        if trial is None or len(allocations) < 2:
            return cls(job, 0, None)
        return cls(job, allocations.index(Allocation.of(trial.setting)), trial.block)


def settings_of(batch: Batch, campaign: Campaign) -> tuple[Setting, ...]:
    """The settings that the part's job may be asked for; none for a search, which decides as it goes."""
    if campaign.search is not None:
        return ()
    allocations = allocations_of(campaign)
    return tuple(
        setting for setting in campaign.settings() if allocations.index(Allocation.of(setting)) == batch.allocation
    )


class BatchSchedule:
    """A schedule that ends where the next trial belongs to another job."""

    def __init__(self, schedule: Schedule, batch: Batch, allocations: Sequence[Allocation]) -> None:
        if batch.allocation >= len(allocations):
            raise RequestError(f"the run has no place {batch.allocation}; hint: only a submitted job is given a part")
        self._schedule = schedule
        self._batch = batch
        self._allocation = allocations[batch.allocation]
        self.is_more = False
        """Whether a trial is left for other jobs."""

    def next(self, lines: Sequence[Mapping[str, Any]], spent_ns: int) -> Trial | None:
        """As the whole schedule's, while that is in this part."""
        if self.is_more:
            return None
        trial = self._schedule.next(lines, spent_ns)
        if trial is not None and self._batch.block is not None and not self._holds(trial.setting, trial.block):
            self.is_more = True
            return None
        return trial

    def stopped(self, lines: Sequence[Mapping[str, Any]], cut: Reason) -> dict[int, Reason]:
        """As the whole schedule's."""
        return self._schedule.stopped(lines, cut)

    def _holds(self, setting: Setting, block: int) -> bool:
        return block == self._batch.block and Allocation.of(setting) == self._allocation
