"""The place of this program, its working directory, and files that are kept between commands."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

from tonnage.errors import RequestError

STAND_IN = "# Made by `tonnage compat install`"
"""Begins the second line of each program that has another's name and starts this one."""
_HEAD_BYTES = 256


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
    """Whether it is such a program, changed since or not; a search for the other program skips it."""
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


def working_directory() -> str:
    """Where this process works. RequestError where that is gone."""
    try:
        return os.getcwd()  # noqa: PTH109
    except FileNotFoundError:
        raise RequestError("the working directory was removed; hint: cd to one that exists") from None
    except PermissionError:
        raise RequestError("no permission to see the working directory; hint: cd to one that you may enter") from None
