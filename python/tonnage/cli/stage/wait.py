"""``tonnage stage wait``: until everything written so far is safe."""

from __future__ import annotations

import sys

from tonnage.cli.command import Arguments
from tonnage.cli.entry import complain
from tonnage.cli.stage.shared_options import WHICH
from tonnage.cli.stage.status_text import RESUME, details, totals_text
from tonnage.command_line import Command
from tonnage.command_option import Option
from tonnage.units import parse_time

COMMAND = Command(
    "wait",
    "wait until everything written so far is safe",
    "Requests a new scan and returns when all files that it found are safe at the destination; the mover "
    "continues. The exit code is 1 if a file was given up or the time was over.",
    (*WHICH, Option(("--timeout",), "give up after TIME", "TIME", "never", parse=parse_time)),
    (
        ("tonnage stage wait", "between two steps of a job"),
        ("tonnage stage wait --name run7 --timeout 10m || exit 1", "at most ten minutes"),
    ),
    loads=("tonnage.cli.stage.find_mover", "tonnage.staging.wait_for_mover"),
)


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
    print(f"{totals_text(status['done'])} safe in {status['to']}")
    if is_safe(status) and ran:
        return 0
    print("\n".join(details(status)), file=sys.stderr)
    left, failed = totals_text(status["queued"]), totals_text(status["failed"])
    if not in_time:
        return complain(f"the time was over with {left} left; hint: wait again, or see `tonnage stage status`", 1)
    if status["failed"]["files"]:
        return complain(f"{failed} failed; hint: mend what is named above, then `tonnage stage resume`", 1)
    if status["queued"]["files"]:
        return complain(f"the mover does not run and {left} are left; hint: `tonnage stage resume --wait`", 1)
    return complain(f"the mover does not run, so nobody knows what was written since it ended; {RESUME}", 1)
