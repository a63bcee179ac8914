"""``tonnage queues``: the scheduler's queues, in the columns of ``bqueues``."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from tonnage.cli.command import Arguments
from tonnage.cli.shared_options import JSON, SCHEDULER, SITE
from tonnage.command_line import Command
from tonnage.printable_text import columns

if TYPE_CHECKING:
    from tonnage.cluster.scheduler import Queue

COMMAND = Command(
    "queues",
    "list queues, their hosts and jobs",
    "Lists the queues or partitions of the scheduler: open or closed, hosts, slots, jobs that wait and run.",
    (
        SCHEDULER,
        SITE,
        JSON,
    ),
    (("tonnage queues", "of this site"),),
    loads=("tonnage.placement.jobs",),
)

HEADINGS = ("QUEUE_NAME", "STATUS", "MAX", "NJOBS", "PEND", "RUN", "HOSTS")
_FIGURES = range(2, 6)
_MOST_HOSTS = 6
"""Of a queue; ``--json`` has them all."""


def run(arguments: Arguments) -> int:
    """Runs the command and returns its exit code."""
    from tonnage.placement.jobs import QueuesAnswer, asked_scheduler

    site_scheduler = asked_scheduler(arguments.scheduler, arguments.site)
    found = site_scheduler.queues()
    if arguments.json:
        print(json.dumps(asdict(QueuesAnswer(scheduler=site_scheduler.name, queues=tuple(found))), indent=2))
    elif found:
        print(text(found))
    else:
        print("No queue found", file=sys.stderr)
    return 0


def text(found: Sequence[Queue]) -> str:
    """Returns the table."""
    return columns([HEADINGS, *(_cells(queue) for queue in found)], right=_FIGURES)


def _cells(queue: Queue) -> list[str]:
    more = len(queue.hosts) - _MOST_HOSTS
    hosts = ",".join(queue.hosts[:_MOST_HOSTS]) + (f" and {more} more" if more > 0 else "")
    return [
        queue.name + ("*" if queue.default else ""),
        "Open" if queue.open else "Closed",
        "-" if queue.slots is None else str(queue.slots),
        str(queue.pending + queue.running),
        str(queue.pending),
        str(queue.running),
        hosts or "-",
    ]
