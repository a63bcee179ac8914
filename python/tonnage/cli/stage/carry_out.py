"""What the actions that run a mover in this process share: the view while it runs, the last lines, the exit code."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable

from tonnage.cli.entry import complain
from tonnage.cli.stage.status_words import summary
from tonnage.cli.stage.view import View
from tonnage.staging.host import Host
from tonnage.staging.plan import STATE_DIRECTORY, StagePlan
from tonnage.staging.session import Ended, Tell


def carry_out(view: View, work: Callable[[Tell], Ended], plan: StagePlan) -> int:
    """Runs ``work`` with the view, then says how it went; the exit code."""
    try:
        ended = work(view.show)
        # What is known at the end alone.
        view.show(ended.status)
    finally:
        view.close()
    return conclude(ended, plan)


def conclude(ended: Ended, plan: StagePlan) -> int:
    """The last lines on stderr, the exit code."""
    status = ended.status
    print(f"tonnage: {summary(status, ended.elapsed_ns)}", file=sys.stderr)
    for failure in status["failures"]:
        print(f"tonnage: failed: {failure['path']}: {failure['reason']}", file=sys.stderr)
    if ended.is_interrupted:
        return complain(f"interrupted; the journal stays; hint: go on with `{resume_line(plan)}`", ended.exit_code)
    if status["queued"]["files"] or status["failed"]["files"]:
        what = "files are not safe" if status["failed"]["files"] else "the time was over before all files were safe"
        return complain(f"{what}; hint: go on with `{resume_line(plan)}`", ended.exit_code or 1)
    return ended.exit_code


def resume_line(plan: StagePlan) -> str:
    """What a user types to go on."""
    local = "from" if plan.direction == "out" else "to"
    tree = plan.source if local == "from" else plan.to
    where = [f"--{local}", str(tree)] if plan.state == tree / STATE_DIRECTORY else ["--state", str(plan.state)]
    return shlex.join(["tonnage", "stage", "resume", "--wait", *where])


def first_line(host: Host) -> str:
    """Who moves what; and where it can be asked, if that was chosen here."""
    plan = host.plan
    more = f", metrics on http://127.0.0.1:{host.metrics_port}/metrics" if host.metrics_port is not None else ""
    return f"mover {plan.name}: from {plan.source} to {plan.to}{more}"


def announce(host: Host) -> None:
    """Prints it."""
    print(first_line(host), flush=True)
