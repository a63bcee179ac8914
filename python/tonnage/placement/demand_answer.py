"""What ``tonnage demand --json`` prints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tonnage.demand.deviation import Deviation
from tonnage.demand.job_use import Bounds
from tonnage.demand.profile import Over, Profile
from tonnage.placement.answer_types import StatedLine, line_answer
from tonnage.placement.line_shares import LineShare
from tonnage.records.load_line_files import KeptLine


@dataclass(frozen=True, kw_only=True)
class ShareAnswer:
    """One direction of the program against a load line."""

    operation: str
    load_line: KeptLine | StatedLine | None
    asked: Over
    """Tasks of the line, on average over the whole time of the job."""
    is_by_rate: bool
    """What the rate stands for, which is more than the tasks that wait inside calls."""
    at_once: Bounds
    share: Over | None
    """Of the line, on average."""
    jobs_at_once: int | None
    """Such jobs that the line carries, one at least, by the average of all their calls; at least so many, where that
    is only bounded. None where records of calls are missing: then nothing says how much a job asks at most."""


@dataclass(frozen=True, kw_only=True)
class JobDemandAnswer:
    """All of it."""

    profile: Profile
    load_lines: tuple[ShareAnswer, ...]
    replayed: tuple[Deviation, ...]
    """Counters of a replay beside the job's; empty where none was asked for."""


def demand_answer(profile: Profile, shares: Sequence[LineShare], replayed: Sequence[Deviation]) -> JobDemandAnswer:
    """Returns what ``tonnage demand --json`` prints of these."""
    against = tuple(
        ShareAnswer(
            operation=one.operation,
            load_line=line_answer(one.line),
            asked=one.asked,
            is_by_rate=one.is_by_rate,
            at_once=one.at_once,
            share=one.share,
            jobs_at_once=one.packed,
        )
        for one in shares
    )
    return JobDemandAnswer(profile=profile, load_lines=against, replayed=tuple(replayed))
