"""The parts of a figure as plotly.js reads them, as types: only the keys that are used here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypedDict

Values = Sequence[Any]
"""Numbers, texts or times; None is a gap."""


class Font(TypedDict, total=False):
    """How a text is set."""

    family: str
    size: int
    color: str


class Title(TypedDict, total=False):
    """Of a figure, an axis or a colour bar."""

    text: str
    side: str
    standoff: int
    font: Font


class Stroke(TypedDict, total=False):
    """A line."""

    color: str
    width: float
    dash: str
    shape: str


class Pattern(TypedDict):
    """Hatching of a bar, so that it does not depend on colour."""

    shape: str
    solidity: float


class Marker(TypedDict, total=False):
    """The style of a mark or a bar."""

    color: str | Sequence[str]
    size: float
    symbol: str | Sequence[str]
    opacity: float
    line: Stroke
    pattern: Pattern


class ErrorBars(TypedDict, total=False):
    """Lengths to either side of a value."""

    type: str
    symmetric: bool
    array: Sequence[float]
    arrayminus: Sequence[float]
    color: str
    thickness: float
    width: float


class ColourBar(TypedDict, total=False):
    """The scale beside a heat map."""

    title: Title
    thickness: int
    outlinewidth: int
    tickvals: Sequence[float]
    ticktext: Sequence[str]
    tickfont: Font


class Trace(TypedDict, total=False):
    """A curve, marks, bars or a heat map."""

    type: str
    orientation: str
    x: Values
    y: Values
    z: Sequence[Values]
    base: Values
    text: Values
    hovertext: Values
    customdata: Values
    mode: str
    name: str
    line: Stroke
    marker: Marker
    error_x: ErrorBars
    error_y: ErrorBars
    fill: str
    fillcolor: str
    textposition: str | Sequence[str]
    textfont: Font
    texttemplate: str
    cliponaxis: bool
    hoverinfo: str
    hovertemplate: str
    hoverongaps: bool
    legendgroup: str
    showlegend: bool
    colorscale: Sequence[Sequence[Any]]
    colorbar: ColourBar
    showscale: bool
    zmin: float
    zmax: float
    xgap: int
    ygap: int


class _Ticks(TypedDict, total=False):
    type: str
    range: Values
    rangemode: str
    autorange: str
    automargin: bool
    showgrid: bool
    zeroline: bool
    zerolinecolor: str
    tickvals: Values
    ticktext: Sequence[str]
    tickformat: str
    dtick: float
    nticks: int


class Axis(_Ticks, total=False):
    """The settings of an axis of a figure; ``layout`` adds its style."""

    title: str


class DrawnAxis(_Ticks, total=False):
    """An axis with its style."""

    title: Title
    gridcolor: str
    linecolor: str
    showline: bool
    ticks: str
    tickcolor: str
    ticklen: int


class Shape(TypedDict, total=False):
    """A line or a rectangle in the coordinates of the plot, or of its paper."""

    type: str
    xref: str
    yref: str
    x0: Any
    x1: Any
    y0: float
    y1: float
    fillcolor: str
    line: Stroke
    layer: str


class Note(TypedDict, total=False):
    """A text in the plot."""

    xref: str
    yref: str
    x: Any
    y: float | str
    xanchor: str
    yanchor: str
    xshift: int
    yshift: int
    align: str
    showarrow: bool
    text: str
    font: Font
    bgcolor: str


class Layout(TypedDict, total=False):
    """Everything of a figure but its traces."""

    title: Title
    height: int
    margin: dict[str, int]
    paper_bgcolor: str
    plot_bgcolor: str
    font: Font
    hovermode: str
    modebar: dict[str, str]
    legend: dict[str, Any]
    xaxis: DrawnAxis
    yaxis: DrawnAxis
    shapes: Sequence[Shape]
    annotations: Sequence[Note]
    showlegend: bool
    barmode: str
    bargap: float
