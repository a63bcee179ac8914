"""``tonnage schema``: what ``--json`` prints, and what a campaign file or a site file may hold, as JSON Schema."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tonnage.cli.command import Arguments
from tonnage.command_line import Command
from tonnage.command_option import Option

if TYPE_CHECKING:
    from pydantic.json_schema import JsonSchemaValue

ANSWERS = ("verify", "demand", "submit", "where", "load", "watch", "servers", "jobs", "cancel", "queues", "doctor")
"""Commands with a schema made of the type of their answer (``analysis.verify``, ``placement.demand_answer``,
``placement.answer_types``)."""


COMMAND = Command(
    "schema",
    "print the JSON schema of an output or a file",
    "Prints the JSON schema (draft 2020-12) of what --json prints of a run (json), of what it prints of an answer "
    "(compare, history, crossover, project, verify, demand, submit, where, load, watch, jobs, cancel, queues, doctor; "
    "servers: of history --servers; storage: of report --storage), "
    "of a campaign file, or of tonnage.toml (site).",
    (
        Option(
            ("what",),
            "which schema",
            "WHAT",
            choices=("json", "compare", "history", "crossover", "project", "storage", *ANSWERS, "campaign", "site"),
        ),
    ),
    (
        ("tonnage schema json > tonnage.schema.json", "for a script that checks what it reads of a run"),
        ("tonnage schema compare > compare.schema.json", "and of a comparison"),
    ),
)

_DRAFT = "https://json-schema.org/draft/2020-12/schema"


def run(arguments: Arguments) -> int:
    """Runs the command and returns its exit code."""
    from tonnage.cli.runs import print_json

    if arguments.what == "campaign":
        from tonnage.campaign.model import Campaign

        print_json({"$schema": _DRAFT, **Campaign.model_json_schema(by_alias=True)})
    elif arguments.what == "site":
        from tonnage.placement.site import Site

        print_json({"$schema": _DRAFT, **Site.model_json_schema()})
    elif arguments.what in ANSWERS:
        print_json({"$schema": _DRAFT, **answer_schema(arguments.what)})
    else:
        from tonnage.analysis.summary import schema

        print_json(schema("summary" if arguments.what == "json" else arguments.what))
    return 0


def answer_schema(command: str) -> JsonSchemaValue:
    """Of what ``--json`` prints of one of ``ANSWERS``: made of the types that are printed."""
    from pydantic import TypeAdapter

    from tonnage.analysis.verify import VerifyAnswer
    from tonnage.placement import answer_types
    from tonnage.placement.demand_answer import JobDemandAnswer

    outside = {"verify": VerifyAnswer, "demand": JobDemandAnswer}
    found = TypeAdapter(outside.get(command) or answer_types.ANSWERS[command]).json_schema(mode="serialization")
    if "title" in found:
        found["title"] = "Answer"
    _close(found)
    return found


def _close(part: object) -> None:
    """Says of each object that all of its keys are there, and no others: ``asdict`` prints every field."""
    if isinstance(part, dict):
        if part.get("type") == "object" and "properties" in part:
            part["required"], part["additionalProperties"] = list(part["properties"]), False
            for one in part["properties"].values():
                one.pop("default", None)
        part = list(part.values())
    if isinstance(part, list):
        for inner in part:
            _close(inner)
