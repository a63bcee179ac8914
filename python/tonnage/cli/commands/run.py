"""``tonnage run``: a campaign file, or the rest of a run."""

from __future__ import annotations

from argparse import Namespace

from tonnage.campaign.model import Campaign
from tonnage.cli.live import observer
from tonnage.errors import RequestError


def run(arguments: Namespace) -> int:
    """Exit code."""
    from tonnage.campaign.session import resume_run, run_campaign

    if (arguments.file is None) == (arguments.resume is None):
        raise RequestError("give either a campaign file or --resume RUN; hint: see `tonnage run --help`")
    if arguments.resume is not None:
        given = (
            ("--dry-run", arguments.dry_run),
            ("--out", arguments.out),
            ("--scale", arguments.scale),
            ("--target", arguments.target),
        )
        for name, value in given:
            if value:
                raise RequestError(f"{name} does not go with --resume; hint: leave it out")
        outcome = resume_run(arguments.resume, observer=observer())
    else:
        from tonnage.campaign.load import load_campaign

        campaign, text = load_campaign(arguments.file, scale=arguments.scale, target=arguments.target)
        if arguments.dry_run:
            return dry_run(campaign)
        outcome = run_campaign(
            campaign, text=text, command_line=arguments.command_line, out=arguments.out, observer=observer()
        )
    # The analysis is loaded when there is something to analyse.
    from tonnage.cli.outcome import conclude

    return conclude(
        outcome, as_json=arguments.json, with_report=not arguments.no_report, keep_line=not arguments.no_keep
    )


def dry_run(campaign: Campaign) -> int:
    """Prints the plan after the checks that a run would make; writes nothing."""
    from tonnage.campaign.plan import check, describe, make_plan

    plan = make_plan(campaign)
    check(campaign, plan)
    print("\n".join(describe(campaign, plan)))
    return 0
