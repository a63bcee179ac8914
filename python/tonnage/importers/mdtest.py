"""mdtest's output, of versions 1.9 to 4.1.

mdtest prints a summary over its iterations. What it prints of each with ``-v`` is the rate of all tasks up to 3.3, from
barrier to barrier by the clock of rank 0, and that of rank 0 alone, which is no trial, from 3.4 on, and before it with
``-B``, without barriers. Its maximum, minimum and mean are over the iterations from 4.0 on, and before that over the
iterations and the ranks; with ``--showRankStatistics`` it has both. With ``-f`` and ``-l`` it tests several numbers of
tasks, each with a heading and a summary of its own.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from tonnage.importers.imported_phases import (
    FROM_SUMMARY,
    ImportedFile,
    Note,
    Phase,
    StatedRate,
    Unplaced,
    arguments_of,
    few,
)
from tonnage.importers.rounded_numbers import Rounded, elapsed_ns, iterations, letters, no_time, rounded, whole
from tonnage.importers.trace import LARGEST, content
from tonnage.records.line_types import SettingValues

PHASES = {
    "Directory creation": "make-directory", "Directory stat": "stat-directory", "Directory read": "read-directory",
    "Directory rename": "rename-directory", "Directory removal": "remove-directory", "File creation": "create",
    "File stat": "stat", "File read": "read", "File removal": "remove",
}  # fmt: skip
"""Tree creation and removal are rank 0's, and how many directories they are of is not said: they are left out."""
_VALUES = frozenset("abdefGiIlnNpsVwWxz")
"""Options with a word of their own."""
_NO_MATTER = frozenset(
    {"-P", "-v", "-V", "-Z", "-G", "-d", "-n", "-i", "-f", "-l", "-s", "-x", "-W", "-C", "-T", "-E", "-r"}
)
"""What is printed, how often, which tests there are, and what a setting has by other names."""
_PLACED = frozenset({"-w", "-e", "-z", "-b", "-u", "-y", "-Y"})
_KEPT = frozenset(
    {
        "--savePerOpDataCSV",
        "--saveRankPerformanceDetails",
        "--print-all-procs",
        "--showRankStatistics",
        "--warningAsErrors",
    }
)
_TESTS = {"create": "-C", "stat": "-T", "read": "-E", "remove": "-r"}
_UNABLE = re.compile(
    r"WARNING: unable to (create|mknode|open|write|verify write|stat|read|remove|rename) .*?\b(file|directory)\b"
)
_UNLINK = re.compile(r"WARNING: \[RANK [0-9]+\]: unlink\(\) of file .* failed")
FAILED = {
    ("create", "directory"): ("make-directory",), ("stat", "directory"): ("stat-directory",),
    ("remove", "directory"): ("remove-directory",), ("rename", "directory"): ("rename-directory",),
    ("create", "file"): ("create",), ("mknode", "file"): ("create",), ("write", "file"): ("create",),
    ("verify write", "file"): ("create",), ("stat", "file"): ("stat",), ("read", "file"): ("read",),
    ("open", "file"): ("create", "read"), ("remove", "file"): ("remove",),
}  # fmt: skip
"""What mdtest was unable to do → the tests that it is an error of."""


def failed(line: str) -> tuple[str, ...]:
    """The tests in which an item failed, by what mdtest warned of."""
    if found := _UNABLE.match(line):
        return FAILED.get((found[1], found[2]), ())
    return ("remove",) if _UNLINK.match(line) else ()


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the summary of rates."""

    name: str
    line: int
    torn: bool
    most: str
    least: str
    mean: str
    spread: str


@dataclass(slots=True)
class Output:
    """What was read so far of the tests of one number of tasks."""

    number: int = 1
    """Of the call of mdtest in its file."""
    version: str | None = None
    launched: int = 0
    nodes: int = 0
    """Of all tasks that were launched."""
    tasks: int = 0
    command: str = ""
    path: str | None = None
    items: int = 0
    """Of all tasks, as asked for."""
    iterations: int = 0
    hits: list[int] = field(default_factory=list)
    """Items of each task where a stonewall stopped them: all of them then go on to as many as the fastest had."""
    status: int | None = None
    """Items of each task that a status file said."""
    by_rank: bool = False
    """Whether its summary is over the ranks as well."""
    of_each: bool = False
    """Whether its lines of each iteration are of all tasks."""
    by_iteration: set[str] = field(default_factory=set)
    """Tests with lines for each iteration."""
    rows: list[Row] = field(default_factory=list)
    times: dict[str, str] = field(default_factory=dict)
    """Seconds of each test, where it was asked for them."""
    last_line: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    """Items that failed, by test."""
    phases: list[Phase] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def tests_of(self, tasks: int, items: int) -> Output:
        """Returns where the tests of so many tasks belong, by their heading: here, or in an output of their own."""
        if not self.rows and not self.times:
            self.tasks, self.items = tasks, items
            return self
        return Output(
            number=self.number,
            version=self.version,
            launched=self.launched,
            nodes=self.nodes,
            tasks=tasks,
            command=self.command,
            path=self.path,
            items=items,
            by_rank=self.by_rank,
            of_each=self.of_each,
        )

    def called(self, command: str) -> None:
        """Notes the command line."""
        self.command = command
        self.of_each = self.of_each and "-B" not in self.options

    @property
    def options(self) -> Mapping[str, str]:
        """Option → its value; of a flag how often it was given."""
        found: dict[str, str] = {}
        rest = list(arguments_of(self.command)[1:])
        while rest:
            word = rest.pop(0)
            name, equal, value = word.partition("=")
            if word.startswith("--") or not word.startswith("-"):
                found[name] = value if equal else "1"
                continue
            _letters(found, word[1:], rest)
        return found

    def iteration(self, name: str, seconds: str, rate: str, line: int) -> None:
        """Reads a line of one iteration, of all tasks."""
        per_second, lasted = rounded(rate), rounded(seconds)
        if name not in PHASES or per_second is None or per_second.low <= 0 or lasted is None or not self.items:
            return
        count = self.tasks * self.hits[-1] if self.hits and name.startswith("File") else self.items
        said = StatedRate(line=line, text=f"{rate} ops/sec", rate=per_second, count=count, seconds=lasted)
        elapsed = elapsed_ns(count, lasted, per_second)
        if elapsed is not None:
            self.by_iteration.add(name)
            self.phases.append(self._phase(name, count, elapsed, line, said))

    def conclude(self) -> None:
        """Its summary, which says what it was of only where times follow it."""
        if not self.rows and not self.problems:
            timed = "the summary has only times (-Z), which are not read; hint: without -Z, or with -P, it has rates"
            unended = "the output ends here, before its summary"
            self.problems.append(f"line {self.last_line}: {timed if self.times else unended}")
        for row in self.rows:
            if row.name not in self.by_iteration:
                self._row(row)

    def _row(self, row: Row) -> None:
        values = [rounded(value) for value in (row.most, row.least, row.mean)]
        most, least, mean = values
        if row.torn or most is None or least is None or mean is None:
            self.problems.append(f"line {row.line}: this line of the summary is not whole; left out")
        elif no_time(row.most):
            return  # mdtest prints 0.000 of what it did not do
        elif no_time(row.least):
            self.problems.append(f"line {row.line}: {row.name} has an iteration without a rate; left out")
        else:
            counted = self._counted(row, mean)
            if isinstance(counted, str):
                self.problems.append(
                    f"line {row.line}: {row.name}: how many were done is not said ({counted}); left out"
                )
            else:
                self._from_summary(row, counted, (most, least, mean))

    def _counted(self, row: Row, rate: Rounded) -> tuple[int, tuple[Note, ...]] | str:
        """How many items each iteration did, with notes; or why that is unknown."""
        known = self._stated_items(row.name)
        seconds = rounded(self.times[row.name]) if row.name in self.times and self.iterations == 1 else None
        if seconds is None or no_time(self.times[row.name]):
            return (known, ()) if isinstance(known, int) else known
        low, high = rate.low * seconds.low, rate.high * seconds.high
        if isinstance(known, int) and low <= known <= high:
            return known, ()
        # All tasks do equally many.
        each = round((low + high) / 2 / self.tasks)
        count = each * self.tasks if low <= each * self.tasks <= high else round((low + high) / 2)
        if not 0 < count < LARGEST:
            return "its rate and time are of nothing"
        only = high - low < self.tasks and low <= each * self.tasks <= high
        sentence = f"the file does not say how many items there were; {count} is what its rate and time are nearest to"
        return count, () if only else (Note("items-estimated", sentence),)

    def _stated_items(self, name: str) -> int | str:
        """The number that the file says without a time beside it."""
        if not self.items:
            return "the number of files is missing"
        if not name.startswith("File"):
            return self.items
        if self.hits:
            each = set(self.hits)
            return (
                each.pop() * self.tasks
                if len(each) == 1 and len(self.hits) == self.iterations
                else ("iterations ended at unequal stonewalls")
            )
        if self.status is not None:
            return self.status * self.tasks
        options = self.options
        creates = "-C" in options or not any(flag in options for flag in _TESTS.values())
        if "-x" in options and not creates:
            return "only its status file says it; hint: -P prints times beside rates"
        return self.items

    def _from_summary(
        self, row: Row, counted: tuple[int, tuple[Note, ...]], rates: tuple[Rounded, Rounded, Rounded]
    ) -> None:
        (count, notes), (most, least, mean) = counted, rates
        if self.by_rank:
            # One iteration's maximum and minimum are those of the ranks, and the slowest is the last to end.
            values = [least.middle] if self.iterations == 1 else []
        else:
            values = iterations(self.iterations, most, least, mean, rounded(row.spread))
        if not values:
            printed = "with -v" + (" and without -B" if "-B" in self.options else "")
            advice = (
                f"{printed} a line of each is printed" if self.by_rank else "with -i 3 or fewer each follows from it"
            )
            self.problems.append(
                f"line {row.line}: {row.name} has a summary of {self.iterations} iterations, no line of each for all "
                f"tasks; a mean of rates is no trial, and is left out ({advice})"
            )
        summary = (FROM_SUMMARY,) if len(values) > 1 else ()
        for value in values:
            lasted = _lasted(count, value)
            if lasted is not None:
                self.phases.append(self._phase(row.name, count, lasted, row.line, None, (*summary, *notes)))

    def _phase(
        self, name: str, count: int, lasted: int, line: int, said: StatedRate | None, notes: tuple[Note, ...] = ()
    ) -> Phase:
        setting, phase = self._setting(), PHASES[name]
        size = {"create": setting["file_size"], "read": setting["read_size"]}.get(phase)
        wrong = min(self.failures[phase], count)
        return Phase(
            phase=phase,
            setting=setting,
            elapsed_ns=lasted,
            bytes=count * (size or 0),
            operations=count - wrong,
            line=line,
            stated_rate=said,
            durability=self._durability() if phase == "create" else None,
            reason=f"mdtest warned of {wrong} of {count} items that failed" if wrong else None,
            unplaced=None
            if self.command
            else Unplaced(f"output {self.number}", ("options",), "it has no command line"),
            notes=notes,
        )

    def _durability(self) -> str | None:
        if not self.command:
            return None
        options = self.options
        return "fsync-each" if "-y" in options else "fsync" if "-Y" in options else "none"

    def _setting(self) -> SettingValues:
        """Factors as those of ``files``, as far as the command line says; what it leaves out is mdtest's default."""
        options = self.options

        def value(flag: str, parse: Callable[[object], int | None], default: int) -> int | None:
            return parse(options[flag]) if flag in options else default if self.command else None

        others = {name: options[name] for name in options if name not in _NO_MATTER | _PLACED | _KEPT}
        return others | {
            "kind": "files",
            "tasks": self.tasks,
            "tasks_per_node": self._tasks_per_node(),
            "items": self.items,
            "file_size": value("-w", letters, 0),
            "read_size": value("-e", letters, 0),
            "depth": value("-z", whole, 0),
            "branch": value("-b", whole, 1),
            "own_directories": "-u" in options if self.command else None,
            "stonewall": value("-W", whole, 0) or None,
            "sync_after": True if "-Y" in options else None,
            "path": self.path,
        }

    def _tasks_per_node(self) -> int | None:
        """None where it differs, or is not said: of several nodes mdtest does not name those of the first tasks."""
        if not self.nodes or self.tasks % self.nodes or (self.tasks != self.launched and self.nodes > 1):
            return None
        return self.tasks // self.nodes


def _lasted(count: int, rate: Fraction) -> int | None:
    lasted = max(1, round(count * 10**9 / rate)) if rate > 0 else None
    return lasted if lasted is not None and lasted < LARGEST else None


def _letters(found: dict[str, str], word: str, rest: list[str]) -> None:
    """``-n 10``, ``-n=10``, ``-n10`` and ``-vv``."""
    while word:
        letter, word = word[0], word[1:]
        name = f"-{letter}"
        if letter in _VALUES:
            found[name] = word.removeprefix("=") or (rest.pop(0) if rest else "")
            return
        if letter in "BR" and (value := re.match(r"=?-?[0-9]+\Z", word)):
            found[name] = value[0].removeprefix("=")
            return
        found[name] = str(int(found[name]) + 1) if found.get(name, "").isdigit() else "1"


_BANNER = re.compile(r"mdtest-(\S+) was launched with ([0-9]{1,9}) total task\(s\) on ([0-9]{1,9}) node")
_HEADING = re.compile(r"([0-9]{1,9}) tasks, (?:([0-9]{1,18}) (?:files|directories|files/directories)|1 file)\s*\Z")
"""``1 file`` is one that all tasks share: how many items there are of it, is not said."""
_SUMMARY = re.compile(r"SUMMARY(?: (rate|time))?(?: \([^)]*\))?:? \(of ([0-9]{1,6}) iterations\)")
_COLUMNS = {
    "Operation Max Min Mean Std Dev": 0,
    "Operation per Rank: Max Min Mean per Iteration: Max Min Mean Std Dev": 3,
}
"""Heading of a summary → its columns before those over the iterations."""
_FIGURES = 4
_ROW = re.compile(r"\s+(\w+ \w+)\s*:?\s+(\S.*)\Z")
_ITERATION = re.compile(r"V-1:.*?\b((?:File|Directory) \w+)\s*:\s+([0-9.]+) sec,\s+([0-9.]+) ops/sec")
_PATH = re.compile(r"Path\s*:\s+(.*?)\s*\Z")
_HIT = re.compile(r"(?:V-\d+: )?.*[Ss]tonewall hit min: ([0-9]{1,18}) max: ([0-9]{1,18}) avg: ")
_STATUS = re.compile(r".*Read stonewall status; items: ([0-9]{1,18})\s*\Z")


@dataclass(slots=True)
class _Reader:
    outputs: list[Output] = field(default_factory=list)
    now: Output = field(default_factory=Output)
    table: str = ""
    """``rate`` or ``time``: what the lines of the summary are of."""
    skipped: int = 0
    """Columns of the summary before those over the iterations."""
    began: str | None = None


def read(data: bytes, _: str) -> ImportedFile:
    """Reads an output. Never raises: ``problems`` names the line of each part that it cannot read."""
    lines, torn = content(data)
    reader = _Reader()
    for number, line in enumerate(lines, 1):
        _line(reader, line, number, torn and number == len(lines))
    phases: list[Phase] = []
    problems: list[str] = []
    for output in reader.outputs:
        output.conclude()
        phases += output.phases
        problems += output.problems
    if not reader.outputs:
        problems.append("line 1: this is no output of mdtest: no line says how many tasks it was launched with")
    elif not phases and not problems:
        problems.append(f"line {len(lines)}: all of its rates are 0.000: nothing was done")
    first = reader.outputs[0] if reader.outputs else reader.now
    return ImportedFile(
        phases=tuple(phases),
        problems=few(problems),
        tool="mdtest",
        version=first.version,
        command=first.command or None,
        began=reader.began,
        path=first.path,
    )


def _line(reader: _Reader, line: str, number: int, torn: bool) -> None:
    now = reader.now
    if found := _BANNER.match(line):
        by_rank, launched = found[1].startswith(("1.", "2.", "3.")), int(found[2])
        reader.now = now = Output(
            number=now.number + bool(reader.outputs),
            version=found[1],
            launched=launched,
            nodes=int(found[3]),
            tasks=launched,
            by_rank=by_rank,
            of_each=by_rank and not found[1].startswith("3.4"),
        )
        reader.outputs.append(now)
        reader.table = ""
    elif line.startswith("Command line used:"):
        now.called(line.partition(":")[2].strip())
    elif line.startswith("-- started at"):
        reader.began = reader.began or line.strip("- ").removeprefix("started at ")
    elif found := _PATH.match(line):
        now.path = found[1]
    elif found := _HEADING.match(line):
        reader.now = now.tests_of(int(found[1]), int(found[2] or 0))
        if reader.now is not now:
            reader.outputs.append(reader.now)
        reader.table = ""
    elif found := _HIT.match(line):
        now.hits.append(whole(found[2]) or 0)
    elif found := _STATUS.match(line):
        now.status = whole(found[1])
    elif tests := failed(line):
        now.failures.update(tests)
    elif (found := _ITERATION.search(line)) and now.of_each:
        now.iteration(found[1], found[2], found[3], number)
    else:
        _summary(reader, line, number, torn)
    reader.now.last_line = number


def _summary(reader: _Reader, line: str, number: int, torn: bool) -> None:
    now = reader.now
    if found := _SUMMARY.search(line):
        reader.table, reader.skipped, now.iterations = found[1] or "rate", 0, int(found[2])
    elif reader.table and line.lstrip().startswith("Operation "):
        skipped = _COLUMNS.get(" ".join(line.split()))
        if skipped is None:
            now.problems.append(f"line {number}: the columns of this summary are not known; left out")
            reader.table = ""
        else:
            reader.skipped, now.by_rank = skipped, now.by_rank and not skipped
    elif reader.table and (found := _ROW.match(line)) and found[1] in PHASES:
        cells = found[2].split()[reader.skipped :]
        is_whole = not torn and len(cells) == _FIGURES
        most, least, mean, spread = cells if is_whole else [""] * _FIGURES
        if reader.table == "rate":
            now.rows.append(Row(found[1], number, not is_whole, most, least, mean, spread))
        elif is_whole:
            now.times[found[1]] = mean
