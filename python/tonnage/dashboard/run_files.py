"""Finds run directories, and the reason where one cannot be shown. They may be other users' and of any content: a page
must not block on a pipe in them, nor fail by their content."""

from __future__ import annotations

import hashlib
import logging
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tonnage.errors import RecordError
from tonnage.records.file_names import COPIES, EVENTS, MANIFEST, TASKS, TRIALS, WORKFLOW

DEEPEST = 4
"""Levels below a named directory that are searched."""
_MOST_DIRECTORIES = 10_000
_MOST_RUNS = 2_000


@dataclass(frozen=True, slots=True)
class FoundRuns:
    """The result of one search."""

    runs: dict[str, Path]
    """Identifier → run directory. The identifier is all that an address ever holds of a run."""
    note: str | None
    """Why there may be more."""


def identifier_of(directory: Path) -> str:
    """Sixteen hexadecimal digits that stay the same when the server starts anew."""
    return hashlib.sha256(os.fsencode(directory)).hexdigest()[:16]


def find_runs(roots: Sequence[Path]) -> FoundRuns:
    """The runs in and below ``roots``, those near the top first. Does not follow links, nor search hidden directories
    or run directories; ignores what cannot be read."""
    runs: dict[str, Path] = {}
    level = [Path(os.path.abspath(root)) for root in roots]  # noqa: PTH100 - a link that was named stays as it was named
    looked = 0
    for _ in range(DEEPEST + 1):
        below: list[Path] = []
        for directory in level:
            if looked >= _MOST_DIRECTORIES or len(runs) >= _MOST_RUNS:
                return FoundRuns(runs, f"only the first {len(runs)} runs in {looked} directories are shown: name fewer")
            looked += 1
            if (directory / MANIFEST).is_file():
                runs[identifier_of(directory)] = directory
            else:
                below += _directories(directory)
        level = below
    return FoundRuns(runs, None)


def _directories(directory: Path) -> list[Path]:
    """The newest names first, where they begin with the time of the run."""
    try:
        with os.scandir(directory) as entries:
            names = [one.name for one in entries if one.is_dir(follow_symlinks=False) and not one.name.startswith(".")]
    except OSError:
        return []
    return [directory / name for name in sorted(names, reverse=True)]


_LINES = (TRIALS, TASKS, EVENTS, COPIES, WORKFLOW)
_LARGEST_MANIFEST = 32 << 20

Signature = tuple[int, int, int]
"""Changes when a file does: its number, its size in bytes, its time."""


def signature(file: Path) -> Signature | None:
    """None where there is none."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def check_plain(run: Path) -> None:
    """RecordError where a file of the run is something else than a file, or its manifest is too large to be one."""
    for name in (MANIFEST, *_LINES):
        try:
            found = os.stat(run / name)  # noqa: PTH116 - a mode is wanted, and None is not an answer
        except OSError:
            continue
        if not stat.S_ISREG(found.st_mode):
            raise RecordError(f"{run / name} is not a file")
        if name == MANIFEST and found.st_size > _LARGEST_MANIFEST:
            raise RecordError(f"{run / name} has {found.st_size} bytes: too large for a manifest")


_log = logging.getLogger(__name__)
_logged: set[tuple[str, str, str]] = set()
_MOST_LOGGED = 1000
"""A run is read every second: the same traceback is logged once, and a server logs so many at most."""


def unforeseen(error: Exception, what: object) -> str:
    """What the page says of ``what``. Whether the records or Tonnage are wrong cannot be known here: the traceback
    goes to the server's log, so that an error of Tonnage's is not taken for a damaged run."""
    one = (str(what), type(error).__name__, str(error))
    if one not in _logged and len(_logged) < _MOST_LOGGED:
        _logged.add(one)
        _log.error("cannot show %s", what, exc_info=error)
    return f"it cannot be shown ({type(error).__name__}); the server's log says where"
