"""Scratch directories of hosts that have a file system of their own under the target's path: services of a host group.

The first process of the run makes its own and tells the others the name. A host that sees it shares the file system;
one that does not, but has the directory above it, gets one of its own under the same name, which this process holds
and removes however it ends.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from typing import TypedDict

from tonnage import _native
from tonnage.errors import RequestError


class NamedScratch(TypedDict):
    """A scratch directory that a later run finds again: made now or ``fresh`` is False, and whether it stays."""

    name: str
    fresh: bool
    keep: bool


_held: dict[str, _native.Scratch] = {}
"""By path, those that this process made or took over."""


def visibility(paths: Sequence[str], parents: Sequence[str]) -> list[str]:
    """Of each scratch directory: ``shared`` where this host sees it, ``absent`` where it has only the one above it.
    RequestError where it has not even that."""
    found = []
    for path, parent in zip(paths, parents, strict=True):
        try:
            here = stat.S_ISDIR(os.stat(parent).st_mode)  # noqa: PTH116 - no pathlib for followers
        except OSError as error:
            raise RequestError(f"{parent}: {error.strerror}") from None
        if not here:
            raise RequestError(f"{parent} is no directory")
        found.append("shared" if os.path.isdir(path) else "absent")  # noqa: PTH112
    return found


def make(parents: Sequence[str], names: Sequence[str], place: NamedScratch | None, run_id: str) -> list[str]:
    """Makes one in each of ``parents``; their paths. ``place``: it has a name that a later run finds again."""
    for parent, name in zip(parents, names, strict=True):
        _remove_leftover(parent, name)
        if place is None:
            made = _native.Scratch.create(parent, name)
        elif place["fresh"]:
            made = _native.Scratch.create_named(parent, place["name"], run_id)
        else:
            made = _native.Scratch.reopen_named(parent, place["name"], stays=place["keep"])
        _held[made.path] = made
    return list(_held)


def leave(paths: Sequence[str], keep: bool, as_found: bool = False) -> None:
    """Removes them, or leaves them to a later run (``as_found``: see ``Scratch.keep``); the first error once all were
    tried."""
    failed: Exception | None = None
    for path in paths:
        scratch = _held.pop(path, None)
        if scratch is None:
            continue
        try:
            scratch.keep(as_found) if keep else scratch.remove()
        except (OSError, ValueError) as error:
            failed = failed or error
    if failed is not None:
        raise RequestError(str(failed)) if isinstance(failed, ValueError) else failed


def leave_all() -> None:
    """Removes all that this process still holds: its run has failed."""
    with suppress(OSError, RequestError):
        leave(list(_held), keep=False)


def _remove_leftover(parent: str, run_id: str) -> None:
    """A resumed run begins on fresh files."""
    for left in _native.Scratch.leftovers(parent):
        if left["run_id"] == run_id:
            if left["state"] != "dead":
                raise RequestError(f"{left['path']} may belong to a run that is still going ({left['why']})")
            _native.Scratch.reopen(left["path"]).remove()
