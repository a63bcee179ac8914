"""A trial: one setting of all factors, once."""

from __future__ import annotations

from dataclasses import dataclass

from tonnage.campaign.kinds.kind import Setting


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
