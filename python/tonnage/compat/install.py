"""``tonnage compat install``: small executables under the originals' names, which hand every argument over as typed."""

from __future__ import annotations

import hashlib
import os
import secrets
import shlex
import shutil
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

from tonnage.errors import RequestError
from tonnage.program_places import STAND_IN, launcher

NAMES: dict[str, str] = {
    "ior": "ior",
    "mdtest": "mdtest",
    "sob": "sob",
    "spectral_wait.py": "spectral_wait",
    "iobsub": "iobsub",
    "lsload": "lsload",
    "bjobs": "bjobs",
    "bkill": "bkill",
    "bqueues": "bqueues",
    "bhosts": "bhosts",
}
"""Name of the executable → the subcommand of ``tonnage`` that stands in for it."""

_OF_LSF = ("bjobs", "bkill", "bqueues", "bhosts")
"""Left to the site where it has LSF, whose own tell more."""

MARKER = f"{STAND_IN}; the next one replaces it unless it was changed."
"""Second line of every file that is ours."""

_SUM = "# sha256 of the lines below: "
"""Begins the third line."""

_WITHOUT_SUM = f"{STAND_IN}; the next one replaces it."
"""Second line of what older versions wrote, without a sum behind it."""


_MOST_BYTES = 1 << 16
"""Ours are shorter."""


def install(directory: str, command: list[str] | None = None) -> list[Path]:
    """Puts an executable for each of ``NAMES`` into ``directory``, which is made if it is not there, and returns them;
    where the site has LSF, without those for LSF's jobs.

    RequestError, before anything is written, where one of the names is taken by a file that is not ours.
    """
    place = Path(directory).absolute()
    command = command or launcher()
    has_lsf = shutil.which("bsub") is not None
    files = [place / name for name in NAMES if not (has_lsf and name in _OF_LSF)]
    # Where anything fails, what was made until then goes again, in reverse.
    try:
        with ExitStack() as made:
            _make(place, made)
            for file in files:
                if os.path.lexists(file) and not is_ours(file, command):
                    raise RequestError(
                        f"{file} is there and was not made by `tonnage compat install`, or was changed since; "
                        "hint: move it away, or give another directory"
                    )
            # All are written before the first has its name: a disk that fills up leaves none, and the old ones.
            fresh = [_write(file, script(command, NAMES[file.name]), made) for file in files]
            for file, whole in zip(files, fresh, strict=True):
                _name(whole, file, command, made)
            made.pop_all()
    except OSError as error:
        raise RequestError(
            f"cannot write into {place}: {error.strerror}; hint: give a directory in which you may create files"
        ) from None
    return files


def script(command: list[str], subcommand: str) -> str:
    """The executable's text: nothing of what a user types is read by the shell again."""
    lines = _lines(command, subcommand)
    return f"#!/bin/sh\n{MARKER}\n{_SUM}{_sum(lines)}\n{lines}"


def _lines(command: list[str], subcommand: str) -> str:
    return f'exec {shlex.join(command)} {subcommand} "$@"\n'


def _sum(lines: str) -> str:
    return hashlib.sha256(lines.encode(errors="surrogateescape")).hexdigest()


def is_ours(file: Path, command: list[str]) -> bool:
    """Whether it is, byte for byte, what an earlier install wrote: nobody changed it since. Of an older version, which
    wrote no sum, that is known only where ``command`` is what it would start."""
    if file.is_symlink() or not file.is_file():
        return False
    with file.open("rb") as content:
        text = content.read(_MOST_BYTES + 1).decode(errors="surrogateescape")
    older = f"#!/bin/sh\n{_WITHOUT_SUM}\n{_lines(command, NAMES[file.name])}"
    head = f"#!/bin/sh\n{MARKER}\n{_SUM}"
    digest, _, lines = text.removeprefix(head).partition("\n")
    return text == older or (text.startswith(head) and len(text) <= _MOST_BYTES and digest == _sum(lines))


def how_to_use(directory: str) -> str:
    """What to put on PATH, or that it is there already."""
    place = str(Path(directory).absolute())
    if place in os.environ.get("PATH", "").split(os.pathsep):
        return f"{place} is on PATH"
    return f'put it on PATH, before others: export PATH={shlex.quote(place)}:"$PATH"'


def _make(place: Path, made: ExitStack) -> None:
    """The directory and those above it that are missing."""
    for directory in [*reversed(place.parents), place]:
        if not directory.exists():
            directory.mkdir()
            made.callback(_gone, directory.rmdir)


def _write(file: Path, text: str, made: ExitStack) -> Path:
    """The whole file, under a name that nobody uses."""
    fresh = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o755)
    made.callback(_gone, fresh.unlink)
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="surrogateescape") as out:
        out.write(text)
        out.flush()
        os.fsync(descriptor)
    return fresh


def _name(fresh: Path, file: Path, command: list[str], made: ExitStack) -> None:
    """Gives it its name. One that is taken in the meantime stays as it is: that is an error. Ours is replaced."""
    if not is_ours(file, command):
        os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o755))
        made.callback(_gone, file.unlink)
    fresh.replace(file)


def _gone(remove: Callable[[], None]) -> None:
    """Removes what was made; what cannot be removed is left, for the error that led here says more."""
    with suppress(OSError):
        remove()
