"""JSON Schemas of what ``--json`` prints of the commands of placement, made of the types that are printed."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter

from tonnage.placement.answers import ANSWERS


def answer_schema(command: str) -> dict[str, Any]:
    """Of ``jobs``, or another of ``tonnage.placement.answers.ANSWERS``."""
    found: dict[str, Any] = TypeAdapter(ANSWERS[command]).json_schema(mode="serialization")
    if "title" in found:
        found["title"] = "Answer"
    _close(found)
    return found


def _close(part: Any) -> None:
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
