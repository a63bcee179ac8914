"""Runs in a notebook: ``tonnage.read(RUN)`` gives its records and its points as pandas data frames, and the report's
figures as plotly objects. Needs ``pip install 'tonnage[notebook]'``; nothing is written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tonnage.analysis.company_costs import CompanyCost
from tonnage.analysis.results import Finding, LatencyLine, LoadLine, SurfaceSize
from tonnage.analysis.summary import plain
from tonnage.errors import RequestError
from tonnage.records import Run

if TYPE_CHECKING:
    from pandas import DataFrame
    from plotly.graph_objects import Figure as Picture

    from tonnage.analysis import Analysis
    from tonnage.records.line_types import Manifest
    from tonnage.report.figures.figure import Figure

_THEMES = re.compile(r"@(#[0-9a-f]{6}|rgba\([\d., ]+\))\|(#[0-9a-f]{6}|rgba\([\d., ]+\))")
"""As ``report/static/report.js`` reads it: anything else stays as it is."""
_BUCKETS = ("upper_ns", "count")
_ENDS = ("ratio", "low", "high")
T = TypeVar("T")
_NAMED = 12
"""Titles in an error: a long run has hundreds."""


def read(run: str | Path) -> MeasuredRun:
    """A run directory. RequestError where pandas is missing, RecordError where ``run`` is none or is damaged."""
    _pandas()
    return MeasuredRun(_opened(run))


def _opened(run: object) -> Run:
    if isinstance(run, MeasuredRun):
        return run.run
    if not isinstance(run, str | Path) or "\0" in str(run):
        raise RequestError(f"{run!r} is no run directory; hint: give its path, a str or a Path")
    return Run.open(run)


def compare(base: Runs, *others: Runs, of: str = "system") -> DataFrame:
    """A row for each setting that ``base`` and one of the others have in common: the columns of ``tonnage compare``,
    and ``run``, which of the others it is. Each side is a run directory, a run that was read, or a list of them: a
    verdict about a system takes three a side; ``of="runs"`` judges one run a side and says nothing of another day.
    Ratios are of rates: above 1 the other side is faster.
    """
    from tonnage.analysis.compare.runs import RUNS, SYSTEM, Side, compare_sides

    if of not in (SYSTEM, RUNS):
        raise RequestError(f"of: {of!r} is neither {SYSTEM!r} nor {RUNS!r}")
    if not others:
        raise RequestError("one side is given, and two are compared; hint: give another run")

    def side(given: Runs) -> Side:
        if not isinstance(given, str | Path | MeasuredRun | Sequence):
            raise RequestError(f"{given!r} is no side; hint: give a run directory, or a list of them")
        runs = list(map(_opened, given if isinstance(given, Sequence) and not isinstance(given, str) else [given]))
        if not runs:
            raise RequestError("a side has no run; hint: give one, or a list of them")
        return Side.of(*runs)

    found = [compare_sides(side(base), side(other), of=of) for other in others]
    return _pandas().DataFrame([{"run": one.other, **plain(cell)} for one in found for cell in one.cells])


class MeasuredRun:
    """A run that was read. Data frames have the names of ``docs/record-format.md``: bytes and nanoseconds are integers,
    units stand last in names. What a record holds in a table of its own has a dot in its column (``latency.p99_ns``).
    """

    def __init__(self, run: Run) -> None:
        self.run = run

    @property
    def manifest(self) -> Manifest:
        """Where, when, by which command, on which host."""
        return self.run.manifest

    @cached_property
    def analysis(self) -> Analysis:
        """All that Tonnage says of it, as objects: points, load lines, models, findings, promises."""
        from tonnage.analysis import analyse

        return analyse(self.run)

    @property
    def sentences(self) -> list[str]:
        """Its load lines, and what else it says, in words."""
        from tonnage.report.sections import sentences_of

        return [statement.text for statement in sentences_of(self.analysis)]

    @cached_property
    def points(self) -> DataFrame:
        """A row a setting: ``median``, ``low`` and ``high`` are in its ``metric``, over ``repetitions``, as are
        ``latency.p99_ns`` and its interval (``latency.p99_ns.low_ns``). Where repetitions are too few for an interval
        it has no ends, and ``confidence`` is 0."""
        rows = []
        for point in self.analysis.points:
            row = {key: value for key, value in plain(point).items() if not isinstance(value, dict | tuple | list)}
            row |= {"repetitions": point.repetitions, "records": list(point.records)}
            row |= {f"latency.{key}": value for key, value in point.latency.items()}
            for key, bounds in point.latency_intervals.items():
                row |= {f"latency.{key}.{name}": value for name, value in plain(bounds).items()} if bounds else {}
            row |= {f"setting.{key}": value for key, value in point.setting.items()}
            rows.append(row)
        return _table(rows)

    @cached_property
    def trials(self) -> DataFrame:
        """A row a trial and phase."""
        return _table(_flat_lines(self.run.trials()))

    @cached_property
    def tasks(self) -> DataFrame:
        """A row a task of each phase."""
        return _table(_flat_lines(self.run.tasks()))

    @cached_property
    def events(self) -> DataFrame:
        """Stalls, snapshots, copies that failed, hosts that were lost."""
        return _table(_flat_lines(self.run.events()))

    @cached_property
    def load_lines(self) -> DataFrame:
        """A row a load line; ``reached`` says whether there is one."""
        return _frame(LoadLine, [plain(line) for line in self.analysis.load_lines])

    @cached_property
    def company(self) -> DataFrame:
        """A row a workload and what ran beside it: ``rate`` and ``p99`` as ratios to alone, with their intervals."""
        rows = []
        for one in self.analysis.company:
            shares = {"rate": one.rate, "p99": one.p99}
            ends = {f"{what}_{end}": getattr(of, end, None) for what, of in shares.items() for end in _ENDS}
            rows.append({**asdict(one), "rate": None, "p99": None, **ends, "at_offered_rate": one.at_offered_rate})
        columns = [f"{what}_{end}" for what in ("rate", "p99") for end in _ENDS]
        return _frame(CompanyCost, rows, *columns, "at_offered_rate").drop(columns=["rate", "p99"])

    @cached_property
    def surfaces(self) -> DataFrame:
        """A row a transfer size and operation of a search over transfer sizes: the load line and its interval."""
        rows = [{"op": one.op, **asdict(size)} for one in self.analysis.surfaces for size in one.sizes]
        return _frame(SurfaceSize, rows, "op")

    @cached_property
    def latency_lines(self) -> DataFrame:
        """A row a latency objective: the largest load that meets it, with its interval."""
        lines = self.analysis.load_lines
        rows = [{"op": line.op, "group": line.group, **asdict(one)} for line in lines for one in line.latency_lines]
        return _frame(LatencyLine, rows, "op", "group")

    @cached_property
    def findings(self) -> DataFrame:
        """A row a finding: ``code``, ``subject``, ``evidence``, ``advice``."""
        return _frame(Finding, [asdict(finding) for finding in self.analysis.findings])

    def series(self, record: str) -> DataFrame:
        """Bytes, operations and summed latency of each task in each interval of a record (``0007-write``). Empty where
        none was kept. RequestError where the run has no such record."""
        return _pandas().DataFrame(self._kept_of(record, self.run.series) or {})

    def latency(self, record: str) -> DataFrame:
        """Returns the histogram of all tasks: each row counts the operations that took at most ``upper_ns`` and more
        than the row before. RequestError where the run has no such record."""
        return _pandas().DataFrame(self._kept_of(record, self.run.histogram) or [], columns=list(_BUCKETS))

    def _kept_of(self, record: str, read: Callable[[str], T | None]) -> T | None:
        if not isinstance(record, str):
            raise _no_record(record)
        found = read(record)
        if found is None and record not in self.run.each_trial().by_record:
            raise _no_record(record)
        return found

    @cached_property
    def figures(self) -> tuple[str, ...]:
        """Titles for ``figure``, in the report's order: section, figure, and what is chosen where there is a choice."""
        return tuple(self._drawn)

    def figure(self, title: str, *, dark: bool = False) -> Picture:
        """The figure of that title, or the only one whose title contains it. RequestError where there is none, or more.

        ``dark``: in the colours for a dark page.
        """
        found = [title] if title in self._drawn else [name for name in self._drawn if title in name]
        if len(found) != 1:
            names = found or list(self._drawn)
            many = f"{len(found)} figures have" if found else "no figure has"
            raise RequestError(f"{many} {title!r} in the title; hint: one of {'; '.join(names[:_NAMED])}, …")
        return picture(self._drawn[found[0]], dark=dark)

    @cached_property
    def _drawn(self) -> dict[str, Figure]:
        from tonnage.report.page_data import Source
        from tonnage.report.sections import exhibits_of

        lines, closer = exhibits_of(self.analysis, Source.of(self.run))
        found: dict[str, Figure] = {}
        for exhibit in (*lines, *closer):
            for variant in exhibit.variants:
                for figure in variant.figures:
                    chosen = [variant.label] if len(exhibit.variants) > 1 else []
                    found[" – ".join([exhibit.title, figure.title, *chosen])] = figure
        return found

    def __repr__(self) -> str:
        return "\n".join([f"run {self.run.path}", *self.sentences])

    def _repr_html_(self) -> str:
        sentences = "".join(f"<p>{escape(sentence)}</p>" for sentence in self.sentences)
        names = ("code", "subject", "evidence", "advice")
        rows = [names, *([getattr(finding, name) for name in names] for finding in self.analysis.findings)]
        cells = ("".join(f"<td>{escape(str(cell))}</td>" for cell in row) for row in rows)
        table = f"<table>{''.join(f'<tr>{row}</tr>' for row in cells)}</table>" if len(rows) > 1 else ""
        return f"<p><b>{escape(str(self.run.path))}</b></p>{sentences}{table}"


def picture(figure: Figure, *, dark: bool = False) -> Picture:
    """Returns a figure of the report as plotly's own object, in its light or dark colours."""
    from plotly.graph_objects import Figure as Picture

    layout = {**figure.layout, "title": {"text": figure.title}}
    return Picture(_themed(figure.traces, dark), _themed(layout, dark))


def _themed(value: Any, dark: bool) -> Any:
    """With each ``@light|dark`` replaced by one of its colours."""
    if isinstance(value, str):
        pair = _THEMES.fullmatch(value)
        return pair[2 if dark else 1] if pair else value
    if isinstance(value, Mapping):
        return {key: _themed(item, dark) for key, item in value.items()}
    if isinstance(value, Sequence):
        return [_themed(item, dark) for item in value]
    return value


Runs = str | Path | MeasuredRun | Sequence[str | Path | MeasuredRun]
"""One side of a comparison."""


def _no_record(record: object) -> RequestError:
    return RequestError(f"{record!r} is no record of this run; hint: give one such as 0007-write, of `trials.record`")


def _frame(kind: type[Any], rows: Sequence[Mapping[str, object]], *more: str) -> DataFrame:
    """A row each, with the columns of what they are made from, also where there is none."""
    return _table(rows, [*more, *(part.name for part in fields(kind))])


def _table(lines: Sequence[Mapping[str, object]], columns: Sequence[str] | None = None) -> DataFrame:
    """A row a line, a column a key. Integers stay integers where some rows have none (``Int64``): as floats, which
    pandas would make of them, they lose digits."""
    pandas = _pandas()
    # As objects first: what has become a float once has lost them.
    table = pandas.DataFrame(lines, columns=columns, dtype=object)
    for name in table.columns:
        there = table[name].dropna()
        if len(there) and all(type(value) is int for value in there):
            table[name] = table[name].astype("int64" if len(there) == len(table) else "Int64")
    return table.infer_objects()


def _flat_lines(lines: Sequence[Mapping[str, object]]) -> list[dict[str, object]]:
    return [_flat(line) for line in lines]


def _flat(line: Mapping[str, object], before: str = "") -> dict[str, object]:
    """The same with a dot in the names of what is in a table of its own."""
    flat: dict[str, object] = {}
    for key, value in line.items():
        flat |= _flat(value, f"{before}{key}.") if isinstance(value, Mapping) and value else {f"{before}{key}": value}
    return flat


def _pandas() -> Any:
    try:
        import pandas
    except ImportError:
        raise RequestError("data frames need pandas; hint: pip install 'tonnage[notebook]'") from None
    return pandas
