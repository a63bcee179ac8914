"""Colours, written ``@<light>|<dark>``; the page's script picks one by the theme.

The hues are Okabe and Ito's (2008), distinguishable with every common form of colour blindness; ordered things take
steps of cividis (Nuñez et al. 2018).
"""

from __future__ import annotations

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


def line_colour(op: str) -> str:
    """Returns the colour of everything about an operation."""
    return LINES.get(op, LINES["write"])


def band_colour(op: str) -> str:
    """Returns the same colour, transparent."""
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
