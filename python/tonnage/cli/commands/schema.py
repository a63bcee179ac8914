"""``tonnage schema``: what ``--json`` prints, and what a campaign file or a site file may hold, as JSON Schema."""

from __future__ import annotations

from argparse import Namespace

from tonnage.cli.options import ANSWERS
from tonnage.cli.outcome import print_json

_DRAFT = "https://json-schema.org/draft/2020-12/schema"


def run(arguments: Namespace) -> int:
    """Exit code."""
    if arguments.what == "campaign":
        from tonnage.campaign.model import Campaign

        print_json({"$schema": _DRAFT, **Campaign.model_json_schema(by_alias=True)})
    elif arguments.what == "site":
        from tonnage.placement.site import Site

        print_json({"$schema": _DRAFT, **Site.model_json_schema()})
    elif arguments.what in ANSWERS:
        from tonnage.cli.placement.answer_schema import answer_schema

        print_json({"$schema": _DRAFT, **answer_schema(arguments.what)})
    else:
        from tonnage.analysis.summary import schema

        print_json(schema("summary" if arguments.what == "json" else arguments.what))
    return 0
