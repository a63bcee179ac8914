"""Where the runs are: directories with a manifest, below the directories that were named."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tonnage.records.names import MANIFEST

DEEPEST = 4
"""Levels below a named directory that are looked at."""
_MOST_DIRECTORIES = 10_000
_MOST_RUNS = 2_000


@dataclass(frozen=True, slots=True)
class Found:
    """One look."""

    runs: dict[str, Path]
    """Identifier → run directory. The identifier is all that an address ever holds of a run."""
    note: str | None
    """Why there may be more."""


def identifier_of(directory: Path) -> str:
    """Sixteen hexadecimal digits that stay the same when the server starts anew."""
    return hashlib.sha256(os.fsencode(directory)).hexdigest()[:16]


def find_runs(roots: Sequence[Path]) -> Found:
    """The runs in and below ``roots``, those near the top first. Links are not followed, hidden directories and what is
    inside a run are not looked at; what cannot be read is passed over."""
    runs: dict[str, Path] = {}
    level = [Path(os.path.abspath(root)) for root in roots]  # noqa: PTH100 - a link that was named stays as it was named
    looked = 0
    for _ in range(DEEPEST + 1):
        below: list[Path] = []
        for directory in level:
            if looked >= _MOST_DIRECTORIES or len(runs) >= _MOST_RUNS:
                return Found(runs, f"only the first {len(runs)} runs in {looked} directories are shown: name fewer")
            looked += 1
            if (directory / MANIFEST).is_file():
                runs[identifier_of(directory)] = directory
            else:
                below += _directories(directory)
        level = below
    return Found(runs, None)


def _directories(directory: Path) -> list[Path]:
    """The newest names first, where they begin with the time of the run."""
    try:
        with os.scandir(directory) as entries:
            names = [one.name for one in entries if one.is_dir(follow_symlinks=False) and not one.name.startswith(".")]
    except OSError:
        return []
    return [directory / name for name in sorted(names, reverse=True)]
