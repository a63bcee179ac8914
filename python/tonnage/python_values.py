"""Values that a Python caller gives to the functions of ``tonnage``: checked, and in the forms of the command line."""

from __future__ import annotations

import os

from tonnage.errors import RequestError


def path_text(name: str, given: object) -> str:
    """Returns a text or a path as text. RequestError, which names the keyword ``name``, for anything else."""
    text = os.fspath(given) if isinstance(given, str | os.PathLike) else None
    if not isinstance(text, str) or "\0" in text:
        raise RequestError(f"{name}: {given!r} is no text and no path; hint: give a str or a Path")
    return text


def truth(name: str, given: object) -> bool:
    """Returns True or False; RequestError, which names the keyword ``name``, for anything else."""
    if not isinstance(given, bool):
        raise RequestError(f"{name}: {given!r} is neither True nor False; hint: give one of them")
    return given
