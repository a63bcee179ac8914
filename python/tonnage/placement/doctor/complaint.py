"""What is wrong between a site file and the world, or with hosts that are to measure, or worth knowing."""

from __future__ import annotations

from dataclasses import dataclass


def own_hint(problem: str, otherwise: str) -> tuple[str, str]:
    """Somebody else's words, and the hint that they end with; ``otherwise`` where they have none."""
    what, _, hint = problem.partition("; hint: ")
    return what, hint or otherwise


@dataclass(frozen=True, slots=True, kw_only=True)
class Complaint:
    """One thing, in one line."""

    code: str
    """Which check it came from: ``unknown-host``."""
    what: str
    hint: str
    where: str | None = None
    """``FILE:LINE`` that says otherwise, or the hosts that it is said of; None where no file says anything, and where
    it is said of all of them together."""
    wrong: bool = True
    """False: a note; nothing has to be changed."""

    def __str__(self) -> str:
        return (
            f"{f'{self.where}: ' if self.where else ''}{'' if self.wrong else 'note: '}{self.what}; hint: {self.hint}"
        )
