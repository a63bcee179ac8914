"""The load line over transfer sizes: one map and one sentence an operation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

from tonnage import units
from tonnage.analysis.results import Surface, SurfaceSize
from tonnage.analysis.run_analysis import Analysis
from tonnage.report.answer import Statement
from tonnage.report.figures.colours import INK, KNEE, KNEE_BAND
from tonnage.report.figures.figure import Column, Exhibit, Figure, Table, Variant, colour_bar, layout, text_column
from tonnage.report.figures.plotly import Trace
from tonnage.report.page_data import Source
from tonnage.report.sections.section_type import Section, Titled

_COLOURS = [[0.0, "@#f7fafc|#101a24"], [0.95, "@#b4d0e7|#1f4a6e"], [1.0, "@#86b3d8|#2f6da3"]]
"""Pale, for lines stand on them."""
_SPOKEN = 4
"""Sizes that the sentence names."""


def exhibits(analysis: Analysis, _: Source | None = None) -> list[Exhibit]:
    """Makes one section, with a choice of the operation."""
    if not analysis.surfaces:
        return []
    return [
        Exhibit(
            identifier="surface",
            title="Load line by transfer size",
            introduction="Above the line more tasks add no throughput. It is estimated from trials of all sizes.",
            choice="Operation",
            variants=tuple(Variant(one.op, (_map(one, analysis),)) for one in analysis.surfaces),
        )
    ]


def _map(surface: Surface, analysis: Analysis) -> Figure:
    sizes = [units.size(one.transfer_size) for one in surface.sizes]
    ends = [one.tasks_high or surface.max_tasks for one in surface.sizes]
    share = units.share(surface.confidence)
    return Figure(
        title=f"Throughput of {surface.op} as a share of the plateau of each size",
        caption=f"Line and band: the load line and its {share} interval at each size; a square is a measured cell. "
        "Colours: the estimate, as a share of the plateau at that size.",
        alt=f"Map of {surface.op} by transfer size and tasks. {_statement(surface).text}",
        traces=[
            _shares(surface, sizes),
            _end(sizes, [one.tasks_low for one in surface.sizes], showlegend=False),
            _end(sizes, ends, fill="tonexty", fillcolor=KNEE_BAND, name=f"{share} interval"),
            _line(surface, sizes),
            _measured_trace(surface, analysis),
        ],
        layout=layout(
            {"title": "Transfer size", "type": "category", "showgrid": False},
            {"title": "Tasks", "type": "log", "showgrid": False, "tickvals": _doublings(surface.max_tasks)},
            height=440,
        ),
        table=_table(surface),
    )


def _end(sizes: list[str], tasks: list[int], **more: Any) -> Trace:
    """An end of the intervals."""
    dotted: Trace = {"mode": "lines", "line": {"color": KNEE, "width": 1.5, "dash": "dot"}, "hoverinfo": "skip"}
    return cast("Trace", {"x": sizes, "y": tasks, **dotted, **more})


def _line(surface: Surface, sizes: list[str]) -> Trace:
    """Interrupted where it is not claimed."""
    return {
        "x": sizes,
        "y": [one.tasks if one.reached else None for one in surface.sizes],
        "mode": "lines+markers",
        "name": "load line",
        "line": {"color": KNEE, "width": 2.5},
        "text": [_tasks(one) for one in surface.sizes],
        "hovertemplate": "%{x}: %{text} tasks<extra></extra>",
    }


def _shares(surface: Surface, sizes: list[str]) -> Trace:
    rows = surface.rates_bytes_per_s
    best = [max(row[k] for row in rows) for k in range(len(sizes))]
    return {
        "type": "heatmap",
        "x": sizes,
        "y": list(surface.tasks),
        "z": [
            [round(100 * rate / top, 1) for rate, top in zip(row, best, strict=True)]
            for row in surface.rates_bytes_per_s
        ],
        "text": [[units.rate(rate) for rate in row] for row in surface.rates_bytes_per_s],
        "hovertemplate": "%{x}, %{y} tasks<br>about %{text}, %{z} % of the plateau<extra></extra>",
        "colorscale": _COLOURS,
        "zmin": 0,
        "zmax": 100,
        "colorbar": colour_bar("% of the plateau"),
    }


def _measured_trace(surface: Surface, analysis: Analysis) -> Trace:
    own = [point for point in analysis.points if point.op == surface.op and point.transfer_size]
    return {
        "x": [units.size(point.transfer_size) for point in own],
        "y": [point.tasks for point in own],
        "mode": "markers",
        "name": "measured",
        "marker": {"color": INK, "size": 6, "symbol": "square-open", "opacity": 0.8},
        "text": [
            f"{units.speed(point.median, point.metric)}, {units.plural(point.repetitions, 'trial')}" for point in own
        ],
        "hovertemplate": "%{x}, %{y} tasks<br>%{text}<extra></extra>",
    }


def _doublings(most: int) -> list[int]:
    return [1 << step for step in range(most.bit_length()) if 1 << step <= most]


def tables(analysis: Analysis) -> list[Titled]:
    """Makes one table for each operation, with a row for each size."""
    return [(f"{one.op}, up to {one.max_tasks} tasks", _table(one)) for one in analysis.surfaces]


def side_by_side(analysis: Analysis) -> Table:
    """Makes one table of all operations, with a row for each size: for one screen."""
    columns: list[str | Column] = ["transfer size"]
    rows: dict[int, list[str]] = {}
    for surface in analysis.surfaces:
        columns += [surface.op, "interval", "plateau"]
        for one in surface.sizes:
            tasks = str(one.tasks) if one.reached else units.NOT_MEASURED
            ends = f"[{one.tasks_low}, {one.tasks_high}]" if one.tasks_high else f"≥ {one.tasks_low}"
            rows.setdefault(one.transfer_size, []).extend((tasks, ends, units.rate(one.plateau_bytes_per_s)))
    return Table.of(tuple(columns), tuple((units.size(size), *cells) for size, cells in rows.items()))


def _table(surface: Surface) -> Table:
    columns = ("transfer size", "load line", "interval", "plateau", "plateau's interval", "trials")
    rows = tuple(
        (
            units.size(one.transfer_size),
            str(one.tasks) if one.reached else units.NOT_KNOWN,
            _interval(one),
            units.rate(one.plateau_bytes_per_s),
            units.interval(one.plateau_low, one.plateau_high, units.rate, " – "),
            str(one.trials),
        )
        for one in surface.sizes
    )
    return Table.of(tuple(text_column(name) if name == "plateau's interval" else name for name in columns), rows)


def _interval(one: SurfaceSize) -> str:
    return f"[{one.tasks_low}, {one.tasks_high}]" if one.tasks_high else f"≥ {one.tasks_low}"


def _tasks(one: SurfaceSize) -> str:
    return f"{one.tasks} {_interval(one)}" if one.reached else _interval(one)


def sentences(analysis: Analysis) -> list[Statement]:
    """Writes one sentence for each operation."""
    few = "no load line is shown: too few transfer sizes and numbers of tasks were measured"
    return [
        *(_statement(one) for one in analysis.surfaces),
        *(Statement(op, few, sure=False) for op in analysis.without_surface),
    ]


def _statement(surface: Surface) -> Statement:
    shown = [one for one in surface.sizes if one.reached]
    why = tuple(_missing(surface))
    if not shown:
        return Statement(surface.op, "the load line is not shown at any transfer size", why, sure=False)
    first, *rest = [f"{_tasks(one)} at {units.size(one.transfer_size)}" for one in _spread(shown)]
    said = ", ".join((first.replace(" [", " tasks [", 1), *rest))
    return Statement(surface.op, f"{said} reach 95 % of the plateau; more {_beyond(shown)}", why)


def _beyond(shown: Sequence[SurfaceSize]) -> str:
    """What tasks beyond the line do."""
    fewer = [one for one in shown if one.declines]
    if len(fewer) == len(shown):
        return "lose throughput"
    return f"only wait, and lose throughput at {_sizes(fewer)}" if fewer else "only wait"


def _spread(shown: Sequence[SurfaceSize]) -> list[SurfaceSize]:
    """The first, the last and some between."""
    if len(shown) <= _SPOKEN:
        return list(shown)
    return [shown[round(k * (len(shown) - 1) / (_SPOKEN - 1))] for k in range(_SPOKEN)]


def _missing(surface: Surface) -> Iterator[str]:
    rising = [one for one in surface.sizes if one.tasks_high is None and 2 * one.tasks_low > surface.max_tasks]
    wide = [one for one in surface.sizes if not one.reached and one not in rising]
    if rising:
        yield f"not reached within {surface.max_tasks} tasks at {_sizes(rising)}"
    if wide:
        yield f"not known yet at {_sizes(wide)}: a longer --budget may show it"


def _sizes(several: Sequence[SurfaceSize]) -> str:
    return ", ".join(units.size(one.transfer_size) for one in several)


SECTION = Section("surface", exhibits, tables=tables, sentences=sentences, live=exhibits)
