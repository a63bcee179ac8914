"""``tonnage clean``: removes scratch directories whose runs are dead."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path

from tonnage.errors import RequestError


def run(arguments: Namespace) -> int:
    """Exit code: 1 if something could not be removed."""
    from tonnage.campaign.scratch import leftovers, remove_leftover

    if not Path(arguments.directory).is_dir():
        raise RequestError(f"{arguments.directory} is not a directory; hint: give the directory that was measured")
    found = leftovers(arguments.directory)
    dead = [scratch for scratch in found if scratch.alive is False]
    for scratch in found:
        print(
            f"{scratch.path}  run {scratch.run_id}, {_state(scratch.alive)} (process {scratch.pid} on {scratch.host})"
        )
    if not dead:
        print("nothing to remove" if found else f"no scratch directories in {arguments.directory}")
        return 0
    if not arguments.yes and not _confirmed(len(dead)):
        return 0
    failed = 0
    for scratch in dead:
        try:
            remove_leftover(scratch)
            print(f"removed {scratch.path}")
        except (OSError, ValueError) as error:
            failed += 1
            print(f"tonnage: error: {error}", file=sys.stderr)
    return 1 if failed else 0


def _state(alive: bool | None) -> str:
    return {True: "still running", False: "dead", None: "of another host: clean it there"}[alive]


def _confirmed(count: int) -> bool:
    if not sys.stdin.isatty():
        raise RequestError("cannot ask without a terminal; hint: add --yes")
    return input(f"remove {count} scratch director{'ies' if count != 1 else 'y'}? [y/N] ").strip().lower() in (
        "y",
        "yes",
    )
