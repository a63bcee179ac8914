"""The type of a section: the same for the page, the terminal, the live page and notebooks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tonnage.analysis.run_analysis import Analysis
from tonnage.report.answer import Statement
from tonnage.report.figures.figure import Exhibit, Table
from tonnage.report.page_data import Source

Titled = tuple[str, Table]
"""A table with its title."""


def _nothing(*_: object) -> list[Any]:
    return []


@dataclass(frozen=True, slots=True)
class Section:
    """What a run may say of one subject. A part that a section does not have says nothing of any run."""

    name: str
    exhibits: Callable[[Analysis, Source], Sequence[Exhibit]] = _nothing
    """Its figures on the page and in a notebook."""
    points: Callable[[Analysis], Sequence[Titled]] = _nothing
    """Tables of what was measured, for the terminal."""
    tables: Callable[[Analysis], Sequence[Titled]] = _nothing
    """Tables of what follows from it, for the terminal."""
    notes: Callable[[Analysis], Sequence[str]] = _nothing
    """Notes below these."""
    sentences: Callable[[Analysis], Sequence[Statement]] = _nothing
    """What the run says of the subject."""
    kinds: frozenset[str] = frozenset()
    """Of the workloads that these sentences rest on; none: all of the run's."""
    tells: frozenset[str] = frozenset()
    """Findings whose evidence is what these sentences say: a page says it once."""
    live: Callable[[Analysis], Sequence[Exhibit]] = _nothing
    """Figures of the live page, from what is known so far."""
    is_closer_look: bool = False
    """Whether it is about single records: these stand at the end of a page."""
