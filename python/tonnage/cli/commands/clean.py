"""``tonnage clean``: removes what runs left that are dead: scratch directories, or namespaces of a pool."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path

from tonnage.errors import RequestError


def run(arguments: Namespace) -> int:
    """Exit code: 1 if something could not be removed."""
    from tonnage.campaign.scratch import leftovers, pool_leftovers, remove_leftover
    from tonnage.campaign.target import parse_target

    place = arguments.directory
    pool = parse_target(place).pool
    if pool is None and not Path(place).is_dir():
        raise RequestError(
            f"{place} is not a directory; hint: give the directory or the rados:// pool that was measured"
        )
    found = leftovers(place) if pool is None else pool_leftovers(pool)
    what = "scratch directories" if pool is None else "namespaces of runs"
    dead = [scratch for scratch in found if scratch.alive is False]
    for scratch in found:
        print(
            f"{scratch.path}  run {scratch.run_id}, {_state(scratch.alive)} (process {scratch.pid} on {scratch.host})"
        )
    if not dead:
        print("nothing to remove" if found else f"no {what} in {place}")
        return 0
    if not arguments.yes and not _confirmed(len(dead), what):
        return 0
    failed = 0
    for scratch in dead:
        try:
            remove_leftover(scratch, pool)
            print(f"removed {scratch.path}")
        except (OSError, ValueError) as error:
            failed += 1
            print(f"tonnage: error: {error}", file=sys.stderr)
    return 1 if failed else 0


def _state(alive: bool | None) -> str:
    return {True: "still running", False: "dead", None: "of another host: clean it there"}[alive]


def _confirmed(count: int, what: str) -> bool:
    if not sys.stdin.isatty():
        raise RequestError("cannot ask without a terminal; hint: add --yes")
    return input(f"remove {count} of these {what}? [y/N] ").strip().lower() in ("y", "yes")
