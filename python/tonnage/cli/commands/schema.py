"""``tonnage schema``: what ``--json`` prints, and what a campaign file or a site file may hold, as JSON Schema."""

from __future__ import annotations

from argparse import Namespace

from tonnage.cli.outcome import print_json

_DRAFT = "https://json-schema.org/draft/2020-12/schema"


def run(arguments: Namespace) -> int:
    """Exit code."""
    if arguments.what == "json":
        from tonnage.analysis.summary import schema

        print_json(schema())
    elif arguments.what == "campaign":
        from tonnage.campaign.model import Campaign

        print_json({"$schema": _DRAFT, **Campaign.model_json_schema(by_alias=True)})
    else:
        from tonnage.placement.site import Site

        print_json({"$schema": _DRAFT, **Site.model_json_schema()})
    return 0
