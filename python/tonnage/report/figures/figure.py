"""What a figure is made of, whatever it shows: plots, the table behind them, the words around them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from textwrap import wrap
from typing import Any, Literal, cast

from tonnage.report.figures.colours import CLEAR, GRID, INK, KNEE, KNEE_BAND, MUTED
from tonnage.report.figures.plotly import Axis, ColourBar, DrawnAxis, ErrorBars, Layout, Note, Shape, Trace, Values


@dataclass(frozen=True, slots=True)
class Column:
    """What one column holds."""

    name: str
    unit: str = ""
    """Of all its cells, where they do not say their own."""
    align: Literal["left", "right"] = "right"

    @property
    def heading(self) -> str:
        """``from (s)``."""
        return f"{self.name} ({self.unit})" if self.unit else self.name


@dataclass(frozen=True, slots=True)
class Table:
    """The numbers behind a figure, or of a section."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, named: Iterable[str | Column], rows: tuple[tuple[str, ...], ...]) -> Table:
        """With a column of numbers for each name; others are given as they are."""
        return cls(columns_of(*named), rows)

    def only(self, numbers: Iterable[int]) -> Table:
        """Returns the table with the columns of these numbers alone, in this order."""
        kept = tuple(numbers)
        return Table(tuple(self.columns[at] for at in kept), tuple(tuple(row[at] for at in kept) for row in self.rows))

    @property
    def headings(self) -> tuple[str, ...]:
        """What stands above each column."""
        return tuple(column.heading for column in self.columns)


def columns_of(*named: str | Column) -> tuple[Column, ...]:
    """A column of numbers for each name; others are given as they are."""
    return tuple(Column(one) if isinstance(one, str) else one for one in named)


def text_column(name: str) -> Column:
    """Returns a column of words."""
    return Column(name, align="left")


@dataclass(frozen=True, slots=True)
class Figure:
    """One plot with its table. ``alt`` says in words what the picture shows."""

    title: str
    caption: str
    alt: str
    traces: list[Trace]
    layout: Layout
    table: Table


@dataclass(frozen=True, slots=True)
class Variant:
    """One choice of a selector and the figures it shows."""

    label: str
    figures: tuple[Figure, ...]


@dataclass(frozen=True, slots=True)
class Exhibit:
    """A section of the page: figures, and a selector where there is more than one variant."""

    identifier: str
    title: str
    introduction: str
    choice: str
    """What the selector chooses, e.g. ``trial``."""
    variants: tuple[Variant, ...]
    default: int = 0


EDGE = 92
"""Right margin that holds the names of horizontal lines."""


def escaped(text: object) -> str:
    """Text inside a plot. The kit reads a little HTML in labels (links too); nothing of a user's may look like it."""
    return escape(str(text), quote=False)


_LEGEND = 36
"""Letters of a name for which a legend has room on a small screen."""


def legend_text(text: str) -> str:
    """The name of a curve in a legend; a long one goes on below."""
    return "<br>".join(map(escaped, wrap(text, _LEGEND)))


def layout(x: Axis, y: Axis, *, height: int = 360, margin_right: int = 24, **more: Any) -> Layout:
    """The common look: no box, quiet grid, legend above the plot where nothing is drawn."""
    found: Layout = {
        "height": height,
        "margin": {"l": 64, "r": margin_right, "t": 36, "b": 56},
        "paper_bgcolor": CLEAR,
        "plot_bgcolor": CLEAR,
        "font": {"family": "system-ui, sans-serif", "size": 13, "color": INK},
        "hovermode": "closest",
        # Without a background of its own the kit makes up a dark one, over the legend.
        "modebar": {"bgcolor": CLEAR, "color": MUTED, "activecolor": INK},
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "font": {"size": 12}},
        "xaxis": _axis(x),
        "yaxis": _axis(y),
    }
    # What a caller adds, such as shapes, stands behind the common look.
    return cast("Layout", {**found, **more})


def _axis(own: Axis) -> DrawnAxis:
    look: DrawnAxis = {
        "title": {"text": own["title"], "standoff": 10, "font": {"size": 13}},
        "gridcolor": GRID,
        "linecolor": MUTED,
        "showline": True,
        "ticks": "outside",
        "tickcolor": MUTED,
        "ticklen": 4,
        "zeroline": False,
        "automargin": True,
    }
    return cast("DrawnAxis", {**look, **{key: value for key, value in own.items() if key != "title"}})


def level(y: float, colour: str, dash: str) -> Shape:
    """Returns a horizontal line across the plot, from far left of it to far right, on a linear or a logarithmic
    axis."""
    return {
        "type": "line",
        # The kit draws a line that is tied to the paper below the grid, which hides it.
        "x0": 1e-6,
        "x1": 1e6,
        "y0": y,
        "y1": y,
        "line": {"color": colour, "width": 1.2, "dash": dash},
        "layer": "between",
    }


def upright(x: float, colour: str) -> Shape:
    """Returns a vertical line across the plot, on a linear or a logarithmic axis with a range."""
    return {
        "type": "line",
        "x0": x,
        "x1": x,
        # As of a level: tied to the paper it would lie below the grid.
        "y0": 1e-6,
        "y1": 1e18,
        "line": {"color": colour, "width": 1.5},
        "layer": "between",
    }


def edge_note(y: float, name: str, value: str, colour: str) -> Note:
    """Name and value of a horizontal line, in the margin at its right end, where no point can lie behind them."""
    return {
        "xref": "paper",
        "x": 1,
        "xanchor": "left",
        "xshift": 4,
        "y": y,
        "yanchor": "middle",
        "align": "left",
        "showarrow": False,
        "text": f"{escaped(name)}<br>{value}",
        "font": {"color": colour, "size": 12},
    }


def upright_band(x0: Any, x1: Any, colour: str, edge: str | None = None) -> Shape:
    """Draws a band from the foot of the plot to its top, behind everything; ``edge``: the colour of a thin line around
    it."""
    return {
        "type": "rect",
        "yref": "paper",
        "x0": x0,
        "x1": x1,
        "y0": 0,
        "y1": 1,
        "fillcolor": colour,
        "line": {"color": edge, "width": 1} if edge else {"width": 0},
        "layer": "below",
    }


def interval_band(x: Values, low: Sequence[float], high: Sequence[float], colour: str) -> list[Trace]:
    """Between the ends of the intervals of a curve."""
    edge: Trace = {"x": x, "mode": "lines", "line": {"width": 0}, "hoverinfo": "skip", "showlegend": False}
    return [{**edge, "y": low}, {**edge, "y": high, "fill": "tonexty", "fillcolor": colour}]


def answer_marks(
    name: str, objective: float, numbers: Sequence[int], interval: tuple[int, int] | None, height: tuple[float, float]
) -> list[Trace]:
    """The objective of a search over ``numbers``, named ``name``, and the interval of its answer, where there is one.

    ``height``: between which values of the objective's axis that is drawn.
    """
    marks: list[Trace] = [
        {
            "x": [min(numbers), max(numbers)],
            "y": [objective, objective],
            "mode": "lines",
            "name": name,
            "line": {"color": KNEE, "width": 1.5, "dash": "dash"},
            "hoverinfo": "skip",
        }
    ]
    if interval is not None:
        (low, high), (bottom, top) = interval, height
        marks.append(
            {
                "x": [low, high, high, low],
                "y": [bottom, bottom, top, top],
                "mode": "lines",
                "fill": "toself",
                "fillcolor": KNEE_BAND,
                "line": {"width": 0},
                "name": "answer's interval",
                "hoverinfo": "skip",
            }
        )
    return marks


def error_bars(
    above: Sequence[float],
    below: Sequence[float],
    colour: str,
    thickness: float | None = None,
    width: float | None = None,
) -> ErrorBars:
    """How far an interval reaches ``above`` each value and ``below`` it."""
    found: ErrorBars = {
        "type": "data",
        "symmetric": False,
        "array": above,
        "arrayminus": below,
        "color": colour,
    }
    if thickness is not None:
        found["thickness"] = thickness
    if width is not None:
        found["width"] = width
    return found


def colour_bar(title: str, ticks: Sequence[float] = (), texts: Sequence[str] = ()) -> ColourBar:
    """Returns the colour bar of a heat map, without a frame."""
    found: ColourBar = {
        "title": {"text": title, "side": "right", "font": {"size": 12}},
        "thickness": 12,
        "outlinewidth": 0,
    }
    if ticks:
        found |= {"tickvals": ticks, "ticktext": texts}
    return {**found, "tickfont": {"color": MUTED}}


def timeline(name: str, rows: Values, since: Sequence[float], lasted: Sequence[float], texts: Sequence[str]) -> Trace:
    """Draws, in each row, a bar from when something began for as long as it lasted."""
    return {
        "type": "bar",
        "orientation": "h",
        "y": rows,
        "base": since,
        "x": lasted,
        "text": texts,
        "textposition": "none",
        "name": name,
    }
