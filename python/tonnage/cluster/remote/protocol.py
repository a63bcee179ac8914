"""The protocol between the two ends of a pipe: one JSON object a line, in ASCII.

The far end begins with a line of its own, ``tonnage-agent {…}``: what a login prints before it is passed over. Then
each request ``{"id", "service", "arguments"}`` gets one answer ``{"id", "value", "problem"}``, in any order. The end of
the pipe ends the far end and all that it started.
"""

from __future__ import annotations

import json
from typing import Any, TypedDict

from tonnage.cluster.host_group import Arguments

HELLO = b"tonnage-agent "
MOST_LINE = 128 << 20
"""Bytes of one line: two full outputs of a program fit, each byte escaped."""
MOST_NOISE = 64 << 10
"""Bytes that a login may print before the first line."""


class Hello(TypedDict):
    """Of the far end."""

    version: str
    host: str
    python: str
    pid: int


class Request(TypedDict):
    """A service that is wanted; the answer has its number."""

    id: int
    service: str
    arguments: Arguments


class Reply(TypedDict):
    """``host_group.Answer`` to a request."""

    id: int
    value: Any
    problem: str | None


def line(value: Hello | Request | Reply) -> bytes:
    """As it goes over the pipe; text that is no Unicode (a path's bytes) survives."""
    return json.dumps(value, separators=(",", ":")).encode("ascii") + b"\n"


def read(raw: bytes) -> Any:
    """The object of a line, of whichever kind was to come; ValueError where it is none."""
    try:
        value = json.loads(raw)
    except RecursionError:
        raise ValueError("too deep") from None
    if not isinstance(value, dict):
        raise ValueError("not an object")
    return value
