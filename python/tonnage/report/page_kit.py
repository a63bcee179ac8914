"""What pages are made with: templates, and the library of charts. Of the reports and of the live page."""

from __future__ import annotations

import pkgutil
from functools import cache
from pathlib import Path
from typing import Any


@cache
def templates(directory: Path) -> Any:
    """Returns the environment of Jinja for the templates of a directory."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

    return Environment(
        loader=FileSystemLoader(directory),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def plotly_script() -> bytes | None:
    """Returns the library of charts as plotly ships it; None where plotly is not installed."""
    try:
        return pkgutil.get_data("plotly", "package_data/plotly.min.js")
    except ImportError:
        return None
