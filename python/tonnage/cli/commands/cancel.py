"""``tonnage cancel``: ends jobs, after a look at whose they are."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from dataclasses import asdict

from tonnage.machine.user import user_name
from tonnage.placement.jobs import CancelAnswer, asked_scheduler, cancel_jobs


def run(arguments: Namespace) -> int:
    """Exit code: 1 where one of the jobs was not cancelled; the others are all the same."""
    found = asked_scheduler(arguments.scheduler, arguments.site)
    ends = cancel_jobs(found, arguments.jobs, found.jobs(user=user_name()), any_job=arguments.any)
    if arguments.json:
        print(json.dumps(asdict(CancelAnswer(scheduler=found.name, jobs=tuple(ends))), indent=2))
    else:
        for one in ends:
            if one.problem is None:
                print(f"Job <{one.job}> is being terminated")
            else:
                print(f"tonnage: error: job {one.job}: {one.problem}", file=sys.stderr)
    return int(any(not one.cancelled for one in ends))
