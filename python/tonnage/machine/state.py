"""Where this user's own files are: what is kept from one command to the next."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from tonnage.errors import RequestError
from tonnage.machine.own_way import NotSafeError, check_inside, own_directory

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
    return _told(place, own_directory)


def checked_inside(place: Path) -> Path:
    """A directory inside of such a one. RequestError as ``user_state``."""
    return _told(place, check_inside)


def _told(place: Path, check: Callable[[Path], Path]) -> Path:
    try:
        return check(place)
    except NotSafeError as error:
        more = "" if "hint: " in str(error) else f"; {STATE_HINT}"
        raise RequestError(f"{place} is not safe from other users: {error}{more}") from None
    except OSError as error:
        raise RequestError(f"cannot make {place}: {error.strerror or error}; {STATE_HINT}") from None
