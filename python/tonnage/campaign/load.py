"""From a file's text, or a manifest's object, to a Campaign; a mistake is one line that says where and what to do."""

from __future__ import annotations

import difflib
import os
import re
import sys
from pathlib import Path
from typing import Any

from pydantic import AliasChoices, BaseModel, ValidationError

from tonnage.campaign.kinds import WORKLOADS
from tonnage.campaign.model import Campaign
from tonnage.errors import RequestError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_LARGEST_FILE = 1 << 20


def load_campaign(
    path: str | os.PathLike[str], *, scale: float | None = None, target: str | None = None
) -> tuple[Campaign, str]:
    """The campaign in a TOML file, and its text. RequestError names the file and, where known, the line.

    ``scale`` and ``target`` replace the file's own.
    """
    try:
        with Path(path).open("rb") as file:
            raw = file.read(_LARGEST_FILE + 1)
    except OSError as error:
        raise RequestError(f"cannot read {path}: {error.strerror}; hint: give the path of a campaign file") from None
    if len(raw) > _LARGEST_FILE:
        raise RequestError(f"{path} is larger than 1MiB; hint: give the path of a campaign file")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        raise RequestError(f"{path} is not UTF-8 text; hint: give the path of a campaign file") from None
    given = {key: value for key, value in (("scale", scale), ("target", target)) if value is not None}
    return parse_campaign(text, str(path)).model_copy(update=given), text


def parse_campaign(text: str, name: str) -> Campaign:
    """The campaign that ``text`` describes; ``name`` is what messages call it."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise RequestError(f"{name}: {_lower_first(str(error))}; hint: see examples/first-light.toml") from None
    except RecursionError:
        raise RequestError(f"{name}: nested too deeply; hint: see examples/first-light.toml") from None
    return build_campaign(data, name, text)


def build_campaign(data: dict[str, Any], name: str = "", text: str = "", *, stored: bool = False) -> Campaign:
    """The campaign of plain values; ``stored``: they come from a manifest, where times are integers of nanoseconds."""
    try:
        return Campaign.model_validate(data, context={"stored": stored})
    except ValidationError as error:
        raise RequestError(_explain(error, name, text)) from None


def valid_keys(model: type[BaseModel]) -> list[str]:
    """The keys as they are written in a file."""
    keys = []
    for field_name, field in model.model_fields.items():
        alias = field.validation_alias
        keys.append(str(alias.choices[0]) if isinstance(alias, AliasChoices) else field_name)
    return keys


def _explain(error: ValidationError, name: str, text: str) -> str:
    first = error.errors(include_url=False)[0]
    location, kind, table = _place(first["loc"])
    if first["type"] == "request":
        location.extend(first["ctx"]["key"].split("."))
        what = first["msg"]
    elif first["type"] == "extra_forbidden":
        what = _unknown_key(location, kind)
    elif first["type"] == "value_error":
        what = first["msg"].removeprefix("Value error, ")
    elif first["type"] == "missing":
        what = f"{'.'.join(location)} is missing; hint: add {location[-1]} = …"
    else:
        what = f"{_lower_first(first['msg'])}; hint: see docs/campaign.md"
    line = line_of(text, location, table)
    where = f"{name}:{line}: " if line else f"{name}: " if name else ""
    named = location and first["type"] not in ("extra_forbidden", "missing", "request")
    key = f"{_in_file(location)}: " if named else ""
    return f"{where}{key}{what}"


def _place(loc: tuple[int | str, ...]) -> tuple[list[str], str, int]:
    """The dotted path as a file spells it, the kind of a workload there, and which of several tables it is."""
    path = [str(part) for part in loc if not isinstance(part, int)]
    if path[:1] not in (["workload"], ["workloads"]):
        return path, "", 0
    number = next((part for part in loc if isinstance(part, int)), 0)
    kind = path[1] if len(path) > 1 and path[1] in WORKLOADS else "stream"
    return ["workload", *path[1 + (len(path) > 1 and path[1] in WORKLOADS) :]], kind, number


def _unknown_key(location: list[str], kind: str) -> str:
    *path, key = location
    model: type[BaseModel] = Campaign
    for part in path:
        model = WORKLOADS[kind] if part == "workload" else type(getattr(_SAMPLE, part))
    keys = valid_keys(model)
    near = difflib.get_close_matches(key, keys, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else f"known keys are {', '.join(keys)}"
    table = f" in [{'.'.join(path)}]" if path else ""
    return f"unknown key {key!r}{table}; hint: {hint}"


def _in_file(location: list[str]) -> str:
    """The dotted key, without the parts that pydantic adds for its own types."""
    return ".".join(part for part in location if re.fullmatch(r"[a-z_0-9]+", part))


def line_of(text: str, location: list[str], number: int = 0) -> int | None:
    """The line (from 1) on which the key stands; None if it is not written as ``key = …`` below its ``[table]``.

    ``number``: which of several ``[[table]]``, from 0.
    """
    table, left = "", number
    for at, line in enumerate(text.splitlines(), start=1):
        if header := re.match(r"\s*\[{1,2}\s*([A-Za-z0-9_.-]+)\s*\]", line):
            table = header[1]
            if left and table == location[0]:
                table, left = "", left - 1
            if location == table.split("."):
                return at
        elif assignment := re.match(r"\s*[\"']?([A-Za-z0-9_.-]+)[\"']?\s*=", line):
            written = [*filter(None, table.split(".")), *assignment[1].split(".")]
            if written == location[: len(written)]:
                return at
    return None


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]


_SAMPLE = Campaign.model_validate({"target": "null:", "search": {}})
