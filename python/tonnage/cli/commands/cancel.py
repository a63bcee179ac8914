"""``tonnage cancel``: ends jobs, after a look at whose they are."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict

from tonnage.cli.command import Arguments
from tonnage.cli.shared_options import JSON, SCHEDULER, SITE
from tonnage.command_line import Command
from tonnage.command_option import Option
from tonnage.printable_text import one_line

COMMAND = Command(
    "cancel",
    "cancel jobs of yours, waiting or running",
    "Cancels your jobs with all their copies, or single copies (3734[5], 3734_5). A job of another user is "
    "refused, and so is one that Tonnage did not submit, unless --any is given. The exit code is 1 if one of "
    "them was not cancelled.",
    (
        Option(("jobs",), "job numbers, as `tonnage jobs` lists them", "JOB", repeats=True),
        Option(("--any",), "also cancel your jobs that Tonnage did not submit"),
        SCHEDULER,
        SITE,
        JSON,
    ),
    (("tonnage cancel 3734", "with all its copies"), ("tonnage cancel '3734[5]'", "one copy")),
    loads=("tonnage.placement.jobs",),
)


def run(arguments: Arguments) -> int:
    """Exit code: 1 where one of the jobs was not cancelled; the others are all the same."""
    from tonnage.machine.user_state import user_name
    from tonnage.placement.jobs import CancelAnswer, asked_scheduler, cancel_jobs

    found = asked_scheduler(arguments.scheduler, arguments.site)
    ends = cancel_jobs(found, arguments.jobs, found.jobs(user=user_name()), any_job=arguments.any)
    if arguments.json:
        print(json.dumps(asdict(CancelAnswer(scheduler=found.name, jobs=tuple(ends))), indent=2))
    else:
        for one in ends:
            if one.problem is None:
                print(one_line(f"Job <{one.job}> is being terminated"))
            else:
                print(one_line(f"tonnage: error: job {one.job}: {one.problem}"), file=sys.stderr)
    return int(any(not one.cancelled for one in ends))
