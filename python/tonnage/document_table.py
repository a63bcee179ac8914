"""The base of the tables of files that users write."""

from __future__ import annotations

from typing import Any, NoReturn

from pydantic import AliasChoices, BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError


class DocumentTable(BaseModel):
    """A table of the file: unknown keys are errors, values do not change once read."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, hide_input_in_errors=True)


def unit_field(key: str, unit: str, default: Any, description: str) -> Any:
    """A field named ``<key>_<unit>`` that a file writes as ``key``, with its unit in the value."""
    return Field(default, validation_alias=AliasChoices(key, f"{key}_{unit}"), description=description)


def time_field(key: str, default: Any, description: str) -> Any:
    """Declares a time: ``key`` in a file, ``<key>_ns`` everywhere else."""
    return unit_field(key, "ns", default, description)


def refuse(key: str, what: str, hint: str) -> NoReturn:
    """Raises what pydantic reports as a wrong request: ``key`` is where, ``hint`` what to do."""
    raise PydanticCustomError("request", "{what}; hint: {hint}", {"what": what, "hint": hint, "key": key})
