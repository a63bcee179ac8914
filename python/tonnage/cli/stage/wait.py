"""``tonnage stage wait``: until everything written so far is safe."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tonnage.cli.command import Arguments
from tonnage.cli.entry import complain
from tonnage.cli.stage.shared_options import WHICH
from tonnage.cli.stage.status_text import files_text, print_details, resume_hint, totals_text
from tonnage.command_line import Command
from tonnage.command_option import Option
from tonnage.printable_text import typed
from tonnage.staging.mover_status import is_paused
from tonnage.units import parse_time

if TYPE_CHECKING:
    from tonnage.staging.mover_status import Status

COMMAND = Command(
    "wait",
    "wait until everything written so far is safe",
    "Requests a new scan and returns when all files that it found are safe at the destination; the mover "
    "continues. At the end it checks that all of them are still there by kind and size. The exit code is 1 if a file "
    "was given up, or was removed or replaced by one of another size at the destination since, or the time was over.",
    (*WHICH, Option(("--timeout",), "give up after TIME", "TIME", "never", parse=parse_time)),
    (
        ("tonnage stage wait", "between two steps of a job"),
        ("tonnage stage wait --name run7 --timeout 10m || exit 1", "at most ten minutes"),
    ),
    loads=("tonnage.cli.stage.find_mover", "tonnage.staging.verify_tree", "tonnage.staging.control_socket"),
)
_NAMED = 3
"""Of what is lost."""


def run(arguments: Arguments) -> int:
    """Exit code: 1 where something is not safe."""
    from tonnage.cli.stage.find_mover import find
    from tonnage.cli.stage.mover_view import view
    from tonnage.staging.control_socket import Client, NoMover
    from tonnage.staging.mover_host import is_safe, status_of
    from tonnage.staging.wait_for_mover import wait_until_safe

    state = find(arguments)
    shown = view()
    in_time, ran = True, False
    try:
        with Client(state) as client:
            ran = True
            status, in_time = wait_until_safe(client, arguments.timeout, shown.show)
    except NoMover:
        status = status_of(state)
    except KeyboardInterrupt:
        shown.close()
        return complain("interrupted; the mover goes on; hint: `tonnage stage status`", 130)
    finally:
        shown.close()
    code = _still_there(status)
    if is_safe(status) and ran:
        return code
    print_details(status, shown.said)
    left, failed = totals_text(status["queued"]), totals_text(status["failed"])
    if not in_time:
        paused = f"it is paused: `tonnage stage limit none --state {typed(state)}`"
        hint = paused if is_paused(status) else "wait again, or see `tonnage stage status`"
        return complain(f"the time was over with {left} left; hint: {hint}", 1)
    if status["failed"]["files"]:
        again = f"`tonnage stage resume --wait --state {typed(state)}`"
        stop = f"`tonnage stage stop --state {typed(state)}` and " if status["running"] else ""
        return complain(f"{failed} failed; hint: mend what is named above, then {stop}{again}", 1)
    if status["queued"]["files"]:
        return complain(f"the mover does not run and {left} are left; {resume_hint(state)}", 1)
    return complain(f"the mover does not run, so nobody knows what was written since it ended; {resume_hint(state)}", 1)


def _still_there(status: Status) -> int:
    """Says what is safe; exit code 1 where some of it is no longer at the destination."""
    from tonnage.staging.verify_tree import lost

    done, to = totals_text(status["done"]), status["to"]
    try:
        gone = lost(to, status["id"])
    except OSError as error:
        print(f"{done} were copied to {to}")
        return complain(f"nobody can see whether they are there: {error}; hint: see that {to} is mounted", 1)
    if not gone:
        print(f"{done} safe in {to}")
        return 0
    print(f"{done} were copied to {to}")
    named = ", ".join(gone[:_NAMED]) + (f" and {len(gone) - _NAMED} more" if len(gone) > _NAMED else "")
    are = "was copied, and is no longer as it was" if len(gone) == 1 else "were copied, and are no longer as they were"
    hint = f"`tonnage stage verify --to {typed(to)}` names each"
    return complain(f"{files_text(len(gone))} {are}: {named}; hint: {hint}", 1)
