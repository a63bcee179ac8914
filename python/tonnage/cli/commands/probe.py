"""``tonnage probe``: builds a campaign with a search, and carries it out."""

from __future__ import annotations

from argparse import Namespace

from tonnage.campaign.load import probe_campaign
from tonnage.campaign.model import Campaign
from tonnage.campaign.session import run_campaign
from tonnage.cli.live import observer


def campaign_of(arguments: Namespace) -> Campaign:
    """What was typed, as a campaign."""
    return probe_campaign(
        arguments.target,
        {
            "op": arguments.op,
            "budget_ns": arguments.budget,
            "max_tasks": arguments.max_tasks or _processes(),
            "p99_ns": arguments.p99,
            "p999_ns": arguments.p999,
            "open_loop": arguments.open_loop or None,
            "transfer_size": arguments.transfer,
            "direct": arguments.direct,
            "storage": arguments.storage,
            "access": arguments.access,
            "queue_depth": arguments.queue_depth,
            "verify": arguments.verify or None,
            "space": arguments.space,
            "seed": arguments.seed,
        },
    )


def run(arguments: Namespace) -> int:
    """Exit code."""
    outcome = run_campaign(
        campaign_of(arguments), text=None, command_line=arguments.command_line, out=arguments.out, observer=observer()
    )
    # The analysis is loaded when there is something to analyse.
    from tonnage.cli.outcome import conclude

    return conclude(
        outcome, as_json=arguments.json, with_report=not arguments.no_report, keep_line=not arguments.no_keep
    )


def _processes() -> int | None:
    """Where an MPI launcher started several, no more tasks than those are looked at."""
    from tonnage.cluster.registry import launcher

    count = launcher("auto").processes
    return count if count > 1 else None
