"""What a user sees of a mover: a panel on a terminal, plain lines elsewhere. On stderr: stdout is data."""

from __future__ import annotations

import sys
import time
from typing import Protocol, TextIO

from tonnage.cli.stage.words import details, progress_line
from tonnage.cli.stream import is_plain
from tonnage.staging.status import Status

_EVERY_S = 10.0
"""Between two plain lines of progress."""
_STUCK_S = 5.0
"""What waits longer is told."""


class View(Protocol):
    """Shows statuses until ``close``, which may be called twice."""

    def show(self, status: Status) -> None: ...

    def close(self) -> None: ...


def view(stream: TextIO | None = None, *, dated: bool = False) -> View:
    """The panel where ``stream`` (stderr) is a terminal that takes colours and cursor movements, else plain lines."""
    stream = stream or sys.stderr
    if dated or is_plain(stream):
        return PlainView(stream, dated=dated)
    from tonnage.cli.stage.panel import PanelView

    return PanelView(stream)


class PlainView:
    """A line now and then, and one for each new thing that a user must know. ``dated`` for a log."""

    def __init__(self, stream: TextIO, *, dated: bool = False) -> None:
        self._stream, self._dated = stream, dated
        self._seen: dict[str, float] = {}
        self._said: set[str] = set()
        self._last = ("", time.monotonic())

    def show(self, status: Status) -> None:
        now_s = time.monotonic()
        for line in details(status):
            # What waits usually goes on a moment later.
            since_s = self._seen.setdefault(line, now_s)
            patience_s = _STUCK_S if line.startswith("waits: ") else 0
            if line not in self._said and now_s - since_s >= patience_s:
                self._said.add(line)
                self._say(line)
        line, (last, said_s) = progress_line(status), self._last
        # An idle mover has nothing to tell.
        if line != last and time.monotonic() - said_s > _EVERY_S:
            self._last = (line, time.monotonic())
            self._say(line)

    def close(self) -> None:
        pass

    def _say(self, line: str) -> None:
        date = time.strftime("%Y-%m-%dT%H:%M:%SZ ", time.gmtime()) if self._dated else ""
        try:
            print(f"{date}{line}", file=self._stream, flush=True)
        except OSError:
            # Nobody listens any more, or the log's file system is full; the files are worth more than their story.
            return
