"""What a figure is made of, whatever it shows: plots, the table behind them, the words around them.

Colours are written ``@<light>|<dark>``; the page's script picks one by the theme. The hues are Okabe and Ito's (2008),
told apart with every common form of colour blindness; ordered things take steps of cividis (Nuñez et al. 2018).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10
from typing import Any

from tonnage import units
from tonnage.units import BANDWIDTH

INK = "@#1f2328|#e6e8eb"
MUTED = "@#5b636d|#9aa4b0"
GRID = "@#e3e6ea|#2b3138"
CLEAR = "rgba(0,0,0,0)"
VEIL = "@rgba(255,255,255,0.7)|rgba(20,23,27,0.7)"
"""Behind a name that a curve may run through."""
ALERT = "@#b5179e|#f29bd4"
ALERT_BAND = "@rgba(204,121,167,0.28)|rgba(204,121,167,0.30)"
KNEE = "@#00734f|#2fc79a"
KNEE_BAND = "@rgba(0,158,115,0.13)|rgba(0,158,115,0.20)"
LINES = {"write": "@#0072b2|#56b4e9", "read": "@#c14e00|#e69f00", "mixed": "@#5b5ea6|#a5a8f0"}
BANDS = {
    "write": "@rgba(0,114,178,0.16)|rgba(86,180,233,0.20)",
    "read": "@rgba(213,94,0,0.16)|rgba(230,159,0,0.20)",
    "mixed": "@rgba(91,94,166,0.16)|rgba(165,168,240,0.20)",
}
# Ends cut off: the darkest step would vanish on a dark page, the lightest on a light one.
_CIVIDIS_LIGHT = ("#00224e", "#2a3f6d", "#575c6d", "#7d7b78", "#a59c74", "#c4a83a")
_CIVIDIS_DARK = ("#7ba7e6", "#93a6c4", "#a9a9b3", "#bdb38b", "#d7c35f", "#fee838")


_RATIOS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 1, 1.1, 1.25, 1.5, 2, 3, 5, 10, 20, 50, 100)
_TICK_STEPS = ((1,), (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 6, 8))


@dataclass(frozen=True, slots=True)
class Table:
    """The numbers behind a figure, already formatted; columns hold name and unit."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Figure:
    """One plot with its table. ``alt`` says in words what the picture shows."""

    title: str
    caption: str
    alt: str
    traces: list[dict[str, Any]]
    layout: dict[str, Any]
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


def line_colour(op: str) -> str:
    """The colour of everything about an operation."""
    return LINES.get(op, LINES["write"])


def band_colour(op: str) -> str:
    """The same, see-through."""
    return BANDS.get(op, BANDS["write"])


def step_colour(position: int, of: int) -> str:
    """A step of an ordered scale: ``position`` 0 is the first of ``of``."""
    fraction = position / (of - 1) if of > 1 else 0.0
    return f"@{_between(_CIVIDIS_LIGHT, fraction)}|{_between(_CIVIDIS_DARK, fraction)}"


def _between(stops: tuple[str, ...], fraction: float) -> str:
    place = fraction * (len(stops) - 1)
    left = min(int(place), len(stops) - 2)
    pairs = zip(_channels(stops[left]), _channels(stops[left + 1]), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * (place - left)):02x}" for a, b in pairs)


def _channels(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def words(text: object) -> str:
    """Text inside a plot. The kit reads a little HTML in labels (links too); nothing of a user's may look like it."""
    return escape(str(text), quote=False)


def layout(
    x: dict[str, Any], y: dict[str, Any], *, height: int = 360, margin_right: int = 24, **more: Any
) -> dict[str, Any]:
    """The common look: no box, quiet grid, legend above the plot where nothing is drawn."""
    return {
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
        **more,
    }


def _axis(own: dict[str, Any]) -> dict[str, Any]:
    title = own.pop("title")
    return {
        "title": {"text": title, "standoff": 10, "font": {"size": 13}},
        "gridcolor": GRID,
        "linecolor": MUTED,
        "showline": True,
        "ticks": "outside",
        "tickcolor": MUTED,
        "ticklen": 4,
        "zeroline": False,
        "automargin": True,
        **own,
    }


def latency_axis(lowest_ns: float, highest_ns: float, title: str = "Latency") -> dict[str, Any]:
    """A logarithmic axis in nanoseconds whose ticks say ns, µs, ms or s."""
    low, high = log10(max(1.0, lowest_ns)), log10(max(2.0, highest_ns))
    pad = max(0.08, 0.06 * (high - low))
    return _log_axis(title, max(0.0, low - pad), high + pad, units.duration)


def rate_axis(lowest: float, highest: float, metric: str = BANDWIDTH) -> dict[str, Any]:
    """A logarithmic axis in the metric, between two positive rates, whose ticks say kB/s, MB/s or GB/s, or k/s."""
    title = "Throughput" if metric == BANDWIDTH else "Operations"
    return _log_axis(title, log10(lowest), log10(highest), lambda rate: units.speed(rate, metric))


def nodes_axis(most: float) -> dict[str, Any]:
    """Number of nodes on a logarithmic axis, from one to ``most``."""
    return _log_axis("Nodes", -0.02, log10(max(2.0, most)), units.count)


def ratio_axis(title: str, lowest: float, highest: float) -> dict[str, Any]:
    """A logarithmic axis of ratios that has 1 on it, and room at both ends; the kit's own digits where it is short."""
    low, high = log10(min(1.0, lowest)), log10(max(1.0, highest))
    pad = max(0.01, 0.05 * (high - low))
    ticks = [tick for tick in _RATIOS if low - pad <= log10(tick) <= high + pad]
    named = {"tickvals": ticks[:: 1 + len(ticks) // 9], "tickformat": ".3~g"} if len(ticks) > 2 else {}
    return {"title": title, "type": "log", "range": [low - pad, high + pad], **named}


def _log_axis(title: str, low: float, high: float, text: Callable[[float], str]) -> dict[str, Any]:
    """``low`` and ``high`` are powers of ten."""
    ticks = log_ticks(low, high)
    return {"title": title, "type": "log", "range": [low, high], "tickvals": ticks, "ticktext": tick_texts(ticks, text)}


def log_ticks(low: float, high: float) -> list[float]:
    """At most seven round values between two powers of ten; as few as still tell the scale, the coarser steps first."""
    ticks: list[float] = []
    for steps in _TICK_STEPS:
        if len(ticks) < 3:
            powers = [10**decade for decade in range(floor(low), ceil(high) + 1)]
            ticks = [step * power for power in powers for step in steps if low <= log10(step * power) <= high]
    return ticks[::2] if len(ticks) > 7 else ticks


def tick_texts(ticks: Sequence[float], text: Callable[[float], str]) -> list[str]:
    """Round values without the decimals that say nothing: ``1 GB/s``."""
    return [text(tick).replace(".00", "").replace(".0", "") for tick in ticks]


def tasks_axis(tried: list[int]) -> dict[str, Any]:
    """Number of tasks on a logarithmic axis that names what was tried, as far as the names fit."""
    unique = sorted(set(tried)) or [1]
    return {
        "title": "Tasks",
        "type": "log",
        "range": [log10(unique[0]) - 0.09, log10(unique[-1]) + 0.09],
        "tickvals": _spaced(unique, 0.035 * max(1.0, log10(unique[-1] / unique[0]) / 0.9)),
        "tickformat": "d",
    }


def sizes_axis(tried: list[int]) -> dict[str, Any]:
    """Transfer size on a logarithmic axis that names what was tried, as far as the names fit."""
    unique = sorted(set(tried))
    named = _spaced(unique, 0.055 * max(1.0, log10(unique[-1] / unique[0])))
    return {
        "title": "Transfer size",
        "type": "log",
        "range": [log10(unique[0]) - 0.15, log10(unique[-1]) + 0.15],
        "tickvals": named,
        "ticktext": [units.size(size) for size in named],
    }


def _spaced(ascending: list[int], gap: float) -> list[int]:
    """Those that lie ``gap`` decades apart; powers of two are kept before others, for they are what was doubled."""
    kept: list[int] = []
    for value in sorted(ascending, key=lambda tasks: (tasks & (tasks - 1) != 0, tasks)):
        if all(abs(log10(value / other)) >= gap for other in kept):
            kept.append(value)
    return sorted(kept)


def rate_scale_title(largest: float, what: str = "Throughput", unit: str = "B/s") -> tuple[float, str]:
    """Divisor for values up to ``largest``, and a title that spells it: ``Throughput (GB/s; 1 GB = 10⁹ bytes)``."""
    scale, unit = units.scale(largest, unit)
    power = {"k": "10³", "M": "10⁶", "G": "10⁹", "T": "10¹²", "P": "10¹⁵"}.get(unit[0])
    spelled = f"; 1 {unit.removesuffix('/s')} = {power} bytes" if power else ""
    return scale, f"{what} ({unit}{spelled})"


def speed_scale_title(largest: float, metric: str, what: str = "Operations") -> tuple[float, str]:
    """The same for a rate in ``metric``: throughput, or how many of ``what`` in a second."""
    if metric == BANDWIDTH:
        return rate_scale_title(largest)
    scale, unit = units.scale(largest, "/s")
    many = {"k": "Thousand ", "M": "Million ", "G": "Billion "}.get(unit[0], "")
    return scale, f"{many}{what.lower() if many else what}/s"


def divided_scale_title(largest: float, metric: str, unit: str) -> tuple[float, str]:
    """The same for a rate that was divided: ``unit`` is ``B/s per disk`` or ``of the link``."""
    if unit.startswith("of "):
        return 0.01, f"Share {unit} (%)"
    scale, title = speed_scale_title(largest, metric)
    return scale, title + unit.removeprefix("B/s").removeprefix("1/s")


def level(y: float, colour: str, dash: str) -> dict[str, Any]:
    """A horizontal line across the plot, from far left of it to far right, on a linear or a logarithmic axis."""
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


def upright(x: float, colour: str) -> dict[str, Any]:
    """A vertical line across the plot, on a linear or a logarithmic axis with a range."""
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


def edge_note(y: float, name: str, value: str, colour: str) -> dict[str, Any]:
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
        "text": f"{words(name)}<br>{value}",
        "font": {"color": colour, "size": 12},
    }
