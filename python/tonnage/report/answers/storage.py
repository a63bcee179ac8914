"""One storage: everything that some runs ever measured on it, and the jobs that were placed by it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timezone

from tonnage import units
from tonnage.analysis.compare.history import History
from tonnage.analysis.findings.undoing import undone_by
from tonnage.analysis.results import LoadLine, Point
from tonnage.analysis.run_analysis import Analysis
from tonnage.analysis.summary import plain, summary
from tonnage.report import phrases
from tonnage.report.answer import Answer, Statement
from tonnage.report.answers import history as over_time
from tonnage.report.figures.axes import sizes_axis, speed_scale_title
from tonnage.report.figures.colours import line_colour
from tonnage.report.figures.figure import Exhibit, Figure, Table, Variant, error_bars, escaped, layout, text_column
from tonnage.report.figures.plotly import Axis, Trace
from tonnage.units import BANDWIDTH

_NOTES = (
    "A run is on this storage if its directories are in its file system; a model is known by its name.",
    "A load line is that of its run: the smallest number of tasks within 5 % of the plateau, with its interval.",
)
_SYMBOLS = ("circle", "diamond", "square", "triangle-up", "triangle-down")


@dataclass(frozen=True, slots=True)
class StorageRun:
    """A run on the storage, and what it says."""

    run: str
    when: datetime | None
    analysis: Analysis


@dataclass(frozen=True, slots=True)
class Placed:
    """A job of this user whose place or cap went by the storage; as ``--json`` has it."""

    at_s: float
    """When it was decided, in seconds since 1970."""
    server: str | None
    copies: int | None
    """How many there are of it; None: older ledgers do not say."""
    tasks: int | None
    """Copies at once."""
    cap: int | None
    job: str | None
    """The scheduler's name of it."""
    refused: str | None
    """Why nothing was submitted."""

    @property
    def when(self) -> str:
        return _when(datetime.fromtimestamp(self.at_s, timezone.utc))

    @property
    def outcome(self) -> str:
        return f"refused: {self.refused}" if self.refused else f"job {self.job}" if self.job else "not known"


@dataclass(frozen=True, slots=True)
class OfStorage:
    """All that is known of one storage."""

    storage: str
    measured: tuple[StorageRun, ...]
    """In order of time."""
    history: History | None
    """Of the same runs, where there are several and all can be read."""
    placed: tuple[Placed, ...]


def as_object(found: OfStorage) -> dict[str, object]:
    """What ``--json`` prints: of each run the object that it has alone."""
    return {
        "storage": found.storage,
        "runs": [
            {"when": None if one.when is None else one.when.isoformat(), "summary": summary(one.analysis, None)}
            for one in found.measured
        ],
        "history": None if found.history is None else plain(found.history),
        "jobs": [asdict(one) for one in found.placed],
    }


@dataclass(frozen=True, slots=True)
class _Line:
    """A load line, and whose."""

    of: StorageRun
    line: LoadLine
    size: int | None
    plateau: float | None
    low: float
    high: float
    metric: str
    beside: str
    """The workloads that it shared the storage with; empty: none."""


def answer(found: OfStorage) -> Answer:
    """The page, and what the terminal says."""
    storage, measured, history, placed = found.storage, found.measured, found.history, found.placed
    lines = [line for one in measured for line in _lines(one)]
    dates = [one.when for one in measured if one.when is not None]
    facts = (
        ("storage", storage),
        ("runs", str(len(measured))),
        *((("first", _when(min(dates))), ("last", _when(max(dates)))) if dates else ()),
    )
    statements = (*_newest(lines), *_changed(history), _judged(measured), _jobs_statement(placed))
    # What is left beside others is no course of the storage's own.
    alone = [line for line in lines if not line.beside]
    exhibits = [one for one in (_by_size(alone), _over_time(alone)) if one is not None]
    if history is not None:
        exhibits += over_time.answer(history).exhibits
    tables = (
        ("Every run", _runs_table(measured)),
        ("Every load line", _lines_table(lines)),
        ("Findings", _findings_table(measured)),
        ("Jobs placed", _jobs_table(placed)),
    )
    return Answer(f"All of {storage}", facts, statements, tuple(exhibits), tables, _NOTES)


def _lines(one: StorageRun) -> list[_Line]:
    found = []
    for line in one.analysis.load_lines:
        curve = [point for point in one.analysis.points if (point.op, point.group) == (line.op, line.group)]
        if not curve:
            continue
        best = max(curve, key=lambda point: point.median)
        beside = str(best.setting.get("beside") or "")
        found.append(_Line(one, line, _size(curve), *_plateau(line, best), line.metric, beside))
    return found


def _size(curve: Sequence[Point]) -> int | None:
    sizes = {point.transfer_size for point in curve}
    return sizes.pop() if len(sizes) == 1 else None


def _plateau(line: LoadLine, best: Point) -> tuple[float | None, float, float]:
    """With its interval; where the load line was not reached, the best measured rate is neither a plateau nor a load
    line."""
    if not line.reached or line.plateau is None:
        return None, best.low, best.high
    plateau = float(line.plateau)
    return plateau, line.plateau_low or plateau, line.plateau_high or plateau


def _newest(lines: Sequence[_Line]) -> list[Statement]:
    """Of each operation and transfer size the newest load line that was reached; of none why not."""
    keys = sorted({(one.line.op, one.size or 0, one.beside) for one in lines}, key=lambda key: (key[2], key))
    statements = []
    for op, size, beside in keys:
        same = [one for one in lines if (one.line.op, one.size or 0, one.beside) == (op, size, beside)]
        reached = [one for one in same if one.line.reached]
        newest = (reached or same)[-1]
        name = f"{op}, {units.size(size)} transfers" if size else op
        name += f", beside {beside}" if beside else ""
        why = [f"From {newest.of.run}{_dated(newest.of.when)}."]
        if len(same) > 1:
            why.append(f"{len(reached)} of {len(same)} load lines of such transfers were reached.")
        undone = phrases.doubts(undone_by(newest.of.analysis.doubts, op, newest.line.group))
        sure = newest.line.reached and not undone
        statements.append(Statement(name, f"{newest.line.why}.", tuple(why), sure, undone))
    return statements or [Statement("", "No load line was looked for.", sure=False)]


def _changed(history: History | None) -> list[Statement]:
    if history is None:
        return []
    undone = phrases.undone(history.undone_by)
    is_sure = not undone and not over_time.is_too_short(history)
    return [Statement("over time", over_time.sentence(history), (), is_sure, undone)]


def _judged(measured: Sequence[StorageRun]) -> Statement:
    in_runs = Counter(code for one in measured for code in {finding.code for finding in one.analysis.findings})
    if not in_runs:
        return Statement("findings", f"None in {_many(len(measured), 'run')}.")
    named = ", ".join(f"{code} ({many})" for code, many in in_runs.most_common())
    return Statement("findings", f"In so many of {_many(len(measured), 'run')}: {named}.")


def _jobs_statement(placed: Sequence[Placed]) -> Statement:
    if not placed:
        return Statement("jobs", "This user's ledger has no job that was submitted for data on it.")
    were = "was" if len(placed) == 1 else "were"
    return Statement(
        "jobs",
        f"{_many(len(placed), 'job')} of this user {were} submitted for data on it, the last on {placed[-1].when}.",
    )


def _many(count: int, noun: str) -> str:
    return f"{phrases.number(count)} {noun}{'s' if count != 1 else ''}"


def _when(when: datetime) -> str:
    return when.strftime("%Y-%m-%d %H:%M UTC")


def _dated(when: datetime | None) -> str:
    return "" if when is None else f", {_when(when)}"


def _by_size(lines: Sequence[_Line]) -> Exhibit | None:
    """Load lines against the transfer size, every run a mark."""
    shown = [one for one in lines if one.size and one.line.reached and one.line.tasks]
    if not shown:
        return None
    variants = tuple(
        Variant(op, (_size_figure(op, [one for one in shown if one.line.op == op]),))
        for op in dict.fromkeys(one.line.op for one in shown)
    )
    introduction = "The load line of each run by the size of its transfers, with its interval."
    return Exhibit("sizes", "Load lines by transfer size", introduction, "Operation", variants)


def _size_figure(op: str, lines: Sequence[_Line]) -> Figure:
    tasks = [float(one.line.tasks or 0) for one in lines]
    highs = [max(value, float(one.line.tasks_high or value)) for one, value in zip(lines, tasks, strict=True)]
    lows = [min(value, float(one.line.tasks_low or value)) for one, value in zip(lines, tasks, strict=True)]
    sizes = [one.size or 1 for one in lines]
    trace: Trace = {
        "x": sizes,
        "y": tasks,
        "mode": "markers",
        "marker": {"color": line_colour(op), "size": 10, "opacity": 0.8},
        "error_y": error_bars(
            [high - value for high, value in zip(highs, tasks, strict=True)],
            [value - low for low, value in zip(lows, tasks, strict=True)],
            line_colour(op),
            1.5,
            5,
        ),
        "text": [_mark(one) for one in lines],
        "hovertemplate": "%{text}<extra></extra>",
        "showlegend": False,
    }
    caption = f"{_many(len(lines), 'load line')}, from {min(tasks):.0f} to {phrases.tasks(round(max(tasks)))}."
    return Figure(
        title=f"{op}: load line by transfer size",
        caption=caption,
        alt=f"Tasks of the load line of {op} against the transfer size. {caption}",
        traces=[trace],
        layout=layout(sizes_axis(sizes), {"title": "Load line (tasks)", "range": [0, 1.1 * max(highs)]}),
        table=_lines_table(lines),
    )


def _mark(one: _Line) -> str:
    at = f", {units.size(one.size)} transfers" if one.size else ""
    plateau = units.NOT_MEASURED if one.plateau is None else units.speed(one.plateau, one.metric)
    head = escaped(phrases.subject(one.line.op, one.line.group))
    run = f"run {escaped(one.of.run)}{_dated(one.of.when)}"
    return f"{head}{at}<br>{escaped(one.line.why)}<br>plateau {plateau}<br>{run}"


def _over_time(lines: Sequence[_Line]) -> Exhibit | None:
    """Plateaus with their intervals against the date, of runs at two times or more."""
    shown = [one for one in lines if one.plateau is not None and one.of.when is not None]
    variants = []
    for op in dict.fromkeys(one.line.op for one in shown):
        same = [one for one in shown if one.line.op == op and one.metric == BANDWIDTH]
        if len({one.of.when for one in same}) > 1:
            variants.append(Variant(op, (_time_figure(op, same),)))
    if not variants:
        return None
    introduction = "The plateau of each load line that was reached, when its run was, with its interval."
    return Exhibit("plateaus", "Plateaus over time", introduction, "Operation", tuple(variants))


def _time_figure(op: str, lines: Sequence[_Line]) -> Figure:
    most = max(max(one.high, one.plateau or 0) for one in lines)
    scale, title = speed_scale_title(most, BANDWIDTH)
    sizes = sorted({one.size or 0 for one in lines})
    traces = [
        _plateaus(op, size, place, [one for one in lines if (one.size or 0) == size], scale)
        for place, size in enumerate(sizes)
    ]
    values = [one.plateau or 0 for one in lines]
    caption = f"{_many(len(lines), 'plateau')}, from {units.rate(min(values))} to {units.rate(max(values))}."
    axis: Axis = {"title": "When (UTC)", "nticks": 6}
    return Figure(
        title=f"{op}: plateau over time",
        caption=caption,
        alt=f"Plateau of {op} against the date, a mark with its interval for each run. {caption}",
        traces=traces,
        layout=layout(axis, {"title": title, "range": [0, 1.1 * most / scale]}, showlegend=len(sizes) > 1),
        table=_lines_table(lines),
    )


def _plateaus(op: str, size: int, place: int, lines: Sequence[_Line], scale: float) -> Trace:
    values = [one.plateau or 0 for one in lines]
    return {
        "x": [one.of.when.replace(tzinfo=None).isoformat(" ", "seconds") for one in lines if one.of.when],
        "y": [value / scale for value in values],
        "mode": "markers",
        "name": f"{units.size(size)} transfers" if size else "of several sizes",
        "marker": {"color": line_colour(op), "size": 9, "symbol": _SYMBOLS[place % len(_SYMBOLS)]},
        "error_y": error_bars(
            [(one.high - value) / scale for one, value in zip(lines, values, strict=True)],
            [(value - one.low) / scale for one, value in zip(lines, values, strict=True)],
            line_colour(op),
            1.2,
            4,
        ),
        "text": [_mark(one) for one in lines],
        "hovertemplate": "%{text}<extra></extra>",
    }


def _runs_table(measured: Sequence[StorageRun]) -> Table:
    columns = (
        text_column("when"),
        text_column("run"),
        text_column("state"),
        "points",
        "load lines",
        text_column("findings"),
    )
    return Table.of(
        columns,
        tuple(
            (
                units.NOT_MEASURED if one.when is None else _when(one.when),
                one.run,
                one.analysis.state,
                str(len(one.analysis.points)),
                f"{sum(line.reached for line in one.analysis.load_lines)} of {len(one.analysis.load_lines)}",
                ", ".join(dict.fromkeys(finding.code for finding in one.analysis.findings)) or "none",
            )
            for one in measured
        ),
    )


def _lines_table(lines: Sequence[_Line]) -> Table:
    columns = (
        text_column("when"), text_column("operation"), text_column("setting"), "transfer size", "load line",
        "plateau", "interval", text_column("run"),
    )  # fmt: skip
    return Table.of(
        columns,
        tuple(
            (
                units.NOT_MEASURED if one.of.when is None else _when(one.of.when),
                one.line.op,
                one.line.group,
                units.size(one.size),
                f"{one.line.tasks}{phrases.interval(one.line)}" if one.line.reached else "not reached",
                units.NOT_MEASURED if one.plateau is None else units.speed(one.plateau, one.metric),
                _between(one),
                one.of.run,
            )
            for one in lines
        ),
    )


def _between(one: _Line) -> str:
    if one.plateau is None:
        return units.NOT_MEASURED
    return units.interval(one.low, one.high, lambda value: units.speed(value, one.metric))


def _findings_table(measured: Sequence[StorageRun]) -> Table:
    rows = tuple(
        (units.NOT_MEASURED if one.when is None else _when(one.when), finding.code, finding.subject, finding.evidence)
        for one in measured
        for finding in one.analysis.findings
    )
    return Table.of((text_column("when"), text_column("finding"), text_column("of"), text_column("evidence")), rows)


def _number(count: int | None) -> str:
    return units.NOT_MEASURED if count is None else str(count)


def _jobs_table(placed: Sequence[Placed]) -> Table:
    columns = (text_column("when"), text_column("server"), "copies", "at once", text_column("submitted as"))
    return Table.of(
        columns,
        tuple(
            (one.when, one.server or units.NOT_MEASURED, *map(_number, (one.copies, one.tasks)), one.outcome)
            for one in placed
        ),
    )
