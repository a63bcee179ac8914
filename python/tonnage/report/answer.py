"""The answer to a question about runs, for the terminal and for a page of its own."""

from __future__ import annotations

from dataclasses import dataclass

from tonnage.report.figures.figure import Exhibit, Table


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence of the answer."""

    name: str
    """Its subject."""
    sentence: str
    why: tuple[str, ...] = ()
    """Its reasons, a sentence each."""
    sure: bool = True
    """Whether it answers the question."""
    doubts: tuple[str, ...] = ()
    """The findings that undo it, ``cache-read: 0 % of the bytes …``; then it is not sure."""
    curve: tuple[str, str] | None = None
    """Operation and group that it is of, where it is of one."""

    @property
    def text(self) -> str:
        """On one line: ``write: 6 tasks [5, 8] reach …``."""
        said = f"{self.name}: {self.sentence}" if self.name else self.sentence
        for more in (*self.why, *(f"but {doubt}" for doubt in self.doubts)):
            said += f"{'' if said.endswith('.') else ';'} {more}"
        return said


@dataclass(frozen=True, slots=True)
class Answer:
    """All that is said to one question."""

    title: str
    facts: tuple[tuple[str, str], ...]
    """What the small header says."""
    statements: tuple[Statement, ...]
    exhibits: tuple[Exhibit, ...]
    tables: tuple[tuple[str, Table], ...]
    notes: tuple[str, ...]
    """How to read it."""
