"""``tonnage company``: which workloads slow each other, as a matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tonnage.cli.command import Arguments
from tonnage.cli.shared_options import DRY_RUN, JSON, NO_KEEP, NO_REPORT, OUT, SEED, VERBOSE
from tonnage.command_line import Command
from tonnage.command_option import Option
from tonnage.units import parse_share, parse_time

if TYPE_CHECKING:
    from tonnage.campaign.model import Campaign


COMMAND = Command(
    "company",
    "find which workloads slow each other on a storage",
    "Measures each WORKLOAD alone and beside each, and tells what it keeps of its throughput and how much longer its "
    "operations wait. The one beside is offered a share of the rate that it reaches alone. Alone and beside take "
    "turns, so that both see the same drift. Workloads: metadata-storm, small-random-reads, checkpoint, drain, "
    "stream-read, stream-write. Files are made only below marked directories in DIR, which are removed at the end, "
    "also after Ctrl-C.",
    (
        Option(
            ("target",), "directory on the storage; or memory:, sim:knee=8,plateau=2GB/s", "DIR", completes="directory"
        ),
        Option(("workloads",), "one or more; all of them unless given", "WORKLOAD", optional=True, repeats=True),
        Option(("--share",), "of its rate alone, for the one beside", "SHARE", "50%", parse=parse_share),
        Option(("--budget",), "time for all of it", "TIME", "5m", parse=parse_time),
        SEED,
        DRY_RUN,
        OUT,
        JSON,
        VERBOSE,
        NO_REPORT,
        NO_KEEP,
    ),
    (
        (
            "tonnage company /scratch/me metadata-storm stream-read",
            "what the two cost each other, in 5 minutes",
        ),
        (
            "tonnage company --share 25% --json /scratch/me checkpoint small-random-reads",
            "at a quarter of its rate, for a script",
        ),
        ("tonnage company --dry-run /scratch/me", "how long all six take, and how much space"),
    ),
    loads=("tonnage.campaign.run_lifecycle", "tonnage.cli.run_progress"),
)


def campaign_of(arguments: Arguments) -> Campaign:
    """Makes the campaign of the typed options."""
    from tonnage.campaign.company_campaign import company_campaign

    return company_campaign(
        arguments.target,
        arguments.workloads or (),
        share=arguments.share,
        budget_ns=arguments.budget,
        seed=arguments.seed,
    )


def run(arguments: Arguments) -> int:
    """Runs the command and returns its exit code."""
    campaign = campaign_of(arguments)
    if arguments.dry_run:
        from tonnage.cli.dry_run import dry_run

        return dry_run(campaign, as_json=arguments.json)
    from tonnage.campaign.run_lifecycle import run_campaign
    from tonnage.cli.run_progress import observer

    words = arguments.command_line
    outcome = run_campaign(campaign, text=None, command_line=words, out=arguments.out, observer=observer())
    from tonnage.cli.runs import conclude

    return conclude(
        outcome,
        as_json=arguments.json,
        with_report=not arguments.no_report,
        keep_line=not arguments.no_keep,
        is_verbose=arguments.verbose,
    )
