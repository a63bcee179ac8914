"""One test of IOR: its settings, whatever the version called them, and a phase from one row of its results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import PurePosixPath

from tonnage.importers.imported_phases import Note, Phase, StatedRate, Unplaced, arguments_of
from tonnage.importers.ior_options import Options, directive, options_of
from tonnage.importers.rounded_numbers import (
    KIB,
    UNITS,
    Rounded,
    elapsed_ns,
    exact,
    nanoseconds,
    no_time,
    rounded,
    size,
    size_printed,
    whole,
)
from tonnage.records.line_types import SettingValues

_LAYOUTS = {"file-per-process": "file-per-task", "single-shared-file": "shared"}
_MOST_SEGMENTS = 2**40
_DEFAULTS = {"memorybuffer": "CPU", "dataaccess": "CPU", "gpudirect": "0", "apiversion": ""}
"""What version 4 prints of every test, and versions before it do not."""
_TOLD = frozenset({"reorder random seed", "max file size", "test filename", "type", "segments", "repetitions"})
"""Lines of the options that say nothing more."""


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
    options: Options = field(default_factory=Options)
    """Of the command line, or of the JSON's parameters."""
    known: bool = False
    """Whether these are all that the test was asked for."""
    number: int = 0
    """Which test of its file it is."""
    host: str | None = None
    more: dict[str, object] = field(default_factory=dict)
    """Other lines of its options, and hints: name → value."""
    no_fsync: bool = False
    """The backend has none, whatever was asked for."""
    no_direct: bool = False
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
                self.file = value or self.file
            case "type":
                if not self.known and "collective" in value:
                    self.options["collective"] = "1"
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

    def called(self, command: str) -> None:
        """By this command line, which has all options but those of a script."""
        self.command = command
        self.options = Options(_asked(command))
        self.known = bool(command) and not self.options.scripted

    def other(self, key: str, value: str) -> None:
        """Takes a line of the options that names none of a ``stream``'s factors: a stripe count, a hint."""
        if (plain := directive(key)) is not None:
            if not self.known:
                self.options[plain] = value
        elif key.lower() not in _TOLD and value != _DEFAULTS.get(key.lower()):
            self.more[key.lower().replace(" ", "_")] = value

    @property
    def durability(self) -> str | None:
        """Of its writes, as far as IOR says that it did something for it: its fsync is inside its clock."""
        if self.no_fsync:
            return "none"
        if self.options.on("fsyncPerWrite"):
            return "fsync-each"
        if self.options.on("fsync"):
            return "fsync"
        return "none" if self.known else None

    @property
    def direct(self) -> bool | None:
        if self.no_direct:
            return False
        return self.options.on("useO_DIRECT") or (False if self.known else None)

    @property
    def expected(self) -> dict[str, int]:
        """Rows of each operation that a whole output has; empty where that is not known."""
        if not self.known or not self.repetitions:
            return {}
        return dict.fromkeys(self.options.ops, self.repetitions)

    def all_segments(self, tasks: int) -> int | None:
        """Blocks that each of ``tasks`` writes. Up to 3.0 only the command line says it, and what all tasks move,
        rounded to a hundredth of its unit, must agree."""
        if self.segments or not self.block or self.aggregate is None:
            return self.segments
        unit = self.block * tasks
        least = max(1, -int(-self.aggregate.low // unit))
        most = int(self.aggregate.high // unit)
        asked = (whole(self.options.get("segmentCount", "1")) if self.known else None) or 1
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

    def setting(self, op: str, tasks: int) -> SettingValues:
        """Factors of a trial, named as those of a ``stream``. ``path`` is the directory that was measured."""
        whose: dict[str, object] = {}
        if op == "read":
            written = "write" in self.options.ops if self.known else None
            whose = {"reorder": self.reorder, "after_write": written}
        return (
            {**self.more, **self.options.factors(op)}
            | whose
            | {
                "host": self.host,
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
                "path": _directory(self.file) if self.file else None,
            }
        )

    @property
    def unplaced(self) -> Unplaced | None:
        """None where all that it was asked for is known."""
        if self.known:
            return None
        why = "a script, of which IOR prints only a part" if self.options.scripted else "no command line"
        return Unplaced(f"test {self.number}", ("test",), f"its options stand in {why}")


def phase_of(test: Test, cells: Mapping[str, str], unit: str, line: int) -> Phase | str:
    """The trial of a row (columns by their names without unit), or what keeps it from being one."""
    factor = UNITS.get(unit.removesuffix("/s").lower())
    rate, total = rounded(cells.get("bw", "")), rounded(cells.get("total", ""))
    if no_time(cells.get("total", "")):
        return f"has a rate of {cells.get('bw', '')} {unit} beside a time of {cells['total']} s"
    tasks = whole(cells.get("numTasks", "")) or test.tasks
    if factor is None:
        return f"has its rate in {unit!r}, which is no unit of IOR"
    if rate is None or rate.high_parts <= 0:
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
        setting=_one_of(tuple(test.setting(op, tasks).items())),
        elapsed_ns=lasted,
        bytes=moved,
        operations=moved // test.transfer_size if test.transfer_size else 0,
        line=line,
        durability=test.durability if op == "write" else "none",
        direct=test.direct,
        stated_rate=StatedRate(line=line, text=text, rate=rate, count=moved, seconds=total)
        if total and not notes
        else None,
        facts={key: value for key, value in steps.items() if value is not None},
        notes=notes,
        unplaced=test.unplaced,
    )


@lru_cache(maxsize=16)
def _asked(command: str) -> Options:
    """By a command line, which each output of a long file repeats."""
    return options_of(arguments_of(command))


@lru_cache(maxsize=16)
def _directory(file: str) -> str:
    return str(PurePosixPath(file).parent)


@lru_cache(maxsize=256)
def _one_of(setting: tuple[tuple[str, object], ...]) -> SettingValues:
    """Equal settings as one object: tens of thousands of trials have few."""
    return dict(setting)


_STEPS = {"slowest_open": "open", "slowest_transfer": "wr/rd", "slowest_close": "close"}


def _bytes(test: Test, tasks: int, rate: Rounded, total: Rounded | None) -> tuple[int, tuple[Note, ...]] | None:
    """What a row moved, and what must be said of that; None: the file does not tell."""
    if test.moved is not None:
        return test.moved, ()
    segments = test.all_segments(tasks)
    stopped = test.options.on("deadlineForStonewalling")
    if test.block and segments and not (stopped and total):
        return test.block * tasks * segments, ()
    if not test.block or total is None:
        return None
    low, high = rate.low * total.low, rate.high * total.high
    # The CSV has no number of segments: rate times time says how often all tasks wrote their blocks.
    unit = test.block * tasks
    if not 0 < high < unit * _MOST_SEGMENTS:
        return None
    nearest = segments or max(1, round((low + high) / 2 / unit))
    if low <= unit * nearest <= high and (segments or high - low < unit):
        return unit * nearest, ()
    if stopped:
        step = test.transfer_size or 1
        moved = max(1, round((low + high) / 2 / step)) * step
        sentence = "a stonewall stopped it, and the file does not say what was moved: bytes are its rate times its time"
        return moved, (Note("bytes-estimated", sentence),)
    sentence = f"the file does not say how many segments there were; {nearest} is what its rate and time are nearest to"
    return unit * nearest, (Note("bytes-estimated", sentence),)
