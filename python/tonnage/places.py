"""Where this program is, and where this user's own files are: what is kept from one command to the next."""

from __future__ import annotations

import os
import stat
import sys
from contextlib import suppress
from pathlib import Path

from tonnage.errors import RequestError


def user_state(*parts: str) -> Path:
    """``$XDG_STATE_HOME/tonnage`` (``~/.local/state/tonnage``) or a directory below it; made, for this user alone.

    RequestError where it cannot be made, or where others may write.
    """
    home = os.environ.get("XDG_STATE_HOME") or ""
    base = Path(home) if home.startswith("/") else Path.home() / ".local" / "state"
    place = base / "tonnage"
    hint = "hint: set XDG_STATE_HOME to a directory of yours"
    try:
        base.mkdir(parents=True, exist_ok=True)
        for part in ("", *parts):
            place = place / part
            place.mkdir(mode=0o700, exist_ok=True)
        found = place.stat()
    except (OSError, RuntimeError) as error:
        raise RequestError(f"cannot make {place}: {getattr(error, 'strerror', None) or error}; {hint}") from None
    if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o022:
        raise RequestError(f"{place} is not a directory that only you can write; {hint}")
    return place


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


def launcher() -> list[str]:
    """What starts this Tonnage: the checkout's launcher, or the Python it is installed in."""
    root = Path(__file__).resolve().parents[2]
    start = root / "tonnage"
    if start.is_file() and os.access(start, os.X_OK) and (root / "pyproject.toml").is_file():
        return [str(start)]
    return [sys.executable, "-I", "-m", "tonnage.cli"]
