"""``tonnage schema``: what is published of ``--json`` says all of it, and nothing that it does not print."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
from tonnage.cli import main
from tonnage.cli.commands.schema import ANSWERS as PLACEMENT
from tonnage.cli.commands.schema import COMMAND as SCHEMA

ANSWERS = ("compare", "history", "crossover", "project", *PLACEMENT)


def published(capsys: pytest.CaptureFixture[str], what: str) -> dict[str, Any]:
    capsys.readouterr()
    assert main(["schema", what]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def objects(part: object) -> Iterator[dict[str, Any]]:
    """Each part of a schema that names properties."""
    if isinstance(part, dict):
        if "properties" in part:
            yield part
        part = list(part.values())
    if isinstance(part, list):
        for inner in part:
            yield from objects(inner)


@pytest.mark.parametrize("what", SCHEMA.options[0].choices)
def test_every_schema_is_one(what: str, capsys: pytest.CaptureFixture[str]) -> None:
    jsonschema.Draft202012Validator.check_schema(published(capsys, what))


@pytest.mark.parametrize("what", ANSWERS)
def test_the_schema_of_an_answer_leaves_nothing_open(what: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = list(objects(published(capsys, what)))
    assert len(found) >= (1 if what == "verify" else 2)
    for one in found:
        assert one["required"] == list(one["properties"]) and one["additionalProperties"] is False


def test_a_rate_that_is_no_number_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    cell = published(capsys, "compare")["$defs"]["cell"]
    with pytest.raises(jsonschema.ValidationError, match="2 GB/s"):
        jsonschema.validate("2 GB/s", cell["properties"]["base"])
