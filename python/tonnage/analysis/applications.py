"""What imported logs say of an application: the facts of each of its trials, as figures of one file system."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tonnage.analysis.hosts import nearest
from tonnage.analysis.results import Point
from tonnage.records import Trials

KIND = "application"
SIZES = ("0_100", "100_1k", "1k_10k", "10k_100k", "100k_1m", "1m_4m", "4m_10m", "10m_100m", "100m_1g", "1g_up")
"""Ends of the facts that count calls by size (``size_0_100``), in bytes, in their order."""


@dataclass(frozen=True, slots=True)
class Application:
    """One kind of call of an application on one file system; facts are of the repetition nearest the median."""

    point: Point
    record: str
    facts: dict[str, int]

    @property
    def file_system(self) -> str:
        return str(self.point.setting.get("file_system") or "")

    def bounds(self, name: str) -> tuple[int, int] | None:
        """Returns what the counters prove of the value; None where they say nothing."""
        low, high = self.facts.get(f"{name}_low"), self.facts.get(f"{name}_high")
        return None if low is None or high is None else (low, high)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Calls by size; empty where none has one."""
        found = tuple(self.facts.get(f"size_{end}", 0) for end in SIZES)
        return found if any(found) else ()


def applications_of(points: Sequence[Point], trials: Trials) -> tuple[Application, ...]:
    """Returns the applications in the order of the points."""
    found = []
    for point in points:
        if point.kind == KIND:
            record = nearest(point)
            facts = trials.by_record[record].get("facts") or {}
            counted = {name: value for name, value in facts.items() if isinstance(value, int)}
            found.append(Application(point, record, counted))
    return tuple(found)
