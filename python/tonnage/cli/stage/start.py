"""``tonnage stage start``: a mover in the background, or attached."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tonnage.cli.command import Arguments
from tonnage.cli.entry import complain
from tonnage.cli.stage.shared_options import FILES, OUT, PACE, TREES, TREES_CHANGED, WATCHED
from tonnage.command_line import Command
from tonnage.command_option import Option

if TYPE_CHECKING:
    from tonnage.staging.mover_plan import StagePlan

COMMAND = Command(
    "start",
    "start a mover in the background",
    "Starts a mover that stages new files until `stage stop`. Returns once the mover answers; the first line "
    "that it prints has its name and trees. Later output is in mover.log in its state directory.",
    (
        *TREES,
        TREES_CHANGED,
        Option(("--foreground",), "run in the foreground, with a progress panel"),
        *FILES,
        *OUT,
        *PACE,
        *WATCHED,
    ),
    (
        ("tonnage stage start --from /local/me --to /gpfs/me/run7", "in a job script, before the application"),
        (
            "tonnage stage start --from /local/me --to /gpfs/me/run7 --delete high-water --high 80% --low 60%",
            "and keep the local file system below 80 %",
        ),
    ),
    loads=("tonnage.staging.run_mover", "tonnage.cli.stage.find_mover", "tonnage.staging.background_mover"),
)


def run(arguments: Arguments) -> int:
    """Runs the command and returns its exit code."""
    from tonnage.cli.stage.find_mover import plan_of

    plan = plan_of(arguments)
    return attached(plan, drain=False) if arguments.foreground else in_background(plan)


def attached(plan: StagePlan, *, drain: bool) -> int:
    """Stays, with a view. ``drain``: and ends when everything is safe."""
    from tonnage.cli.stage.mover_view import announce, carry_out, view
    from tonnage.staging.mover_host import Host
    from tonnage.staging.run_mover import attend

    host = Host(plan, on_start=announce)
    return carry_out(view(), lambda tell: attend(host, tell, drain=drain), plan)


def in_background(plan: StagePlan) -> int:
    """Returns when the mover answers, or with its own words and exit code when it gave up."""
    from tonnage.staging.background_mover import LOG, launch

    launched = launch("tonnage.cli.stage.detached", plan)
    sys.stdout.write(launched.said)
    sys.stderr.write(launched.complaint)
    if launched.code is None:
        return 0
    if not launched.complaint:
        return complain(f"the mover ended at once; hint: see {plan.state / LOG}", 1)
    return launched.code or 1
