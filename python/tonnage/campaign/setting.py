"""A trial: one setting of all factors, once."""

from __future__ import annotations

from dataclasses import dataclass

from tonnage.campaign.kinds.kind import Setting


@dataclass(frozen=True, slots=True)
class Trial:
    """One setting, once."""

    setting: Setting
    repetition: int
    block: int
    purpose: str = "measure"
    """``measure``, or ``sustain`` for one long trial on the plateau."""
