"""The lines of ``tasks.jsonl`` by record, all at once: a run of a million trials has millions of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from tonnage.records.trial_columns import Lines

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tonnage.records.line_types import TaskLine
    from tonnage.records.trial_columns import Numbers


class TaskLines(Lines["TaskLine"]):
    """Task lines, in the order they stand."""


class Tasks(Mapping[str, TaskLines]):
    """Task lines by record, in the order they stand. A line becomes a map at its first access."""

    def __init__(self, lines: TaskLines) -> None:
        self.lines = lines
        self._numbers: dict[tuple[str, float], NDArray[np.float64]] = {}

    @staticmethod
    def of(lines: Sequence[TaskLine]) -> Tasks:
        """The same of lines that were read one by one."""
        return Tasks(TaskLines.of(lines))

    def __getitem__(self, record: str) -> TaskLines:
        place = self._places[record]
        return self.lines.at(self._order[self._starts[place] : self._starts[place + 1]])

    def __contains__(self, record: object) -> bool:
        return record in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def alike(self, records: Sequence[str]) -> Iterator[tuple[Numbers, Numbers]]:
        """``records`` that have equally many tasks together: their positions, and a row of lines for each of them."""
        import numpy as np

        places = np.fromiter((self._places.get(record, -1) for record in records), np.int64, len(records))
        there = np.flatnonzero(places >= 0)
        starts = self._starts[places[there]]
        counts = self._starts[places[there] + 1] - starts
        for count in np.unique(counts).tolist():
            chosen = counts == count
            yield there[chosen], self._order[starts[chosen][:, None] + np.arange(count)]

    def numbers(self, key: str, missing: float) -> NDArray[np.float64]:
        """A number of each line, rounded to 53 bits; ``missing`` where there is none."""
        import numpy as np

        if (key, missing) not in self._numbers:
            found = self.lines.floats(key)
            self._numbers[key, missing] = np.where(np.isnan(found), missing, found)
        return self._numbers[key, missing]

    @cached_property
    def _places(self) -> dict[str, int]:
        return {record: place for place, record in enumerate(self._grouped[0])}

    @property
    def _order(self) -> Numbers:
        return self._grouped[1]

    @property
    def _starts(self) -> Numbers:
        return self._grouped[2]

    @cached_property
    def _grouped(self) -> tuple[list[str], Numbers, Numbers]:
        return self.lines.grouped("record")
