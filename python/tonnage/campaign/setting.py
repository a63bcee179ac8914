"""A trial: one setting of all factors, once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tonnage.campaign.kinds.kind import Setting
from tonnage.records import trial_line


@dataclass(frozen=True, slots=True)
class Place:
    """What a job must be submitted for: trials in one place can share a job."""

    partition: str | None = None
    hosts: tuple[str, ...] | None = None

    @classmethod
    def of(cls, setting: Setting) -> Place:
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
        self, number: int, phase: str, *, started: str, result: dict[str, Any] | None, reason: str | None
    ) -> dict[str, Any]:
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
