"""``tonnage probe``: builds a campaign with a search, and carries it out."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from tonnage.campaign.load import build_campaign
from tonnage.campaign.session import run_campaign
from tonnage.cli.live import observer


def campaign_of(arguments: Namespace) -> dict[str, Any]:
    """What was typed, as a campaign; what was not is left to the campaign's defaults."""
    workload = {
        "transfer_size": arguments.transfer,
        "direct": arguments.direct,
        "storage": arguments.storage,
        "access": arguments.access,
        "queue_depth": arguments.queue_depth,
        "verify": arguments.verify or None,
        # The search sizes its blocks itself; one transfer is a whole number of any transfer.
        "block_size": arguments.transfer,
    }
    search = {
        "op": arguments.op,
        "max_tasks": arguments.max_tasks or _processes(),
        "budget_ns": arguments.budget,
        "p99_ns": arguments.p99,
        "p999_ns": arguments.p999,
        "open_loop": arguments.open_loop or None,
    }
    return {
        "name": "probe",
        "target": arguments.target,
        **_given({"seed": arguments.seed}),
        "workload": _given(workload),
        "search": _given(search),
        "budget": _given({"space": arguments.space}),
    }


def run(arguments: Namespace) -> int:
    """Exit code."""
    campaign = build_campaign(campaign_of(arguments), stored=True)
    outcome = run_campaign(
        campaign, text=None, command_line=arguments.command_line, out=arguments.out, observer=observer()
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


def _given(values: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}
