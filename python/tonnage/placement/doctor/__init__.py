"""``tonnage doctor``: reports each problem of a site, or of hosts that are to measure together, in one line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tonnage.cluster.hostlist import fold

_MOST = 4
"""More are written as schedulers do: ``node[01-16]``."""


def own_hint(problem: str, otherwise: str) -> tuple[str, str]:
    """Splits a message of another module into its text and its hint; ``otherwise`` is the hint where it has none."""
    what, _, hint = problem.partition("; hint: ")
    return what, hint or otherwise


@dataclass(frozen=True, slots=True, kw_only=True)
class Complaint:
    """One problem or note, in one line."""

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


def named(names: Sequence[str]) -> str:
    """Lists all of them, in their order; many of them short."""
    return ", ".join(names) if len(names) <= _MOST else fold(names).replace(",", ", ")
