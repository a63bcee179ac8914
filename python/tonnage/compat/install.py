"""``tonnage compat install``: small executables under the originals' names, which hand every argument over as typed."""

from __future__ import annotations

import os
import secrets
import shlex
import sys
from pathlib import Path

from tonnage.errors import RequestError

NAMES: dict[str, str] = {"ior": "ior", "mdtest": "mdtest", "sob": "sob"}
"""Name of the executable → the subcommand of ``tonnage`` that stands in for it."""

MARKER = "# Made by `tonnage compat install`; the next one replaces it."
"""Second line of every file that is ours."""


def install(directory: str, command: list[str] | None = None) -> list[Path]:
    """Puts an executable for each of ``NAMES`` into ``directory``, which is made if it is not there, and returns them.

    RequestError, before anything is written, where one of the names is taken by a file that is not ours.
    """
    place = Path(directory).absolute()
    command = command or launcher()
    try:
        place.mkdir(parents=True, exist_ok=True)
        files = [place / name for name in NAMES]
        for file in files:
            if os.path.lexists(file) and not is_ours(file):
                raise RequestError(
                    f"{file} is there and was not made by `tonnage compat install`; "
                    "hint: move it away, or give another directory"
                )
        for file in files:
            _put(file, script(command, NAMES[file.name]))
    except OSError as error:
        raise RequestError(
            f"cannot write into {place}: {error.strerror}; hint: give a directory in which you may create files"
        ) from None
    return files


def script(command: list[str], subcommand: str) -> str:
    """The executable's text: nothing of what a user types is read by the shell again."""
    return f'#!/bin/sh\n{MARKER}\nexec {shlex.join(command)} {subcommand} "$@"\n'


def launcher() -> list[str]:
    """What starts this Tonnage: the checkout's launcher, or the Python it is installed in."""
    root = Path(__file__).resolve().parents[3]
    start = root / "tonnage"
    if start.is_file() and os.access(start, os.X_OK) and (root / "pyproject.toml").is_file():
        return [str(start)]
    return [sys.executable, "-I", "-m", "tonnage.cli"]


def is_ours(file: Path) -> bool:
    """Whether an earlier install made it."""
    if file.is_symlink() or not file.is_file():
        return False
    with file.open("rb") as text:
        lines = text.read(len(MARKER) + 64).split(b"\n")
    return len(lines) > 1 and lines[1] == MARKER.encode()


def how_to_use(directory: str) -> str:
    """What to put on PATH, or that it is there already."""
    place = str(Path(directory).absolute())
    if place in os.environ.get("PATH", "").split(os.pathsep):
        return f"{place} is on PATH"
    return f'put it on PATH, before others: export PATH={shlex.quote(place)}:"$PATH"'


def _put(file: Path, text: str) -> None:
    """A name that is taken in the meantime stays as it is: that is an error. Ours is replaced as a whole."""
    again = is_ours(file)
    fresh = file.with_name(f".{file.name}.{secrets.token_hex(4)}") if again else file
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o755)
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="surrogateescape") as out:
        out.write(text)
    if again:
        fresh.replace(file)
