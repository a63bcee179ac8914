"""Consoles of rich whose text is text, whatever a name in it holds."""

from __future__ import annotations

from typing import TextIO

from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderableType, RenderHook, RenderResult
from rich.segment import Segment

from tonnage.cli.stream import printable, terminal


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


def rich_console(stream: TextIO, *, has_colours: bool = True) -> Console:
    """A console on ``stream``: brackets are no markup, and what a terminal would obey is escaped."""
    console = Console(
        file=terminal(stream),
        highlight=False,
        markup=False,
        emoji=False,
        color_system="auto" if has_colours else None,
    )
    console.push_render_hook(_Showing())
    return console
