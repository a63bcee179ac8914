"""The place of this program, its working directory, and files that are kept between commands."""

from __future__ import annotations

import os
import stat
import sys
from contextlib import suppress
from pathlib import Path

from tonnage.errors import RequestError

STAND_IN = "# Made by `tonnage compat install`"
"""Begins the second line of each program that has another's name and starts this one."""
_HEAD_BYTES = 256


def open_private(path: Path, flags: int) -> int:
    """A file of this user's alone, made where it is missing, whatever the umask, by which it may be closed to this user
    too. OSError."""
    file = os.open(path, flags | os.O_CREAT | os.O_CLOEXEC, 0o600)
    mode = stat.S_IMODE(os.fstat(file).st_mode)
    if mode & 0o600 != 0o600:
        with suppress(PermissionError):  # another user's
            os.fchmod(file, mode | 0o600)
    return file


def keep_file(file: Path, data: bytes) -> None:
    """Replaces a file whole, where that can be done: it holds what can be found out again, so a full disk costs the
    next command that, and no more."""
    fresh = file.with_name(f".{os.urandom(8).hex()}.new")
    try:
        with open(open_private(fresh, os.O_WRONLY | os.O_EXCL), "wb") as file_now:
            file_now.write(data)
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
