"""``tonnage clean``: removes what runs left that are over: scratch directories, files, or namespaces of a pool."""

from __future__ import annotations

import errno
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tonnage.errors import RequestError
from tonnage.printable_text import one_line

if TYPE_CHECKING:
    from tonnage.campaign.scratch import Leftover
from tonnage.cli.command import Arguments
from tonnage.command_line import Command
from tonnage.command_option import Option

COMMAND = Command(
    "clean",
    "remove what killed runs left behind: scratch directories, or objects and snapshots of a pool",
    "Lists the marked scratch directories in DIR, and the marked files that users let runs create there. "
    "After a question it removes those whose run is proved to have ended. It removes only files under names that "
    "Tonnage gives, and of a kept directory only what was not changed since; one with anything else in it stays. "
    "If it cannot be known whether a run has ended, or what a file now contains, the entry is listed with the reason "
    "and stays, unless --force is "
    "given. In a Ceph pool (rados://POOL, as it was measured) it treats the namespaces of runs and their "
    "snapshots in the same way. `tonnage explain campaign` explains who owns scratch.",
    (
        Option(("directory",), "directory, or pool, that was measured", "DIR", completes="directory"),
        Option(("--yes",), "do not ask"),
        Option(
            ("--force",),
            "also remove files of a run that cannot be proved to have ended; make sure that it has",
        ),
        Option(("--kept",), "also remove directories that were kept for later runs, such as those of mdtest -C"),
    ),
    (
        ("tonnage clean /scratch/me", "after a run was killed with SIGKILL, or its node died"),
        (
            "tonnage clean --kept /scratch/me",
            "a tree of mdtest -C that is no longer needed, or that lacks files",
        ),
        ("tonnage clean 'rados://bench?conf=/etc/ceph/ceph.conf'", "the same on a Ceph pool"),
    ),
    loads=("tonnage.campaign.scratch", "tonnage.campaign.target"),
)


def run(arguments: Arguments) -> int:
    """Exit code: 1 if something could not be removed."""
    from tonnage.campaign.scratch import closed_scratch, file_leftovers, leftovers, pool_leftovers, remove_leftover
    from tonnage.campaign.target import parse_target

    place, force = arguments.directory, arguments.force
    pool = parse_target(place).pool
    if pool is None and not Path(place).is_dir():
        raise RequestError(
            f"{place} is not a directory; hint: give the directory or the rados:// pool that was measured"
        )
    found = [*leftovers(place), *file_leftovers(place)] if pool is None else pool_leftovers(pool)
    what = "scratch directories" if pool is None else "namespaces of runs"
    _list(found)
    closed = [] if pool is not None else closed_scratch(place)
    for path in closed:
        print(f"{one_line(path)}  this user may not look into it; its owner can remove it")
    kept = [left for left in found if left.state == "kept" and pool is None and not left.is_file]
    over = [left for left in found if (left.may_be_forced if force else left.may_go)]
    over += kept if arguments.kept else []
    if not force and any(left.state == "unknown" for left in found):
        print("what cannot be known stays; once you have seen that its run is over: tonnage clean --force")
    if kept and not arguments.kept:
        print("what was kept stays; to remove that too: tonnage clean --kept")
    if not over:
        print("nothing to remove" if found or closed else one_line(f"no {what} in {place}"))
        return 0
    if not arguments.yes and not _confirmed(len(over)):
        return 0
    failed = 0
    for left in over:
        try:
            remove_leftover(left, pool, force=force)
            print(f"removed {one_line(left.path)}")
        except (OSError, ValueError) as error:
            failed += 1
            print(f"tonnage: error: {one_line(_why(left, error))}", file=sys.stderr)
    return 1 if failed else 0


def _why(left: Leftover, error: OSError | ValueError) -> str:
    if isinstance(error, OSError) and error.errno == errno.ENOTEMPTY:
        return f"{left.path} stays: {error.filename} is not as Tonnage left it; hint: move it away, then clean again"
    return str(error)


def _list(found: Sequence[Leftover]) -> None:
    for left in found:
        about = f"run {left.run_id}, {left.why} (process {left.pid} on {left.host})"
        print(f"{one_line(left.path)}  {one_line(about)}")


def _confirmed(count: int) -> bool:
    if not sys.stdin.isatty():
        raise RequestError("cannot ask without a terminal; hint: add --yes")
    return input(f"remove {count} of these? [y/N] ").strip().lower() in ("y", "yes")
