"""The directory in which the phases work: made by the benchmark, and only what it made is removed."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from tonnage.campaign.scratch import leftovers, remove_leftover
from tonnage.errors import RequestError

BELOW = ("ior-easy", "ior-hard", "mdtest-easy", "mdtest-hard")
"""Sites make these before, empty, with a striping of their own."""


def refuse_content(data: Path) -> None:
    """RequestError where anything lies there but empty directories of these names."""
    if not os.path.lexists(data):
        return
    if data.is_symlink() or not data.is_dir():
        raise RequestError(f"{data} is no directory; hint: give another datadir")
    for path in data.iterdir():
        if path.name not in BELOW or path.is_symlink() or not path.is_dir() or any(list(path.iterdir())):
            raise RequestError(
                f"{path} lies in the data directory, and is not of this benchmark; "
                "hint: give an empty datadir, or timestamp-datadir = TRUE"
            )


def make(paths: Iterable[Path]) -> list[str]:
    """Makes what is missing of each path, and its parents; those that were made, in that order."""
    made: list[str] = []
    for path in paths:
        for part in (*reversed(path.parents), path):
            if part.is_dir():
                continue
            try:
                part.mkdir(0o700)
            except OSError as error:
                remove_empty(made)
                raise RequestError(
                    f"cannot make {part}: {error.strerror}; hint: give a datadir and a resultdir in which you may write"
                ) from None
            made.append(str(part))
    return made


def remove_empty(made: Iterable[str]) -> None:
    """Removes those of the directories that hold nothing, the last one first."""
    for path in reversed(list(made)):
        with suppress(OSError):
            os.rmdir(path)  # noqa: PTH106 - never a link


def remove_files(names: Iterable[str]) -> list[str]:
    """Removes regular files of these absolute names, never through a link; what could not be removed, and why."""
    problems = []
    for name in names:
        directory, base = os.path.split(name)
        try:
            parent = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            if stat.S_ISREG(os.stat(base, dir_fd=parent, follow_symlinks=False).st_mode):
                os.unlink(base, dir_fd=parent)
        except FileNotFoundError:
            continue
        except OSError as error:
            problems.append(f"{name} cannot be removed: {error.strerror}")
        finally:
            os.close(parent)
    return problems


def remove_trees(directory: Path) -> list[str]:
    """Removes the trees that mdtest's phases left in it; what could not be removed, and why."""
    problems: list[str] = []
    if not directory.is_dir():
        return problems
    for left in leftovers(directory):
        if left.state in ("kept", "dead"):
            try:
                remove_leftover(left)
            except (OSError, ValueError) as error:
                problems.append(f"{left.path} cannot be removed: {error}")
    return problems
