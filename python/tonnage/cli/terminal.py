"""Consoles of rich whose text is text, whatever a name in it holds."""

from __future__ import annotations

import os
from typing import TextIO

from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderableType, RenderHook, RenderResult
from rich.segment import Segment

from tonnage.cli.output_stream import is_plain, is_terminal, printable, terminal


class Shown:
    """A renderable whose text is :func:`printable`; rich's own colours and movements of the cursor stay."""

    def __init__(self, inner: RenderableType) -> None:
        self._inner = inner

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for text, style, control in console.render(self._inner, options):
            yield Segment(text if control else printable(text), style, control)


class _Showing(RenderHook):
    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        return [Shown(one) for one in renderables]


LOG_WIDTH = 80
"""Columns of what is behind a pipe, or in a file: nobody knows on what it will be read."""


def rich_console(stream: TextIO) -> Console:
    """A console on ``stream``, as that takes it: brackets are no markup, and what a terminal would obey is escaped.
    What is no terminal gets neither colours nor movements of the cursor, whatever the environment says."""
    shown = is_terminal(stream)
    console = Console(
        # Without a terminal there is no cursor to move, and the stream reports what cannot be written.
        file=terminal(stream) if shown else stream,
        highlight=False,
        markup=False,
        emoji=False,
        force_terminal=shown,
        color_system=None if is_plain(stream) else "auto",
        width=None if shown or "COLUMNS" in os.environ else LOG_WIDTH,
    )
    console.push_render_hook(_Showing())
    return console
