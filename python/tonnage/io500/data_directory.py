"""The directories in which the phases work: made by the benchmark, and only what it made is removed."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from tonnage.campaign.free_space import is_of_the_kernel
from tonnage.campaign.scratch import left_at_ns, leftovers, remove_kept, remove_leftover
from tonnage.errors import RequestError

BELOW = ("ior-easy", "ior-hard", "mdtest-easy", "mdtest-hard")
"""Sites make these before, empty, with a striping of their own."""


def refuse_content(data: Path) -> None:
    """RequestError where anything lies there but empty directories of these names."""
    if not _is_there(data, "datadir"):
        return
    for path in data.iterdir():
        if path.name not in BELOW or path.is_symlink() or not path.is_dir() or any(list(path.iterdir())):
            raise RequestError(
                f"{path} lies in the data directory, and is not of this benchmark; "
                "hint: give an empty datadir, or timestamp-datadir = TRUE"
            )


def refuse_results(results: Path) -> None:
    """RequestError where anything lies there: a file of the same name would be lost."""
    if not _is_there(results, "resultdir"):
        return
    if first := min((path.name for path in results.iterdir()), default=None):
        raise RequestError(
            f"[global] resultdir = {results}: {first} lies in it already; "
            "hint: give an empty one, or timestamp-resultdir = TRUE; --resume goes on with a benchmark"
        )


def _is_there(path: Path, key: str) -> bool:
    if not os.path.lexists(path):
        return False
    if path.is_symlink() or not path.is_dir():
        raise RequestError(f"[global] {key} = {path}: it is no directory; hint: give another {key}")
    return True


def why_not_made(path: Path) -> tuple[str, str] | None:
    """Why a directory cannot be made, and what to do; None where nothing speaks against it. One that is there can be
    used as far as is known before anything is written."""
    there = next(part for part in (path, *path.parents) if os.path.lexists(part))
    if there == path:
        return None
    if not there.is_dir():
        return f"{there} is no directory", "give a path below one"
    if not os.access(there, os.W_OK | os.X_OK) or is_of_the_kernel(there):
        return f"you may make nothing in {there}", "give a path below a directory of yours"
    return None


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


def holding(path: str) -> list[str]:
    """Returns the line that a directory stays, and what is in it; none where it is gone."""
    with suppress(OSError):
        return [f"{path} stays: {min(os.listdir(path), default='nothing')} is in it"]  # noqa: PTH208 - names alone
    return []


Identity = tuple[int, int, int]
"""Of a file: its inode, its bytes and when it was written last. Numbers of devices change with each mount."""


def identities(names: Iterable[str]) -> dict[str, Identity]:
    """Of the regular files of these absolute names that belong to this user."""
    found = {}
    for name in names:
        # Opened, so that a network file system asks its server what other hosts wrote.
        with suppress(OSError), _opened(name) as facts:
            if facts.st_uid == os.geteuid():
                found[name] = _identity(facts)
    return found


@contextmanager
def _opened(name: str) -> Iterator[os.stat_result]:
    file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        facts = os.fstat(file)
        if not stat.S_ISREG(facts.st_mode):
            raise OSError(errno.EINVAL, "it is no regular file", name)
        yield facts
    finally:
        os.close(file)


def _identity(facts: os.stat_result) -> Identity:
    return facts.st_ino, facts.st_size, facts.st_mtime_ns


def remove_files(written: Mapping[str, Identity]) -> list[str]:
    """Removes the files that are still those that were ``written``, never through a link; what stays, and why."""
    problems = []
    for name, identity in written.items():
        directory, base = os.path.split(name)
        try:
            parent = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            with _opened(name) as facts:
                if _identity(facts) != identity:
                    problems.append(f"{name} stays: it is not as this benchmark left it")
                    continue
            now = os.stat(base, dir_fd=parent, follow_symlinks=False)
            if now.st_ino == identity[0]:
                os.unlink(base, dir_fd=parent)
        except FileNotFoundError:
            continue
        except OSError as error:
            problems.append(f"{name} stays: {error.strerror}")
        finally:
            os.close(parent)
    return problems


def trees(directory: Path, runs: Collection[str]) -> dict[str, int]:
    """The trees in it that phases of mdtest left, whose marks have one of these runs, and when that was."""
    found: dict[str, int] = {}
    for left in leftovers(directory) if directory.is_dir() else ():
        if left.run_id in runs and left.state == "kept":
            with suppress(OSError):
                found[left.path] = left_at_ns(left)
    return found


def remove_trees(directory: Path, runs: Collection[str], until: Mapping[str, int]) -> list[str]:
    """Removes the trees in it that phases of mdtest left, whose marks have one of these runs; what stays, and why.
    ``until``: when the phase that wrote a tree left it; what was changed since is not the benchmark's."""
    problems: list[str] = []
    if not directory.is_dir():
        return problems
    for left in leftovers(directory):
        if left.run_id in runs and left.state in ("kept", "dead"):
            try:
                if left.path in until:
                    remove_kept(left, until[left.path])
                else:
                    remove_leftover(left)
            except OSError as error:
                changed = error.errno == errno.ENOTEMPTY
                why = "not all in it is as its phase left it" if changed else error.strerror or str(error)
                problems.append(f"{left.path} stays: {why}")
            except ValueError as error:
                problems.append(f"{left.path} stays: {error}")
    return problems


def remaining(directory: Path) -> list[str]:
    """What stays of the trees of mdtest in it: a line for each of their directories that still holds files."""
    lines = []
    for tree in sorted(directory.glob("test-dir.*")):
        for place, _, files in os.walk(tree):
            if files:
                others = len(files) - 1
                beside = f", and {others} more file{'s' if others > 1 else ''} beside it" if others else ""
                lines.append(f"{place}/{min(files)} stays{beside}")
    return lines
