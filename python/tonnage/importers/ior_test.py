"""One test of IOR: its settings, whatever the version called them, and a phase from one row of its results."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from tonnage.importers.figures import (
    KIB,
    UNITS,
    Rounded,
    elapsed_ns,
    exact,
    nanoseconds,
    rounded,
    size,
    size_printed,
    whole,
)
from tonnage.importers.parsed import Note, Phase, Said, words_of
from tonnage.records.line_types import SettingValues

_LAYOUTS = {"file-per-process": "file-per-task", "single-shared-file": "shared"}
_MOST_SEGMENTS = 2**40
_SEGMENTS = re.compile(r"-s ?([0-9]{1,9})(?: |\Z)")


@dataclass(slots=True)
class Test:
    """What is known of a test so far; None: not said."""

    command: str = ""
    api: str | None = None
    file: str | None = None
    layout: str | None = None
    access: str | None = None
    reorder: str | None = None
    """Whose blocks a task reads: its own (``none``), of a task some way on (``constant``), of any (``random``)."""
    tasks: int | None = None
    nodes: int | None = None
    per_node: int | None = None
    segments: int | None = None
    block: int | None = None
    transfer_size: int | None = None
    fsync: bool | None = None
    repetitions: int | None = None
    moved: int | None = None
    """Of the next row: IOR moved less than it meant to, and says how much."""
    short: int = 0
    """How often it said so."""
    aggregate: Rounded | None = None

    def option(self, key: str, value: str) -> bool:
        """Takes a line of ``Options`` (4.x) or ``Summary`` (3.0 and before); False where it says nothing of use."""
        number = whole(value.split()[0]) if value.split() else None
        match key:
            case "api":
                self.api = value.split("-")[0] or None
            case "test filename":
                self.file = value
            case "access":
                self.layout = _LAYOUTS.get(value.split(",")[0].strip())
            case "ordering in a file":
                self.access = "random" if "random" in value else "sequential"
            case "ordering inter file":
                self.reorder = next((way for way in ("constant", "random") if way in value), "none")
            case "nodes":
                self.nodes = number
            case "tasks" | "clients":
                self.tasks = number
                words = value.replace("(", " ").split()
                if key == "clients" and len(words) > 1:
                    self.per_node = whole(words[1])
            case "clients per node":
                self.per_node = number
            case "repetitions":
                self.repetitions = number
            case "segments":
                self.segments = number
            case "xfersize":
                self.transfer_size = size(value)
            case "blocksize":
                self.block = size(value)
            case "aggregate filesize":
                self.aggregate = size_printed(value)
            case _:
                return False
        return True

    @property
    def words(self) -> list[str]:
        return words_of(self.command)

    @property
    def durability(self) -> str | None:
        """Of its writes: IOR's fsync is inside its clock."""
        if self.fsync is None and self.command and "-f" not in self.words:
            self.fsync = any(word == "-e" or word == "--fsync" or "fsync=1" in word for word in self.words)
        return None if self.fsync is None else "fsync" if self.fsync else "none"

    @property
    def direct(self) -> bool | None:
        if not self.command or "-f" in self.words:
            return None
        return any(word in ("-B", "--posix.odirect") or "useO_DIRECT=1" in word for word in self.words)

    def all_segments(self, tasks: int) -> int | None:
        """Blocks that each of ``tasks`` writes. Up to 3.0 only the command line says it, and what all tasks move,
        rounded to a hundredth of its unit, must agree."""
        if self.segments or not self.block or self.aggregate is None:
            return self.segments
        unit = self.block * tasks
        least = max(1, -int(-self.aggregate.low // unit))
        most = int(self.aggregate.high // unit)
        asked = next((int(found[1]) for found in map(_SEGMENTS.match, self.pairs) if found), 1)
        if least <= asked <= most:
            return asked
        return least if least == most else None

    def of_all_iterations(self) -> int | None:
        """What each iteration moved, where that is the same of all; None where IOR stopped some of them early."""
        if self.short:
            moved, self.moved = self.moved, None
            return moved if self.short == 1 and self.repetitions == 1 else None
        segments = self.all_segments(self.tasks) if self.tasks else None
        return self.block * self.tasks * segments if self.block and self.tasks and segments else None

    @property
    def pairs(self) -> list[str]:
        """Each word of the command line with the one after it."""
        if not self.command or "-f" in self.words:
            return []
        return [f"{word} {value}" for word, value in zip(self.words, [*self.words[1:], ""], strict=True)]

    def setting(self, op: str, tasks: int) -> SettingValues:
        """Factors of a trial, named as those of a ``stream``. ``path`` is the directory that was measured."""
        whose = {"reorder": self.reorder} if op == "read" else {}
        return whose | {
            "kind": "stream",
            "op": op,
            "tasks": tasks,
            "transfer_size": self.transfer_size,
            "block_size": self.block,
            "segments": self.all_segments(tasks),
            "access": self.access,
            "layout": self.layout,
            "direct": self.direct,
            "tasks_per_node": self.per_node,
            "api": self.api,
            "path": str(PurePosixPath(self.file).parent) if self.file else None,
        }


def phase_of(test: Test, cells: Mapping[str, str], unit: str, line: int) -> Phase | str:
    """The trial of a row (columns by their names without unit), or what keeps it from being one."""
    factor = UNITS.get(unit.removesuffix("/s").lower())
    rate, total = rounded(cells.get("bw", "")), rounded(cells.get("total", ""))
    tasks = whole(cells.get("numTasks", "")) or test.tasks
    if factor is None:
        return f"has its rate in {unit!r}, which is no unit of IOR"
    if rate is None or rate.high <= 0:
        return f"has no rate: {cells.get('bw', '')!r}"
    if not tasks:
        return "has no number of tasks"
    test.block = exact(cells.get("block", ""), KIB) or test.block
    test.transfer_size = exact(cells.get("xfer", ""), KIB) or test.transfer_size
    rate = rate.times(factor)
    counted = _bytes(test, tasks, rate, total)
    test.moved = None
    if counted is None:
        return "does not say how many bytes were moved"
    moved, notes = counted
    lasted = elapsed_ns(moved, total, rate)
    if lasted is None:
        return f"has no time: {cells.get('total', '')!r}"
    op = cells["access"]
    text = f"{cells['bw']} {unit}"
    steps = {f"{name}_ns": nanoseconds(cells[key]) for name, key in _STEPS.items() if key in cells}
    return Phase(
        phase=op,
        setting=test.setting(op, tasks),
        elapsed_ns=lasted,
        bytes=moved,
        operations=moved // test.transfer_size if test.transfer_size else 0,
        line=line,
        durability=test.durability if op == "write" else "none",
        direct=test.direct,
        said=Said(line=line, text=text, rate=rate, count=moved, seconds=total) if total and not notes else None,
        facts={key: value for key, value in steps.items() if value is not None},
        notes=notes,
    )


_STEPS = {"slowest_open": "open", "slowest_transfer": "wr/rd", "slowest_close": "close"}


def _bytes(test: Test, tasks: int, rate: Rounded, total: Rounded | None) -> tuple[int, tuple[Note, ...]] | None:
    """What a row moved, and what must be said of that; None: the file does not tell."""
    if test.moved is not None:
        return test.moved, ()
    if test.block and (segments := test.all_segments(tasks)):
        return test.block * tasks * segments, ()
    if not test.block or total is None:
        return None
    # The CSV has no number of segments: rate times time says how often all tasks wrote their blocks.
    unit = test.block * tasks
    low, high = rate.low * total.low / unit, rate.high * total.high / unit
    if not 0 < high < _MOST_SEGMENTS:
        return None
    nearest = max(1, round((low + high) / 2))
    certain = low <= nearest <= high and high - low < 1
    sentence = f"the file does not say how many segments there were; {nearest} is what its rate and time are nearest to"
    return unit * nearest, () if certain else (Note("bytes-estimated", sentence),)
