"""The kinds of file that ``tonnage import`` reads. A new one is a file with ``read(data) -> Found`` and a line here."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from tonnage.importers.found import Found

KINDS = ("ior",)
"""Each is the module here that reads it."""


def reader(kind: str) -> Callable[[bytes], Found]:
    """What reads a file of this kind. It never raises, whatever the bytes are."""
    found: Callable[[bytes], Found] = import_module(f"tonnage.importers.{kind}").read
    return found
