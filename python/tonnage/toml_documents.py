"""TOML files that users write: read within bounds; each mistake is reported in one line, with its place and a hint."""

from __future__ import annotations

import difflib
import os
import re
import stat
import sys
import typing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import PydanticCustomError

from tonnage.errors import RequestError

_LARGEST_FILE = 1 << 20
_DEEPEST = 32
_TOO_DEEP = re.compile(rf"""(?<![\w-])(?:(?:[\w-]+|"[^"\n]*"|'[^'\n]*')[ \t]*\.[ \t]*){{{_DEEPEST}}}""", re.ASCII)
"""A dotted key of so many parts: the parser takes the square of their number."""


_BOUNDS = {
    "less_than": ("lt", "not below", "less than"),
    "less_than_equal": ("le", "above", "at most"),
    "greater_than": ("gt", "not above", "more than"),
    "greater_than_equal": ("ge", "below", "at least"),
}
"""Errors of pydantic about the size of a number → where they have the bound, what is wrong, what to give."""


@dataclass(frozen=True, slots=True)
class Position:
    """Where in a file a value stands."""

    path: tuple[str, ...]
    """Its key after those of the tables that hold it, as the file spells them."""
    table: type[BaseModel] | None
    """What may be written in the innermost of those tables; None where nothing may."""
    number: int = 0
    """Which of several ``[[table]]`` the outermost is, from 0."""


@dataclass(frozen=True, slots=True)
class Document:
    """A kind of file: what may be in it, and how messages speak of it."""

    root: type[BaseModel]
    called: str
    page: str
    """The command that prints the page of the documentation that explains its keys."""
    example: str
    """The command that prints one, or its page."""

    def read(self, path: str | os.PathLike[str]) -> str:
        """The text of a file; RequestError where it is none or too large."""
        hint = f"hint: give the path of a {self.called}"
        try:
            with Path(path).open("rb") as file:
                raw = file.read(_LARGEST_FILE + 1)
        except OSError as error:
            raise RequestError(f"cannot read {path}: {error.strerror}; {hint}") from None
        if len(raw) > _LARGEST_FILE:
            raise RequestError(f"{path} is larger than 1MiB; hint: a {self.called} is shorter than that")
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            raise RequestError(f"{path} is not UTF-8 text; {hint}") from None

    def parse(self, text: str, name: str) -> dict[str, Any]:
        """The plain values of a file's text; ``name`` is what messages call it."""
        if (deep := _TOO_DEEP.search(text)) is not None:
            line = text.count("\n", 0, deep.start()) + 1
            raise RequestError(f"{name}:{line}: a key of more than {_DEEPEST} parts; hint: see {self.example}")
        # A probe has these tables and no file.
        if sys.version_info >= (3, 11):
            import tomllib
        else:
            import tomli as tomllib
        try:
            data: dict[str, Any] = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise RequestError(f"{name}: {_lower_first(str(error))}; hint: see {self.example}") from None
        except ValueError:
            # Python reads no whole number of more than 4,300 digits, and says so in words of its own.
            raise RequestError(f"{name}: a number in it has too many digits; hint: see {self.example}") from None
        except RecursionError:
            raise RequestError(f"{name}: nested too deeply; hint: see {self.example}") from None
        return data

    def explain(self, error: ValidationError, name: str, text: str) -> str:
        """One mistake in one line. ``name`` and ``text`` are empty where the values come from no file."""
        every = error.errors(include_url=False)
        first = every[0]
        if first["type"] == "missing":
            # A key that is missing was often only misspelled.
            first = next((one for one in every if one["type"] == "extra_forbidden"), first)
        place = self.position_of(first["loc"])
        named = place.path and first["type"] not in ("extra_forbidden", "missing", "request")
        if first["type"] == "request":
            place = Position((*place.path, *filter(None, first["ctx"]["key"].split("."))), place.table, place.number)
            what = first["msg"]
        elif first["type"] == "extra_forbidden":
            what = _unknown_key(place)
        elif first["type"] == "value_error":
            what = first["msg"].removeprefix("Value error, ")
        elif first["type"] == "too_short" and not first["input"]:
            what = "the list is empty; hint: give it a value, or leave the key out"
        elif first["type"] == "bool_type":
            hint = "write it without quotes" if isinstance(first["input"], str) else "give one of them"
            what = f"{first['input']!r} is neither true nor false; hint: {hint}"
        elif first["type"] == "int_type":
            what = f"{first['input']!r} is not a whole number; hint: see {self.page}"
        elif first["type"] == "missing":
            what = f"{'.'.join(place.path)} is missing; hint: add {place.path[-1]} = …"
        elif first["type"] == "string_unicode":
            what = f"{first['input']!r} is not UTF-8, which a name in a campaign must be; hint: give another name to it"
        elif first["type"] in _BOUNDS:
            key, beyond, least = _BOUNDS[first["type"]]
            bound = first["ctx"][key]
            # nan equals nothing, and is beyond every bound.
            given = f"{first['input']} is {beyond} {bound}" if first["input"] == first["input"] else "nan is no number"
            what = f"{given}; hint: give {least} {bound}"
        else:
            what = f"{_lower_first(first['msg'])}; hint: see {self.page}"
        line = line_of(text, place.path, place.number)
        if line is None and len(place.path) > 1:
            line = line_of(text, place.path[:-1], place.number)
        where = f"{name}:{line}: " if line else f"{name}: " if name else ""
        return f"{where}{_in_file(place.path)}: {what}" if named else f"{where}{what}"

    def position_of(self, loc: tuple[int | str, ...]) -> Position:
        """Where pydantic's location is in the file."""
        path = tuple(part for part in loc if isinstance(part, str))
        number = next((part for part in loc[1:2] if isinstance(part, int)), 0)
        table: type[BaseModel] | None = self.root
        for part in path[:-1]:
            field = table.model_fields.get(part) if table else None
            table = table_in(field.annotation) if field else None
        return Position(path, table, number)


def read_text(path: Path) -> str:
    """The text of a regular file of at most 1 MiB: others may have no end, or wait for one who writes.

    OSError where it cannot be read, ValueError where it is no such file."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ValueError("it is not a regular file")
        raw = file.read(_LARGEST_FILE + 1)
    if len(raw) > _LARGEST_FILE:
        raise ValueError("it is larger than 1MiB")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError("it is not text") from None


def table_in(annotation: object) -> type[BaseModel] | None:
    """The model of the table, or of the tables, that a field holds; None where it holds something else."""
    for choice in (annotation, *typing.get_args(annotation)):
        if isinstance(choice, type) and issubclass(choice, BaseModel):
            return choice
    return None


def valid_keys(model: type[BaseModel]) -> list[str]:
    """The keys as they are written in a file."""
    keys = []
    for field_name, field in model.model_fields.items():
        alias = field.validation_alias
        keys.append(str(alias.choices[0]) if isinstance(alias, AliasChoices) else field_name)
    return keys


def near_match(wrong: str, known: typing.Iterable[str], cutoff: float = 0.6) -> str | None:
    """The hint that names the one of ``known`` that was probably meant; None where none is near."""
    near = difflib.get_close_matches(wrong, list(known), n=1, cutoff=cutoff)
    return f"did you mean {near[0]!r}?" if near else None


def near_or_all(wrong: str, known: typing.Iterable[str], what: str = "keys") -> str:
    """The hint for an unknown word: the one that was probably meant, or all."""
    every = list(known)
    return near_match(wrong, every, cutoff=0.5) or f"known {what} are {', '.join(every)}"


def _unknown_key(place: Position) -> str:
    *path, key = place.path
    hint = near_or_all(key, valid_keys(place.table)) if place.table else "leave it out"
    table = f" in [{'.'.join(path)}]" if path else ""
    return f"unknown key {key!r}{table}; hint: {hint}"


def _in_file(path: tuple[str, ...]) -> str:
    """The dotted key, without the parts that pydantic adds for its own types."""
    return ".".join(part for part in path if re.fullmatch(r"[a-z_0-9]+", part))


def line_of(text: str, path: typing.Sequence[str], number: int = 0) -> int | None:
    """The line (from 1) on which the key stands; None if it is not written as ``key = …`` below its ``[table]``.

    ``number``: which of several ``[[table]]`` of the first name, from 0.
    """
    wanted, table, seen = list(path), "", 0
    for at, line in enumerate(text.splitlines() if path else (), start=1):
        if header := re.match(r"\s*\[{1,2}\s*([A-Za-z0-9_.-]+)\s*\]", line):
            table = header[1]
            seen += table == wanted[0]
            written = table.split(".")
            found = written == wanted
        elif assignment := re.match(r"\s*[\"']?([A-Za-z0-9_.-]+)[\"']?\s*=", line):
            written = [*filter(None, table.split(".")), *assignment[1].split(".")]
            found = written == wanted[: len(written)]
        else:
            continue
        elsewhere = table.partition(".")[0] == wanted[0] and max(seen - 1, 0) != number
        if found and not elsewhere:
            return at
    return None


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]


class DocumentTable(BaseModel):
    """A table of the file: unknown keys are errors, values do not change once read. Only those that are read are built,
    which takes long."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, populate_by_name=True, hide_input_in_errors=True, defer_build=True
    )


def unit_field(key: str, unit: str, default: Any, description: str) -> Any:
    """A field named ``<key>_<unit>`` that a file writes as ``key``, with its unit in the value."""
    return Field(default, validation_alias=AliasChoices(key, f"{key}_{unit}"), description=description)


def time_field(key: str, default: Any, description: str) -> Any:
    """Declares a time: ``key`` in a file, ``<key>_ns`` everywhere else."""
    return unit_field(key, "ns", default, description)


def refuse(key: str, what: str, hint: str) -> NoReturn:
    """Raises what pydantic reports as a wrong request: ``key`` is where, ``hint`` what to do."""
    raise PydanticCustomError("request", "{what}; hint: {hint}", {"what": what, "hint": hint, "key": key})


def refuse_zero(key: str, objective_ns: Any, what: str, example: str) -> Any:
    """Returns a latency objective as it was written; refuses 0, which no ``what`` can meet."""
    if objective_ns == 0:
        refuse(key, f"a {key} of 0s cannot be met, for no {what} takes no time", f"give a time such as {example}")
    return objective_ns
