"""What a user sees of a mover: a panel on a terminal, plain lines elsewhere, on stderr, for stdout is data; and how one
that runs in this process is watched to its end."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Protocol, TextIO

from tonnage.cli.entry import complain
from tonnage.cli.output_stream import is_plain
from tonnage.cli.stage.status_text import details, failures, more_failures, progress_line, summary

if TYPE_CHECKING:
    from tonnage.staging.mover_host import Host
    from tonnage.staging.mover_plan import StagePlan
    from tonnage.staging.mover_status import Status
    from tonnage.staging.run_mover import Ended, Tell

_EVERY_S = 10.0
"""Between two plain lines of progress."""
_STUCK_S = 5.0
"""Longer waits are reported."""


class View(Protocol):
    """Shows statuses until ``close``, which may be called twice."""

    said: set[str]
    """Lines that stay on the screen."""

    def show(self, status: Status) -> None: ...

    def close(self) -> None: ...


def view(stream: TextIO | None = None, *, dated: bool = False) -> View:
    """The panel where ``stream`` (stderr) is a terminal that takes colours and cursor movements, else plain lines."""
    stream = stream or sys.stderr
    if dated or is_plain(stream):
        return PlainView(stream, dated=dated)
    from tonnage.cli.stage.mover_panel import PanelView

    return PanelView(stream)


class PlainView:
    """A line now and then, and one for each new thing that a user must know. ``dated`` for a log."""

    def __init__(self, stream: TextIO, *, dated: bool = False) -> None:
        self._stream, self._dated = stream, dated
        self._seen: dict[str, float] = {}
        self.said: set[str] = set()
        self._last = ("", time.monotonic())

    def show(self, status: Status) -> None:
        now_s = time.monotonic()
        for line in details(status):
            # What waits usually goes on a moment later.
            since_s = self._seen.setdefault(line, now_s)
            patience_s = _STUCK_S if line.startswith("waits: ") else 0
            if line not in self.said and now_s - since_s >= patience_s:
                self.said.add(line)
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


def carry_out(shown: View, work: Callable[[Tell], Ended], plan: StagePlan) -> int:
    """Runs ``work`` with that view, then says how it went; the exit code."""
    try:
        ended = work(shown.show)
        # What is known at the end alone.
        shown.show(ended.status)
    finally:
        shown.close()
    return conclude(ended, plan, shown.said)


def conclude(ended: Ended, plan: StagePlan, said: Collection[str]) -> int:
    """Prints the last lines on stderr, failures that were ``said`` aside, and returns the exit code."""
    status = ended.status
    print(f"tonnage: {summary(status, ended.elapsed_ns, ended.moving_ns)}", file=sys.stderr)
    for line in [*failures(status), *more_failures(status, said)]:
        if line not in said:
            print(f"tonnage: {line}", file=sys.stderr)
    if ended.is_interrupted:
        return complain(f"interrupted; the journal stays; hint: go on with `{resume_line(plan)}`", ended.exit_code)
    if status["queued"]["files"] or status["failed"]["files"]:
        what = "files are not safe" if status["failed"]["files"] else "the time was over before all files were safe"
        return complain(f"{what}; hint: go on with `{resume_line(plan)}`", ended.exit_code or 1)
    return ended.exit_code


def resume_line(plan: StagePlan) -> str:
    """Returns the command that a user types to continue."""
    from tonnage.staging.mover_plan import STATE_DIRECTORY

    local = "from" if plan.direction == "out" else "to"
    tree = plan.source if local == "from" else plan.to
    where = [f"--{local}", str(tree)] if plan.state == tree / STATE_DIRECTORY else ["--state", str(plan.state)]
    return shlex.join(["tonnage", "stage", "resume", "--wait", *where])


def first_line(host: Host) -> str:
    """Names the mover and its trees, and the address of its metrics where there is one."""
    plan = host.plan
    more = f", metrics on http://127.0.0.1:{host.metrics_port}/metrics" if host.metrics_port is not None else ""
    return f"mover {plan.name}: from {plan.source} to {plan.to}{more}"


def announce(host: Host) -> None:
    """Prints it."""
    print(first_line(host), flush=True)
