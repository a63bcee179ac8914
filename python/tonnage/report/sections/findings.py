"""Findings of one code as one item: a rule that fires on each of many points says one thing, not many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tonnage.analysis.results import Finding
from tonnage.report.phrases import number

ALONE_MOST = 3
"""The most findings of one code that are shown one by one."""
LISTED_MOST = 200
"""Findings of a code that a page lists: more are read by a program."""


@dataclass(frozen=True, slots=True)
class Item:
    """One finding, or many of one code."""

    findings: tuple[Finding, ...]

    @property
    def code(self) -> str:
        return self.findings[0].code

    @property
    def alone(self) -> bool:
        return len(self.findings) == 1

    @property
    def where(self) -> str:
        """Its subject: ``read, 8 tasks``; of many ``in 17 places``."""
        return self.findings[0].subject if self.alone else f"in {number(len(self.findings))} places"

    @property
    def advice(self) -> tuple[str, ...]:
        """Each once: a rule gives the same one nearly always."""
        return tuple(dict.fromkeys(finding.advice for finding in self.findings))

    def listed(self, most: int = LISTED_MOST) -> tuple[Finding, ...]:
        """Returns the first of the findings."""
        return self.findings[:most]

    def more(self, most: int = LISTED_MOST) -> str:
        """How many are not in the list; empty where all are."""
        return f"and {number(len(self.findings) - most)} more" if len(self.findings) > most else ""


def on_one_line(name: str) -> str:
    """A target's name may have newlines."""
    return name.replace("\n", "\\n")


def items(findings: Sequence[Finding]) -> list[Item]:
    """In the order of the findings; those of a group where the first of them stands."""
    codes: dict[str, list[Finding]] = {}
    for finding in findings:
        codes.setdefault(finding.code, []).append(finding)
    found = []
    for finding in findings:
        several = codes[finding.code]
        if len(several) <= ALONE_MOST:
            found.append(Item((finding,)))
        elif finding is several[0]:
            found.append(Item(tuple(several)))
    return found
