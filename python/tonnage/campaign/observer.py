"""What a run tells while it runs. The command line's panel is one listener; saying nothing is another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tonnage.campaign.kinds import Setting
from tonnage.records.shapes import TrialLine


@dataclass(frozen=True, slots=True)
class Step:
    """The phase that is about to cross the start line."""

    trial: int
    trials: int | None
    """How many there will be; None where a search decides as it goes."""
    setting: Setting
    phase: str
    repetition: int
    purpose: str
    elapsed_ns: int
    left_ns: int | None


class Observer:
    """Listens and does nothing. Subclasses override what they care for; none may raise."""

    def started(self, path: Path, target: str, name: str) -> None:
        """The run directory exists."""

    def step(self, step: Step) -> None:
        """A phase begins."""

    def tick(self, live: Mapping[str, Any]) -> None:
        """A snapshot (``tonnage._native.Phase.live``), about ten times a second."""

    def waiting(self, text: str) -> None:
        """Nothing is measured, and why, in one sentence; told again and again while it lasts."""

    def recorded(self, line: TrialLine) -> None:
        """A phase ended and its line is on disk."""

    def note(self, text: str) -> None:
        """One sentence the user should see."""

    def ended(self) -> None:
        """No more will come."""
