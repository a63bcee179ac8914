"""Types of the fields of files that users write: the accepted texts, and the integers that they become."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import timedelta
from numbers import Integral
from typing import Annotated, Any, TypeVar, get_args

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    GetJsonSchemaHandler,
    ValidationInfo,
    WithJsonSchema,
)
from pydantic.fields import FieldInfo
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from tonnage import plugins, units
from tonnage.errors import RequestError

T = TypeVar("T")


def _among(group: str, what: str) -> tuple[AfterValidator, WithJsonSchema]:
    """A name of Tonnage's own or of a plug-in, and its schema."""

    def known(name: str) -> str:
        if name not in plugins.all_names(group):
            raise ValueError(f"{name!r} is no {what}; hint: they are {', '.join(plugins.all_names(group))}")
        return name

    schema = {"anyOf": [{"enum": list(plugins.OWN[group])}, {"type": "string", "description": "of a plug-in"}]}
    return AfterValidator(known), WithJsonSchema(schema)


_A_SCHEDULER, _AN_ENGINE = _among(plugins.SCHEDULERS, "scheduler"), _among(plugins.WORKFLOWS, "workflow engine")
SchedulerName = Annotated[str, _A_SCHEDULER[0], _A_SCHEDULER[1]]
EngineName = Annotated[str, _AN_ENGINE[0], _AN_ENGINE[1]]


def _one_name(name: str) -> str:
    if name.startswith(".") or "/" in name or not name.isprintable():
        raise ValueError(f"{name!r} cannot name it; hint: give one name that does not begin with a dot")
    return name


DirectoryName = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_one_name)]
"""Of a directory in the target."""


def _checked(parse: Callable[[Any], Any], given: Any) -> Any:
    try:
        return parse(given)
    except RequestError as error:
        # pydantic knows where the value stands only if it sees a ValueError.
        raise ValueError(str(error)) from None


def _length(value: Any) -> Any:
    value = _checked(units.parse_size, value) if isinstance(value, str) else value
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 0:
        raise ValueError(f"{value!r} is not a size; hint: write it like 4k, 1MiB or 2GB, or as a whole number of bytes")
    return int(value)


def _size(value: Any) -> Any:
    value = _length(value)
    if value == 0:
        raise ValueError("0 bytes is too small; hint: write it like 4k, 1MiB or 2GB")
    return value


def _time(value: Any, info: ValidationInfo) -> Any:
    if isinstance(value, str | timedelta):
        return _checked(units.read_time, value)
    written = bool(info.context and info.context.get("written"))
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f'{value} is not a time; hint: write it like "60s" or "500ms"')
    if isinstance(value, (int, float)) and not isinstance(value, bool) and written:
        raise ValueError(f'{value} has no unit; hint: write it like "{value}s" or "500ms"')
    return value


def _some_time(value: Any, info: ValidationInfo) -> Any:
    value = _time(value, info)
    if value == 0:
        raise ValueError(f"{value} is no time; hint: write it like 500ms or 60s")
    return value


def _share(value: Any) -> Any:
    return _checked(units.parse_share, value) if isinstance(value, str) else value


def _sweep(value: Any) -> Any:
    return value if isinstance(value, (list, tuple)) else (value,)


_SIZE = {"anyOf": [{"type": "string", "examples": ["1MiB", "4k"]}, {"type": "integer", "minimum": 1}]}
_TIME = {"type": "string", "examples": ["500ms", "60s", "2m"]}
_LENGTH = {"anyOf": [{"type": "string", "examples": ["4k", "0"]}, {"type": "integer", "minimum": 0}]}
_SHARE = {"anyOf": [{"type": "string", "examples": ["5%"]}, {"type": "number", "exclusiveMinimum": 0, "maximum": 1}]}
_FRACTION = {"anyOf": [{"type": "string", "examples": ["5%"]}, {"type": "number", "minimum": 0, "maximum": 1}]}
_COUNT = {"type": "integer", "minimum": 1, "maximum": 2**31 - 1}

Size = Annotated[int, BeforeValidator(_size), Field(ge=1, le=2**63 - 1, strict=True), WithJsonSchema(_SIZE)]
"""Bytes; ``"1MiB"`` or a number of bytes."""
Length = Annotated[int, BeforeValidator(_length), Field(ge=0, le=2**63 - 1, strict=True), WithJsonSchema(_LENGTH)]
"""Bytes, or none."""


def size_or_name(names: Sequence[str], what: str) -> tuple[BeforeValidator, WithJsonSchema]:
    """Of bytes that may also be one of ``names``, which stays a name. ``what`` the names are, in messages."""

    def read(value: Any) -> Any:
        if value in names:
            return value
        if isinstance(value, str) and not value[:1].isdigit():
            told = ", ".join(names)
            raise ValueError(f"{value!r} is no size and no {what}; hint: write it like 500MB, or one of {told}")
        return _size(value)

    return BeforeValidator(read), WithJsonSchema({"anyOf": [*_SIZE["anyOf"], {"enum": list(names)}]})


Time = Annotated[int, BeforeValidator(_some_time), Field(ge=1, le=2**63 - 1, strict=True), WithJsonSchema(_TIME)]
"""Nanoseconds; ``"60s"`` in a file (which is read with the context ``written``), the integer in a manifest."""
Delay = Annotated[int, BeforeValidator(_time), Field(ge=0, le=2**63 - 1, strict=True), WithJsonSchema(_TIME)]
"""Nanoseconds, or none."""
Share = Annotated[float, BeforeValidator(_share), Field(gt=0, le=1), WithJsonSchema(_SHARE)]
"""A share of one; ``"5%"`` or ``0.05``."""
Fraction = Annotated[float, BeforeValidator(_share), Field(ge=0, le=1), WithJsonSchema(_FRACTION)]
"""A share of one, or none."""
Count = Annotated[int, Field(ge=1, le=2**31 - 1, strict=True), WithJsonSchema(_COUNT)]
"""A number of things."""
Depth = Annotated[
    int, Field(ge=1, le=2**16, strict=True), WithJsonSchema({"type": "integer", "minimum": 1, "maximum": 2**16})
]
"""Operations in flight of a task: at most 65,536, twice what the largest io_uring takes."""
Tasks = Annotated[
    int, Field(ge=1, le=2**20, strict=True), WithJsonSchema({"type": "integer", "minimum": 1, "maximum": 2**20})
]
"""A number of tasks: at most 1,048,576, more than the largest machines have processors for one job."""


def _rate(value: Any) -> Any:
    return _checked(units.parse_rate, value) if isinstance(value, str) else value


def _hog(value: Any) -> Any:
    if isinstance(value, str):
        read = _share(value) if value.strip().endswith("%") else _size(value)
        if isinstance(read, float) and read >= 1:
            raise ValueError(f"{value!r} leaves no memory to anything else; hint: write it like 50% or 4GiB")
        return read
    return value


RATE_SCHEMA = {"anyOf": [{"type": "string", "examples": ["100MB/s"]}, {"type": "integer", "minimum": 1}]}
_HOG = {"anyOf": [{"type": "string", "examples": ["20%", "4GiB"]}, {"type": "number", "exclusiveMinimum": 0}]}

Flag = Annotated[bool, Field(strict=True)]
"""Yes or no, and no word that may mean either."""
Device = Annotated[int, Field(ge=0, le=2**31 - 1, strict=True)]
"""The number of a device, from 0: an OST, or a directory of the target."""
Rate = Annotated[int, BeforeValidator(_rate), Field(ge=1, le=2**63 - 1, strict=True), WithJsonSchema(RATE_SCHEMA)]
"""Bytes per second; ``"100MB/s"``."""
Percent = Annotated[int, Field(ge=1, le=99, strict=True)]
"""A share in whole percent."""
Hog = Annotated[
    Annotated[int, Field(ge=1, le=2**63 - 1, strict=True)] | Annotated[float, Field(gt=0, lt=1)],
    BeforeValidator(_hog),
    WithJsonSchema(_HOG),
]
"""Memory: bytes (an integer), or a share of the node's memory (a float below 1)."""


class ScalarOrList:
    """Tells the JSON schema that a factor may be one value."""

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        listed = handler(schema)
        return {"anyOf": [listed["items"], listed]}


Sweep = Annotated[tuple[T, ...], BeforeValidator(_sweep), Field(min_length=1), ScalarOrList()]
"""A factor: one value, or a list of values of which each makes trials of its own."""


def is_sweep(field: FieldInfo) -> bool:
    """Whether a field of a table is a factor (``Sweep``), also one that may be left out."""
    parts = [*field.metadata, *(part for choice in get_args(field.annotation) for part in get_args(choice))]
    return any(isinstance(part, BeforeValidator) and part.func is _sweep for part in parts)


Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,254}$")]
"""A host or a partition, as the scheduler calls it."""


def _host_sets(value: Any) -> Any:
    """One set of hosts, written as a plain list, or several."""
    flat = isinstance(value, (list, tuple)) and all(isinstance(name, str) for name in value)
    return (value,) if flat and value else value


def _each_once(hosts: tuple[str, ...]) -> tuple[str, ...]:
    if twice := next((host for host in hosts if hosts.count(host) > 1), None):
        raise ValueError(f"{twice!r} is in one set twice; hint: name each host once")
    return hosts


_HOSTS = {"type": "array", "items": {"type": "string"}, "minItems": 1}
HostSets = Annotated[
    tuple[Annotated[tuple[Name, ...], Field(min_length=1), AfterValidator(_each_once)], ...],
    BeforeValidator(_host_sets),
    Field(min_length=1),
    WithJsonSchema({"anyOf": [_HOSTS, {"type": "array", "items": _HOSTS, "minItems": 1}]}),
]
"""A factor whose values are lists of hosts, whose order counts; one list stands for a factor with one value."""
