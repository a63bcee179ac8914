"""Runs over time: when each setting became faster or slower, and what else changed then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from tonnage import units
from tonnage.analysis.compare.history import Change, Dated, History, Series
from tonnage.analysis.compare.level_change import CORRELATION, FEWEST
from tonnage.analysis.compare.rate_ratio import FASTER, SLOWER, UNCHANGED, UNDECIDED
from tonnage.analysis.points import campaign_name
from tonnage.report import phrases
from tonnage.report.answer import Answer, Statement
from tonnage.report.answers.compare import value_text
from tonnage.report.figures.axes import OWN, divided_scale_title, have_one_axis, reached
from tonnage.report.figures.colours import KNEE, KNEE_BAND, LINES, MUTED, VEIL, band_colour, line_colour
from tonnage.report.figures.figure import (
    Exhibit,
    Figure,
    Table,
    Variant,
    error_bars,
    escaped,
    layout,
    text_column,
    upright_band,
)
from tonnage.report.figures.plotly import Axis, Note, Shape, Stroke, Trace
from tonnage.report.sections import divided_rates as divided

_COLOURS = {FASTER: KNEE, SLOWER: LINES["read"]}
_SLOWER_BAND = band_colour("read")
_ROOM = 1.12
"""Above the highest interval."""
_TOLD = 6
"""Settings that one sentence names."""
_NOTES = (
    "A point is the median of a run with the interval of its repetitions; a level is that of all runs at it.",
    (
        "How far runs lie apart where nothing changed, and how much alike neighbouring runs are, is learnt from the "
        f"series: of histories without any change at most one in twenty is given one, with a correlation of up to "
        f"{CORRELATION} between neighbouring runs. A change holds for two runs at least, or began with the newest one."
    ),
    "A ratio is the new level ÷ the old one; all intervals of the page hold together.",
    "The band beside a change is the interval of when it came. “No change shown” does not say that nothing changed.",
)


def answer(history: History) -> Answer:
    """Makes the answer: a sentence for each change, the series, other differences."""
    first, last = history.runs[0], history.runs[-1]
    parts = list(dict.fromkeys(run.per for run in history.runs if run.per))
    by = (("rates divided by", _some(parts)),) if parts else ()
    facts = (("runs", str(len(history.runs))), ("first", _when(first)), ("last", _when(last)), *by)
    tables = (("Setting by setting", settings(history)), ("What changed beside it", beside(history)))
    undone = phrases.undone(history.undone_by)
    why = (*_undated(history), *_failed(history), *unjudged(history), *_beyond(history))
    changes = [replace(one, sure=not undone) for one in _statements(history)]
    sure = not (undone or unjudged(history) or is_too_short(history))
    statements = (Statement("", sentence(history), why, sure, undone), *changes)
    return Answer("History", facts, statements, tuple(_exhibits(history)), tables, _NOTES)


def sentence(history: History) -> str:
    """``4 settings over 12 runs: 1 faster, 1 slower, 2 with no change shown.``; what keeps runs apart before it."""
    count = {verdict: sum(one.verdict == verdict for one in history.series) for verdict in (FASTER, SLOWER, UNCHANGED)}
    of = (
        f"{units.plural(len(history.series), 'setting')} over {units.plural(len(history.runs), 'run')}{_apart(history)}"
    )
    if is_too_short(history):
        return f"{of}: {UNDECIDED}; each is in fewer runs than any change takes to be shown, which is {FEWEST}."
    rest = f"{count[FASTER]} faster, {count[SLOWER]} slower at the newest change, {count[UNCHANGED]} with {UNCHANGED}"
    return f"{of}: {rest}{_short(history)}."


def is_too_short(history: History) -> bool:
    """Whether no setting has runs enough for a verdict."""
    return bool(history.series) and all(one.too_few for one in history.series)


def _apart(history: History) -> str:
    """What runs do not have alike, so that they are in series of their own."""
    values_by_key = {
        "storage": [one.storage for one in history.runs],
        "kind": [one.kind for one in history.series],
    }
    parts = [
        f"{key} ({_some(list(dict.fromkeys(values_by_key[key])))})" if key in values_by_key else campaign_name(key)
        for key in history.apart_by
    ]
    if not parts:
        return ""
    *most, last = parts
    return f", kept apart by {', '.join(most)}{' and ' if most else ''}{last}"


def _short(history: History) -> str:
    """What would show a change that is not shown."""
    few = sum(one.too_few for one in history.series)
    if few:
        return f"; {few} {UNDECIDED}: in too few runs for any change to be shown, which takes {FEWEST} at least"
    needed = [one.runs_to_show for one in history.series if one.runs_to_show is not None]
    if not needed:
        return ""
    low, high = min(needed), max(needed)
    many = f"{low}" if low == high else f"{low} to {high}, by setting,"
    return f"; about {many} runs would show what changed most in these, if it lasts"


def _undated(history: History) -> list[str]:
    if not history.undated:
        return []
    names = ", ".join(history.undated)
    return [f"No time is known of {names}: each stands behind the run that it was given after."]


def _failed(history: History) -> list[str]:
    return [f"Failed in the newest run that has it: {'; '.join(history.failed)}."] if history.failed else []


def unjudged(history: History) -> list[str]:
    """Notes that no verdict is of the newest run, where others have one."""
    if history.newest_judged or all(one.too_few for one in history.series):
        return []
    apart = f" (runs are kept apart by {', '.join(map(campaign_name, history.apart_by))})" if history.apart_by else ""
    name = history.runs[-1].run
    return [f"No verdict is of the newest run, {name}: each of its settings is in fewer than {FEWEST} runs{apart}."]


def _beyond(history: History) -> list[str]:
    over = [
        one.name
        for one in history.series
        if one.unit.startswith("of ") and any(level.median > 1 for level in one.levels)
    ]
    return divided.beyond("the link", over)


def _statements(history: History) -> list[Statement]:
    """A sentence for each time, with all settings that changed then."""
    times: dict[tuple[int, int], list[str]] = {}
    for one in history.series:
        for change in one.changes:
            alone = ", as the newest run alone tells" if change.alone else ""
            text = f"{one.name} {change.verdict}, {units.ratio(change.ratio)} ({_interval(change)}){alone}"
            times.setdefault((change.after, change.high), []).append(text)
    runs = history.runs
    return [
        Statement(
            f"after {_when(runs[after])}, by {_when(runs[high])}",
            f"{_some(texts)}.",
            (_causes(after, high, history),),
        )
        for (after, high), texts in sorted(times.items())
    ]


def _some(texts: list[str]) -> str:
    """The first of them; the table has all."""
    rest = len(texts) - _TOLD
    return "; ".join(texts[:_TOLD]) + (f"; and {rest} more" if rest > 0 else "")


def change_text(change: Change, history: History) -> str:
    """Returns text such as ``slower, 0.83 times (0.78 – 0.88) as fast, after 2026-11-01 10:00 UTC and by 2026-11-03
    10:00 UTC``."""
    much = f"{units.ratio(change.ratio)} times ({_interval(change)}) as fast"
    since = f"after {_when(history.runs[change.after])} and by {_when(history.runs[change.high])}"
    return f"{change.verdict}, {much}, {since}"


def _causes(after: int, high: int, history: History) -> str:
    """What else is different from the last run surely before to the first one surely after."""
    found = [
        f"{campaign_name(one.key)} from {value_text(one.base, one.key)} to {value_text(one.other, one.key)}"
        for run in history.runs[after + 1 : high + 1]
        for one in run.differences
    ]
    return f"Changed then: {'; '.join(found)}." if found else "Nothing that the manifests know changed then."


def settings(history: History) -> Table:
    """A row for each setting, and for each of its changes after the first."""
    rows = []
    for one in history.series:
        ends = (_rated(one.levels[0].median, one), _rated(one.levels[-1].median, one))
        for number, change in enumerate(one.changes or (None,)):
            head = (one.name, str(len(one.levels)), *ends) if not number else ("", "", "", "")
            rows.append((*head, *_change_cells(change, history, one)))
    columns = (
        text_column("what"),
        "runs",
        "first",
        "last",
        text_column("verdict"),
        "ratio",
        "interval",
        "changed after",
        "by",
        "to show",
    )
    return Table.of(columns, tuple(rows))


def _rated(value: float, series: Series) -> str:
    return units.rated(value, series.metric, series.unit)


def _change_cells(change: Change | None, history: History, series: Series) -> tuple[str, ...]:
    if change is None:
        to_show = series.runs_to_show
        return (series.verdict, *[units.NOT_MEASURED] * 4, "" if to_show is None else f"{to_show} runs")
    ends = (_when(history.runs[change.after]), _when(history.runs[change.high]))
    return (change.verdict, units.ratio(change.ratio), _interval(change), *ends, "")


def _interval(change: Change) -> str:
    return units.interval(change.ratio_low, change.ratio_high, units.ratio)


def beside(history: History) -> Table:
    """Returns the differences from the run before that lie within the interval of a change."""
    spans = [(change.after, change.high) for one in history.series for change in one.changes]
    rows = tuple(
        (_when(run), campaign_name(one.key), value_text(one.base, one.key), value_text(one.other, one.key))
        for number, run in enumerate(history.runs)
        if any(after < number <= high for after, high in spans)
        for one in run.differences
    )
    return Table.of((text_column("when"), text_column("what"), text_column("before"), text_column("after")), rows)


def _when(run: Dated) -> str:
    """``2026-11-01 10:00 UTC``, with seconds where it has any; the run's directory where no time is known."""
    if run.time is None:
        return run.run
    until = 16 if run.time[16:19] in ("", ":00") else 19
    return f"{run.time[:until].replace('T', ' ')} UTC"


def _exhibits(history: History) -> list[Exhibit]:
    variants = tuple(Variant(one.name, (_figure(one, history),)) for one in history.series)
    introduction = "Each run's median with its interval, and the levels between changes."
    default = next((number for number, one in enumerate(history.series) if one.changes), 0)
    return [Exhibit("history", "Over time", introduction, "Setting", variants, default)] if variants else []


def _figure(series: Series, history: History) -> Figure:
    dated = not history.undated
    x: list[Any] = [
        datetime.fromisoformat(run.time).strftime("%Y-%m-%d %H:%M:%S") if dated and run.time else number + 1
        for number, run in enumerate(history.runs)
    ]
    heights = [_height(one) for one in history.series if (one.metric, one.unit) == (series.metric, series.unit)]
    is_shared = have_one_axis(heights)
    highest = max(heights) if is_shared else _height(series)
    is_high = _height(series) > highest / 2
    scale, title = divided_scale_title(highest, series.metric, series.unit)
    story = " ".join(f"{change_text(change, history)}." for change in series.changes) or f"{series.verdict}."
    return Figure(
        title=series.name,
        caption=" ".join((f"{series.name}: {story}", *(() if is_shared else (OWN,)))),
        alt=f"Throughput of {series.name} in each run, in order of time. {story}",
        traces=[_levels(series, x, scale), *_runs(series, history, x, scale)],
        layout=layout(
            _dates(x) if dated else {"title": "Run", "tickformat": "d", "range": [0.5, len(x) + 0.5]},
            {"title": title, "range": [0, _ROOM * highest / scale]},
            height=420,
            shapes=[_band(change, x) for change in series.changes],
            annotations=[
                # Where the curve is not: on a common axis it may be low.
                _note(change, x, 0.04 + 0.07 * (number % 3) if is_high else 0.96 - 0.07 * (number % 3))
                for number, change in enumerate(series.changes)
            ],
            showlegend=True,
        ),
        table=_table(series, history),
    )


def _height(series: Series) -> float:
    """What the axis of a series alone must reach."""
    medians = [*(level.median for level in series.levels), *(one.level for one in series.stretches)]
    return reached(max(level.high for level in series.levels), max(medians))


def _dates(x: Sequence[str]) -> Axis:
    """From before the first run to after the last one, also where a series has not all of them."""
    first, last = (datetime.fromisoformat(end) for end in (x[0], x[-1]))
    pad = max((last - first) / 20, timedelta(minutes=1))
    return {"title": "Begun (UTC)", "type": "date", "range": [str(first - pad), str(last + pad)]}


def _runs(series: Series, history: History, x: Sequence[Any], scale: float) -> list[Trace]:
    return [
        {
            "x": [x[level.run] for level in series.levels],
            "y": [level.median / scale for level in series.levels],
            "mode": "markers",
            "name": "run",
            "marker": {"color": line_colour(series.op), "size": 8},
            "error_y": error_bars(
                [(level.high - level.median) / scale for level in series.levels],
                [(level.median - level.low) / scale for level in series.levels],
                MUTED,
                1.2,
            ),
            "text": [escaped(history.runs[level.run].run) for level in series.levels],
            "hovertemplate": "%{text}<br>%{x}<br>median %{y:.4g}<extra></extra>",
        }
    ]


def _levels(series: Series, x: Sequence[Any], scale: float) -> Trace:
    """Joined stretches, with a gap between two."""
    xs: list[Any] = []
    ys: list[float | None] = []
    for stretch in series.stretches:
        xs += [x[stretch.first], x[stretch.last], None]
        ys += [stretch.level / scale, stretch.level / scale, None]
    line: Stroke = {"color": line_colour(series.op), "width": 2.5}
    return {"x": xs, "y": ys, "mode": "lines", "line": line, "name": "level", "hoverinfo": "skip"}


def _band(change: Change, x: Sequence[Any]) -> Shape:
    colour = KNEE_BAND if change.verdict == FASTER else _SLOWER_BAND
    return upright_band(x[change.after], x[change.high], colour)


def _note(change: Change, x: Sequence[Any], height: float) -> Note:
    late = change.at > len(x) / 2
    return {
        "x": x[change.after] if late else x[change.high],
        "y": height,
        "yref": "paper",
        "xanchor": "right" if late else "left",
        "xshift": -4 if late else 4,
        "showarrow": False,
        "text": f"{change.verdict} {units.ratio(change.ratio)}",
        "font": {"color": _COLOURS[change.verdict], "size": 13},
        "bgcolor": VEIL,
    }


def _table(series: Series, history: History) -> Table:
    rows = []
    for level in series.levels:
        run = history.runs[level.run]
        bounds = units.interval(level.low, level.high, lambda value: _rated(value, series))
        median = _rated(level.median, series)
        rows.append(
            (run.run, _when(run), median, bounds if level.confidence else units.NOT_MEASURED, str(level.repetitions))
        )
    return Table.of((text_column("run"), text_column("when"), "median", "interval", "repetitions"), tuple(rows))
