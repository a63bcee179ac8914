"""``tonnage schema``: what ``--json`` prints, and what a campaign file may hold, as JSON Schema."""

from __future__ import annotations

from argparse import Namespace

from tonnage.cli.outcome import print_json


def run(arguments: Namespace) -> int:
    """Exit code."""
    if arguments.what == "json":
        from tonnage.analysis.summary import schema

        print_json(schema())
    else:
        from tonnage.campaign.model import Campaign

        print_json(
            {"$schema": "https://json-schema.org/draft/2020-12/schema", **Campaign.model_json_schema(by_alias=True)}
        )
    return 0
