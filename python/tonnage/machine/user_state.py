"""Where this user's own files are: what is kept from one command to the next."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from tonnage.errors import RequestError
from tonnage.machine.private_path import NoFileError, NotSafeError, check_inside, is_open, own_directory

_ELSEWHERE = "set XDG_STATE_HOME to a directory of yours that no other user can write to or replace"
STATE_HINT = f"hint: {_ELSEWHERE}"


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
        raise _unsafe(place, str(error)) from None
    except NotADirectoryError as error:
        # As a Path, for it was looked at as what is mounted there: with a dot behind it.
        in_the_way = Path(error.filename or place)
        hint = f"hint: move it away, or {_ELSEWHERE}"
        raise RequestError(f"cannot make {place}: {in_the_way} is no directory; {hint}") from None
    except PermissionError as error:
        there = next(way for way in (place, *place.parents) if os.path.lexists(way))
        is_mine = not is_open(there) and there.stat().st_uid == os.geteuid()
        hint = f"hint: `chmod u+rwx {shlex.quote(str(there))}`" if is_mine else STATE_HINT
        raise RequestError(f"cannot use {place}: {error.strerror}; {hint}") from None
    except OSError as error:
        raise RequestError(f"cannot make {place}: {error.strerror or error}; {STATE_HINT}") from None


def checked_inside(file: Path, *, told: Path) -> None:
    """Checks a file inside of such a directory; ``told``: its name in messages. RequestError as ``user_state``."""
    try:
        check_inside(file)
    except NoFileError as error:
        raise RequestError(str(error).replace(str(file), str(told))) from None
    except NotSafeError as error:
        raise _unsafe(told, str(error).replace(str(file), str(told))) from None
    except OSError as error:
        raise RequestError(f"cannot read {told}: {error.strerror or error}; {STATE_HINT}") from None


def _unsafe(place: Path, why: str) -> RequestError:
    more = "" if "hint: " in why else f"; {STATE_HINT}"
    return RequestError(f"{place} is not safe from other users: {why}{more}")
