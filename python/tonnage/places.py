"""Where this program is, and where this user's own files are: what is kept from one command to the next."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

from tonnage.errors import RequestError
from tonnage.own_way import NotSafeError, own_directory

STAND_IN = "# Made by `tonnage compat install`"
"""Begins the second line of each program that has another's name and starts this one."""
_HEAD_BYTES = 256
STATE_HINT = "hint: set XDG_STATE_HOME to a directory of yours that no other user can write to or replace"


def user_state(*parts: str) -> Path:
    """``$XDG_STATE_HOME/tonnage`` (``~/.local/state/tonnage``) or a directory below it, without links; made, for this
    user alone.

    RequestError where it cannot be made, or where another user could write there or on the way there: what is planted
    there would be run as this user.
    """
    home = os.environ.get("XDG_STATE_HOME") or ""
    try:
        base = Path(home) if home.startswith("/") else Path.home() / ".local" / "state"
        return checked_own(base.joinpath("tonnage", *parts))
    except RuntimeError as error:
        raise RequestError(f"there is no directory for what is kept: {error}; {STATE_HINT}") from None


def checked_own(place: Path) -> Path:
    """``place`` without links, made where it is missing. RequestError as ``user_state``."""
    try:
        return own_directory(place)
    except NotSafeError as error:
        more = "" if "hint: " in str(error) else f"; {STATE_HINT}"
        raise RequestError(f"{place} is not safe from other users: {error}{more}") from None
    except OSError as error:
        raise RequestError(f"cannot make {place}: {error.strerror or error}; {STATE_HINT}") from None


def keep_file(file: Path, data: bytes) -> None:
    """Replaces a file whole, where that can be done: it holds what can be found out again, so a full disk costs the
    next command that, and no more."""
    fresh = file.with_name(f".{os.urandom(8).hex()}.new")
    try:
        fresh.write_bytes(data)
        fresh.replace(file)
    except OSError:
        with suppress(OSError):
            fresh.unlink(missing_ok=True)


def is_stand_in(file: str) -> bool:
    """Whether it is such a program, changed since or not; whoever looks for the other's own passes it over."""
    try:
        with Path(file).open("rb") as program:
            lines = program.read(_HEAD_BYTES).splitlines()
    except OSError:
        return False
    return len(lines) > 1 and lines[1].startswith(STAND_IN.encode())


def launcher() -> list[str]:
    """What starts this Tonnage: the checkout's launcher, or the Python it is installed in."""
    root = Path(__file__).resolve().parents[2]
    start = root / "tonnage"
    if start.is_file() and os.access(start, os.X_OK) and (root / "pyproject.toml").is_file():
        return [str(start)]
    return [sys.executable, "-I", "-m", "tonnage.cli"]
